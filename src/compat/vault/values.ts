// A secret's value as the map that clients of Vault see, and back. Pure. Invariants: a value that is the text
// of a JSON object is that map, any other is {"value": "…"}; both ways lose nothing.
import type { SecretRow } from '../../db/schema';
import { isObject, isObjectText, membersOf } from './members';

type Type = SecretRow['type'];

/** Whether a value is shown as a map of its own. */
export const isMap = (type: Type, value: string): boolean => type === 'json' && isObjectText(value);

/** The text of the map for a value. */
export const mapOf = (type: Type, value: string): string =>
  isMap(type, value) ? value.trim() : JSON.stringify({ value });

/** A value to store: one text, or the text of a JSON object. */
export interface Stored {
  is_text: boolean;
  value: string;
}

/** The value of a new secret with this map. */
export function storedAs(map: string): Stored {
  const single = singleOf(map);
  return single === null ? { is_text: false, value: map } : { is_text: true, value: single };
}

/**
 * The value of an existing secret with this map; null if it does not fit: a secret that holds one value keeps
 * its type. `current`: its value now, where that decides.
 */
export function storedIn(map: string, type: Type, current: string | null): Stored | null {
  const stored = storedAs(map);
  const holdsMap = type === 'json' && (current === null || isMap(type, current));
  if (holdsMap) return { is_text: false, value: map };
  return stored.is_text ? stored : null;
}

/** The text of a map with the one key `value`; null for any other map. */
function singleOf(map: string): string | null {
  const members = membersOf(map);
  const value = members.size === 1 ? members.get('value') : undefined;
  return value?.startsWith('"') ? (JSON.parse(value) as string) : null;
}

/** How deep keys are listed at most. */
const DEEPEST = 64;

/** The keys of a map without their values, to a depth; 0 for all. */
export function subkeysOf(value: unknown, depth: number, at = 1): unknown {
  if (!isObject(value)) return null;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isObject(inner) && Object.keys(inner).length && at < (depth || DEEPEST)
        ? subkeysOf(inner, depth, at + 1)
        : null,
    ]),
  );
}
