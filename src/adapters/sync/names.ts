// Names at the target: converts the name of a secret to one that a platform accepts. The contract defines
// each platform's style.
import type { Mapped, Problem } from './adapter';

const invalid = (message: string): Problem => ({ code: 'NAME_INVALID', message });

/**
 * Environment variable style: each character outside `[A-Za-z0-9_]` becomes `_`; a leading digit is refused.
 */
export function environmentName(
  name: string,
  { most = 255, reserved }: { most?: number; reserved?: RegExp } = {},
): Mapped {
  const target = name.replace(/[^A-Za-z0-9_]/gu, '_');
  if (/^[0-9]/.test(target)) return invalid('The target does not accept names that begin with a digit.');
  return checked(target, most, reserved);
}

/** Replaces characters that the target does not accept in names. */
export function replaced(name: string, outside: RegExp, by: string, most: number): Mapped {
  return checked(name.replace(outside, by), most);
}

/** A valid name, or why it is not. */
export function checked(target: string, most: number, reserved?: RegExp): Mapped {
  if (target === '' || target.length > most)
    return invalid(`The target accepts names of 1 to ${most} characters.`);
  if (reserved?.test(target)) return invalid('The target reserves names like this one.');
  return { target };
}
