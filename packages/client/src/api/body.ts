// Bodies of requests. Invariant: a number that is none is never sent as null, which means "no expiry" or "no
// limit" to the vault.
import { Secret } from '../secret.js';

/** A body as JSON. Refuses what JSON would drop or turn into something else. */
export const bodyOf = (body: unknown): string =>
  JSON.stringify(body, function (this: Record<string, unknown>, name, shown) {
    const value = this[name];
    const isLost =
      (typeof value === 'number' && !Number.isFinite(value)) ||
      value instanceof Secret ||
      value instanceof Map ||
      value instanceof Set ||
      typeof value === 'function' ||
      (value === undefined && Array.isArray(this));
    if (isLost) throw new TypeError(`${name} cannot be sent as JSON.`);
    return shown;
  });
