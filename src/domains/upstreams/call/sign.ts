// AWS's Signature Version 4 of a call as it is really sent; the signature itself is computed by aws4fetch.
// Invariant: headers that a platform between may change are not signed, all x-amz-* are.
import { AwsV4Signer } from 'aws4fetch';
import { sha256 } from '../../../crypto/digest';
import type { UpstreamAuth } from '../../../db/upstreams';
import { ApiError, invalid } from '../../../errors';
import { filler, type Placed } from './fill';
import type { UsePlan } from './use-plan';

type AwsAuth = Extract<UpstreamAuth, { type: 'aws_sigv4' }>;

const awsAuthOf = ({ auth }: Pick<UsePlan, 'auth'>): AwsAuth | undefined =>
  auth.find((entry) => entry.type === 'aws_sigv4');

const HASH = 'x-amz-content-sha256';
/** Bodies that nothing signs. */
const UNSIGNED = ['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'];

const hashIn = (headers: readonly (readonly [string, string])[]): string | undefined =>
  headers.find(([name]) => name === HASH)?.[1];

/** Whether the body must be read before the call can be signed: the caller did not say its hash. */
export const needsBody = (plan: Pick<UsePlan, 'auth'>, headers: Placed['headers']): boolean =>
  awsAuthOf(plan) !== undefined && hashIn(headers) === undefined;

/** The call with its signature. `body`: all of it, unless the caller said its hash. */
export async function signed(
  plan: Pick<UsePlan, 'auth' | 'values'>,
  method: string,
  placed: Placed,
  body: Uint8Array | null,
  datetime?: string,
): Promise<Placed> {
  const auth = awsAuthOf(plan);
  if (!auth) return placed;
  const given = hashIn(placed.headers);
  const isHash = given === undefined || /^[0-9a-f]{64}$/.test(given);
  if (!isHash && !(UNSIGNED.includes(given) && placed.url.startsWith('https:')))
    throw new ApiError(
      invalid('X-Amz-Content-Sha256', 'must be the hash of the body, or UNSIGNED-PAYLOAD over https'),
    );
  const { fill, placed: values } = filler(plan, auth);
  const rest = placed.headers.filter(([name]) => name !== HASH);
  const hash = given ?? sha256(body ?? new Uint8Array());
  const signer = new AwsV4Signer({
    method,
    url: placed.url,
    headers: [...rest.filter(([name]) => name.startsWith('x-amz-')), [HASH, hash]],
    accessKeyId: fill(auth.access_key_id),
    secretAccessKey: fill(auth.secret_access_key, false),
    ...(auth.session_token !== undefined && { sessionToken: fill(auth.session_token) }),
    region: auth.region,
    service: auth.service,
    singleEncode: auth.service === 's3',
    ...(datetime !== undefined && { datetime }),
  } as ConstructorParameters<typeof AwsV4Signer>[0]);
  const { headers } = await signer.sign();
  const own = [...headers].map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  return {
    url: placed.url,
    headers: [...rest.filter(([name]) => !name.startsWith('x-amz-')), ...own],
    masked: [...placed.masked, ...values],
  };
}
