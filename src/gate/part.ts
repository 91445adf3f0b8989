// Parts of a gate: what works on its storage or memory, declared by the module that owns it. A part may use
// other parts; each is made once for each gate, whoever asks first. Invariant: all parts are made when a gate
// starts, so every table exists and nothing is missed that a part follows, whether or not a request has asked
// for it.
import type { Core } from './core';

/** A part, by the core that it belongs to. */
export type Part<T> = (core: Core) => T;

const declared: Part<unknown>[] = [];

/** Declares a part. `create` runs once for each gate, and may read storage. */
export function part<T>(create: Part<T>): Part<T> {
  const of: Part<T> = (core) => {
    if (!core.parts.has(of)) core.parts.set(of, create(core));
    return core.parts.get(of) as T;
  };
  declared.push(of);
  return of;
}

/** Makes every part of a gate that starts. */
export function openParts(core: Core): void {
  for (const of of declared) of(core);
}
