// Configs of log streams: what each kind takes, and which part of it may be shown. Invariants: no error
// message quotes a field's value; the address is checked by the egress guard; a header of the config cannot
// replace one that the service sets.
import { z } from '@hono/zod-openapi';
import type { LogStreamKind } from '../../db/schema';
import { checkTarget, type Egress } from '../../delivery/egress';
import type { Detail } from '../../http/input/shape';
import { detailsOf } from '../../http/input/validate';
import { messageOf } from '../../http/input/wording';
import { shownUrl } from '../webhooks/encryption';

/** Printable ASCII without spaces at its ends: what a header can carry. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const Credential = z
  .string()
  .max(4096)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');
const Url = z.string().min(1).max(2048);
const Label = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII');

/** Headers that the service or HTTP itself sets. */
const SET_BY_US =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|user-agent|x-svc-signature|(proxy|content|webhook|cf|sec)-.*)$/i;
const MOST_HEADERS = 20;

const Headers = z
  .record(z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of a header'), z.string())
  .refine(
    (headers) => Object.keys(headers).length <= MOST_HEADERS,
    `must have at most ${MOST_HEADERS} headers`,
  )
  .refine(
    (headers) =>
      new Set(Object.keys(headers).map((name) => name.toLowerCase())).size === Object.keys(headers).length,
    'must not name a header twice',
  )
  // safety: log-stream-headers-own
  .refine(
    (headers) => !Object.keys(headers).some((name) => SET_BY_US.test(name)),
    'must not name Host, Content-*, or a header that the service or HTTP sets',
  )
  .refine(
    // safety: log-stream-header-values
    (headers) => Object.values(headers).every((value) => value.length <= 4096 && HEADER_VALUE.test(value)),
    'must have values of printable ASCII',
  );

const configs = {
  splunk: z.strictObject({
    url: Url,
    token: Credential,
    index: Label.optional(),
    source: Label.optional(),
    sourcetype: Label.optional(),
  }),
  datadog: z.strictObject({
    url: Url,
    api_key: Credential,
    service: Label.optional(),
    tags: z.array(Label).max(50).optional(),
  }),
  s3: z.strictObject({
    endpoint: Url,
    region: z.string().regex(/^[a-z0-9-]{1,64}$/, 'must be a region like eu-west-1, or auto'),
    bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket'),
    prefix: z
      .string()
      .max(512)
      .regex(
        /^(?:[A-Za-z0-9_=-][A-Za-z0-9_.=-]*(?:\/|$))*$/,
        'must be segments of letters, digits and _.=- with one slash between them',
      )
      .optional(),
    access_key_id: z.string().regex(/^\w{1,128}$/, 'must be letters, digits and underscores'),
    secret_access_key: Credential,
  }),
  otlp: z.strictObject({ url: Url, headers: Headers.optional() }),
  https: z.strictObject({ url: Url, headers: Headers.optional() }),
} as const satisfies Record<LogStreamKind, z.ZodType>;

export type Configs = { [K in LogStreamKind]: z.output<(typeof configs)[K]> };
export type Config = Configs[LogStreamKind];

/** Fields that are never shown. */
const CREDENTIALS = new Set(['token', 'api_key', 'access_key_id', 'secret_access_key', 'headers']);
const ADDRESS: Record<LogStreamKind, string> = {
  splunk: 'url',
  datadog: 'url',
  s3: 'endpoint',
  otlp: 'url',
  https: 'url',
};

/** Validates a whole config: the config, or the problems. */
export function checked(
  kind: LogStreamKind,
  given: unknown,
  egress: Egress,
): { config: Config } | { details: Detail[] } {
  const parsed = configs[kind].safeParse(given, { error: messageOf });
  if (!parsed.success)
    return {
      details: detailsOf(parsed.error, 'is not a known field').map(({ path, message }) => ({
        path: path ? `config.${path}` : 'config',
        message,
      })),
    };
  const field = ADDRESS[kind];
  const url = String((parsed.data as Record<string, unknown>)[field]);
  // safety: log-stream-target-checked
  const problem = checkTarget(url, egress) ?? (kind === 's3' ? endpointProblem(url) : null);
  return problem === null
    ? { config: parsed.data }
    : { details: [{ path: `config.${field}`, message: problem }] };
}

/** The bucket and the key of an object follow the endpoint. */
const endpointProblem = (url: string): string | null => {
  const { pathname, search } = new URL(url);
  return pathname === '/' && search === '' && !url.includes('?')
    ? null
    : 'must have neither a path nor a query';
};

/** What may be shown: no credential, and of an address that may be one only its origin. */
export function shownOf(kind: LogStreamKind, config: Config): Record<string, unknown> {
  const fields = Object.entries(config)
    // safety: log-stream-credentials-apart
    .filter(([name]) => !CREDENTIALS.has(name))
    .map(([name, value]) => [name, name === ADDRESS[kind] ? shownUrl(value as string) : value]);
  return Object.fromEntries(fields);
}
