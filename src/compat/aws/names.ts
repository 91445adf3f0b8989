// How a request names a secret: by its name, or by an ARN with or without the six characters at its end.
// Pure. Invariant: a text that may be either is tried as the whole ARN first, whose end must be that of the
// secret.
import type { AwsNamed } from '../../domains/secrets/gate/aws/lookup';
import type { Code } from '../../errors';

export interface Candidate extends AwsNamed {
  name: string;
}

const ARN = /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]*:\d*:secret:(.+)$/s;

/** What a SecretId may name, in the order in which it is tried. */
export function candidatesOf(secretId: string): [Candidate, ...Candidate[]] {
  const rest = ARN.exec(secretId)?.[1];
  if (rest === undefined) return [{ name: secretId, suffix: null }];
  const whole = /^(.+)-([A-Za-z0-9]{6})$/s.exec(rest);
  const plain: Candidate = { name: rest, suffix: null };
  return whole ? [{ name: whole[1] as string, suffix: whole[2] as string }, plain] : [plain];
}

/** Refusals of a name that is not there, or that is out of the caller's reach whether it is there or not. */
const ELSEWHERE: ReadonlySet<Code | null> = new Set([
  'NOT_FOUND',
  'INSUFFICIENT_SCOPE',
  'SECRET_ACCESS_DENIED',
]);

/**
 * Whether a refusal is that of the secret that was meant. If not, the next candidate is tried, and the first
 * refusal stands unless that one is meant.
 */
// safety: no-other-secret-for-a-refused-one
export const isOfTheSecret = (code: Code | null): boolean => !ELSEWHERE.has(code);
