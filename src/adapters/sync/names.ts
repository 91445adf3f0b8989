// Names at the target: how the name of a secret becomes one that a platform takes. The contract says which style each platform has.
import type { Mapped, Problem } from './adapter';

const invalid = (message: string): Problem => ({ code: 'NAME_INVALID', message });

/** The style of environment variables: each character outside `[A-Za-z0-9_]` becomes `_`; a leading digit is refused. */
export function environmentName(name: string, { most = 255, reserved }: { most?: number; reserved?: RegExp } = {}): Mapped {
  const target = name.replace(/[^A-Za-z0-9_]/gu, '_');
  if (/^[0-9]/.test(target)) return invalid('The target takes no name that begins with a digit.');
  return checked(target, most, reserved);
}

/** Replaces what the target does not take in names. */
export function replaced(name: string, outside: RegExp, by: string, most: number): Mapped {
  return checked(name.replace(outside, by), most);
}

/** A name that is as it should be, or why it is not. */
export function checked(target: string, most: number, reserved?: RegExp): Mapped {
  if (target === '' || target.length > most) return invalid(`The target takes names of 1 to ${most} characters.`);
  if (reserved?.test(target)) return invalid('The target reserves names like this one.');
  return { target };
}
