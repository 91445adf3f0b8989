// GetRandomPassword: a password that is kept nowhere.
import { z } from '@hono/zod-openapi';
import { randomText } from '../../crypto/generate';
import { ApiError, invalid } from '../../errors';
import { answered } from './answers';
import { Flag } from './fields';
import { becomes } from './route';

const SETS = {
  ExcludeLowercase: 'abcdefghijklmnopqrstuvwxyz',
  ExcludeUppercase: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  ExcludeNumbers: '0123456789',
  ExcludePunctuation: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
} as const;

const GetRandomPassword = z.object({
  PasswordLength: z.int().min(1).max(4096).default(32),
  ExcludeCharacters: z.string().max(4096).default(''),
  ExcludeLowercase: Flag.optional(),
  ExcludeUppercase: Flag.optional(),
  ExcludeNumbers: Flag.optional(),
  ExcludePunctuation: Flag.optional(),
  IncludeSpace: Flag.optional(),
  RequireEachIncludedType: Flag.default(true),
});

function passwordOf({ ExcludeCharacters: excluded, ...asked }: z.output<typeof GetRandomPassword>): string {
  const included = (Object.keys(SETS) as (keyof typeof SETS)[]).filter((name) => !asked[name]);
  const sets = [...included.map((name) => SETS[name]), ...(asked.IncludeSpace ? [' '] : [])]
    .map((set) => [...set].filter((char) => !excluded.includes(char)).join(''))
    .filter((set) => set !== '');
  const { PasswordLength: length, RequireEachIncludedType: isEach } = asked;
  if (sets.length === 0) throw new ApiError(invalid('ExcludeCharacters', 'must leave some characters'));
  if (isEach && sets.length > length)
    throw new ApiError(invalid('PasswordLength', `must be ${sets.length} or more to have each type`));
  const all = sets.join('');
  // Drawn again until each type is there: every password with all types is then equally likely.
  for (let tries = 0; tries < 10_000; tries++) {
    const password = randomText(all, length);
    if (!isEach || sets.every((set) => [...set].some((char) => password.includes(char)))) return password;
  }
  throw new ApiError(invalid('PasswordLength', 'is too short to have each type of character'));
}

export const getRandomPassword = becomes(GetRandomPassword, {
  action: 'environment.mounts',
  render: (_: unknown, { body }) => answered({ RandomPassword: passwordOf(body) }),
});
