// How a request names a secret: by its name, or by an ARN with or without the six characters at its end.
// Pure. Invariant: a text that may be either is tried as the whole ARN first, whose end must be that of the
// secret.
import type { AwsNamed } from '../../domains/secrets/gate/aws/place';

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
