// The common part of the two AWS adapters: Signature Version 4
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html) and the errors of the JSON 1.1
// protocol, whose status is always 400 and whose code says what is wrong. Invariant: the secret key only
// signs and is never sent.
import { z } from '@hono/zod-openapi';
import { AwsV4Signer } from 'aws4fetch';
import { Token } from './adapter';
import type { Call, Meaning, Reply, Vendor } from './call';
import { paging } from './listing';
import { SKEWED_CLOCK } from './target-error';

/** Fields of every AWS config. */
export const awsFields = {
  accessKeyId: z.string().regex(/^\w{1,128}$/, 'must be 1 to 128 letters, digits and underscores'),
  secretAccessKey: Token,
  sessionToken: Token.optional(),
  region: z.string().regex(/^[a-z]{2,8}(-[a-z]{2,16}){1,3}-[1-9]$/, 'must be a region like eu-west-1'),
};

export interface AwsConfig {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  region: string;
}

const TYPE = 'application/x-amz-json-1.1';

const RATE_LIMITS = new Set([
  ...[
    'Throttling',
    'ThrottlingException',
    'ThrottledException',
    'RequestThrottled',
    'RequestThrottledException',
    'RequestLimitExceeded',
  ],
  ...[
    'TooManyRequestsException',
    'TooManyUpdates',
    'SlowDown',
    'PriorRequestNotComplete',
    'ProvisionedThroughputExceededException',
  ],
]);
/** The key itself is refused: unknown, expired, or with a wrong signature. */
const REFUSED = new Set([
  ...[
    'UnrecognizedClientException',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'SignatureDoesNotMatch',
    'IncompleteSignature',
  ],
  ...[
    'IncompleteSignatureException',
    'MissingAuthenticationToken',
    'MissingAuthenticationTokenException',
    'ExpiredToken',
  ],
  ...['ExpiredTokenException', 'InvalidAccessKeyId', 'OptInRequired', 'AuthFailure'],
]);
/** The time of the signature is refused, not the key. */
const SKEWED = new Set(['RequestExpired', 'RequestTimeTooSkewed']);
const DENIED = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'NotAuthorized',
  'UnauthorizedOperation',
  'KMSAccessDeniedException',
]);

export const awsVendor = (
  service: string,
  { accessKeyId, secretAccessKey, sessionToken, region }: AwsConfig,
): Vendor => ({
  async sign({ method, url, headers, body }) {
    const { Accept, ...signed } = headers;
    const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
    const signer = new AwsV4Signer({
      method,
      url,
      headers: signed,
      body,
      ...keys,
      service,
      region,
      allHeaders: true,
    });
    return { Accept: Accept as string, ...Object.fromEntries((await signer.sign()).headers) };
  },
  code: codeOf,
  advice: (reply) => (isSkewed(reply) ? SKEWED_CLOCK : null),
  meaning: meaningOf,
});

/**
 * Whether AWS refuses a signature for its time:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
 */
function isSkewed({ code, body }: Pick<Reply, 'code' | 'body'>): boolean {
  if (code === null) return false;
  const { message, Message } = body as { message?: unknown; Message?: unknown };
  return (
    SKEWED.has(code) ||
    (REFUSED.has(code) && /^Signature (expired|not yet current)\b/.test(String(message ?? Message ?? '')))
  );
}

/** `namespace#Code`, or `Code:address`. */
function codeOf(body: unknown): unknown {
  const type = (body as { __type?: unknown } | undefined | null)?.__type;
  return typeof type === 'string' ? type.replace(/^.*#/, '').replace(/:.*$/, '') : null;
}

function meaningOf({ status, code, body }: Reply): Meaning | null {
  if (status < 400 || code === null) return null;
  if (isSkewed({ code, body })) return 'rejected';
  if (RATE_LIMITS.has(code)) return 'rate_limit';
  if (REFUSED.has(code)) return 'unauthenticated';
  return DENIED.has(code) ? 'auth' : null;
}

/** The host of a service in a region. */
export function awsHost(service: string, region: string): string {
  const domain = region.startsWith('cn-')
    ? 'amazonaws.com.cn'
    : region.startsWith('eusc-')
      ? 'amazonaws.eu'
      : 'amazonaws.com';
  return `${service}.${region}.${domain}`;
}

/** Builds the calls of a service: `ask('GetParameter', { … })`. */
export function awsCalls(host: string, target: string, region: string) {
  return (operation: string, json: Record<string, unknown>, rest: Partial<Call> = {}): Call => ({
    method: 'POST',
    url: `https://${awsHost(host, region)}/`,
    headers: { 'Content-Type': TYPE, 'X-Amz-Target': `${target}.${operation}` },
    json,
    ...rest,
  });
}

/** All pages of a list: a page may be empty and still have a next one. */
export async function awsPages<Page extends { NextToken?: string | null | undefined }>(
  read: (next: { NextToken?: string }) => Promise<Page>,
  entries: (page: Page) => number,
): Promise<Page[]> {
  const pages: Page[] = [];
  const follow = paging();
  for (let next: string | null = ''; next !== null; ) {
    const page: Page = await read(next ? { NextToken: next } : {});
    pages.push(page);
    next = page.NextToken || null;
    if (next !== null) follow(next, entries(page));
  }
  return pages;
}
