// AWS's Signature Version 4 of a request, as its clients send it in headers. Pure: what is wrong with the
// signature's form, and the signature that a secret key gives. Invariants: each x-amz-* header, the host and
// the body are signed, or the request is refused; the signature itself is computed by aws4fetch.
import { AwsV4Signer } from 'aws4fetch';
import { utf8 } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';

/** The part of a request that is signed. */
export interface SignedParts {
  /** `host` and path are those that were signed. */
  url: string;
  headers: Headers;
  body: Uint8Array;
}

export interface Signed {
  access_key_id: string;
  session_token: string | null;
  region: string;
  /** As in X-Amz-Date. */
  datetime: string;
  /** The same in milliseconds. */
  time: number;
  signedHeaders: readonly string[];
  signature: string;
}

/** What is wrong, as AWS names it. */
export interface SignatureProblem {
  type:
    | 'MissingAuthenticationTokenException'
    | 'IncompleteSignatureException'
    | 'InvalidSignatureException'
    | 'RequestTimeTooSkewed';
  message: string;
}

const SERVICE = 'secretsmanager';
const FORM =
  /^AWS4-HMAC-SHA256\s+Credential=([A-Za-z0-9_]{16,128})\/(\d{8})\/([a-z0-9-]{1,64})\/([a-z0-9-]{1,64})\/aws4_request\s*,\s*SignedHeaders=([a-z0-9;_.-]{1,1024})\s*,\s*Signature=([0-9a-f]{64})$/;

const incomplete = (message: string): SignatureProblem => ({ type: 'IncompleteSignatureException', message });
const mismatch = (message: string): SignatureProblem => ({ type: 'InvalidSignatureException', message });

/** A time such as 20261128T180000Z in milliseconds; null for anything else. */
function timeOf(text: string): number | null {
  const time = Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  return /^\d{8}T\d{6}Z$/.test(text) && !Number.isNaN(time) ? time : null;
}

/** Headers that a signature must cover, besides each x-amz-* that was sent. */
const REQUIRED = ['host', 'x-amz-date', 'x-amz-target'];

/** Reads the signature of a request, and checks what it covers. */
export function readSigned({ url, headers, body }: SignedParts): Signed | SignatureProblem {
  // safety: presigned-refused
  if (/[?&]X-Amz-(Algorithm|Signature|Credential)=/i.test(url))
    return incomplete('Presigned URLs are not supported.');
  const authorization = headers.get('authorization');
  if (authorization === null)
    return { type: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' };
  const [, access_key_id = '', date, region = '', service, names = '', signature = ''] =
    FORM.exec(authorization) ?? [];
  const datetime = headers.get('x-amz-date') ?? '';
  const time = timeOf(datetime);
  if (service === undefined) return incomplete('The Authorization header is not a Signature Version 4.');
  if (time === null) return incomplete('The request needs the header X-Amz-Date.');
  if (service !== SERVICE) return mismatch(`Credential should be scoped to correct service: '${SERVICE}'.`);
  if (date !== datetime.slice(0, 8))
    return mismatch('The date in the credential scope does not match X-Amz-Date.');
  const signedHeaders = names.split(';');
  const sent = [...headers.keys()].filter((name) => name.startsWith('x-amz-'));
  // safety: amz-headers-signed
  const unsigned = [...REQUIRED, ...sent].find((name) => !signedHeaders.includes(name));
  if (unsigned !== undefined) return mismatch(`The header ${unsigned} must be signed.`);
  const hash = headers.get('x-amz-content-sha256');
  // safety: signed-body-hash
  if (hash !== null && hash !== sha256(body))
    return mismatch('The header x-amz-content-sha256 is not the hash of the body.');
  const session_token = headers.get('x-amz-security-token');
  return { access_key_id, session_token, region, datetime, time, signedHeaders, signature };
}

/** How far a client's clock may be off, in milliseconds. */
export const MOST_SKEW = 300_000;

/** What is wrong with the time of a signature. */
export function skewOf({ time, datetime }: Signed, now: number): SignatureProblem | null {
  // safety: signature-time
  if (Math.abs(now - time) <= MOST_SKEW) return null;
  const at = `${new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, '')}`;
  const message =
    time < now
      ? `Signature expired: ${datetime} is now earlier than ${at} - 5 min.`
      : `Signature not yet current: ${datetime} is still later than ${at} + 5 min.`;
  return { type: 'RequestTimeTooSkewed', message };
}

/** The signature that a secret key gives for the parts that were signed. */
export function signatureOf(
  { access_key_id, region, datetime, signedHeaders }: Signed,
  secretAccessKey: string,
  { url, headers, body }: SignedParts,
): Promise<string> {
  const signed = new Headers();
  for (const name of signedHeaders) if (name !== 'host') signed.set(name, headers.get(name)?.trim() ?? '');
  // Platforms hide it from a Worker; a client that signs it sends the size of the body.
  if (signed.has('content-length')) signed.set('content-length', String(body.length));
  return new AwsV4Signer({
    method: 'POST',
    url,
    headers: signed,
    body: body.length ? (body as Uint8Array<ArrayBuffer>) : utf8(''),
    accessKeyId: access_key_id,
    secretAccessKey,
    service: SERVICE,
    region,
    datetime,
    allHeaders: true,
  } as ConstructorParameters<typeof AwsV4Signer>[0]).signature();
}
