// What an upstream may be given: where it sends, how it places secrets, and which requests it lets through.
// Invariants: credentials stand in secrets, never in an upstream; the address passes the egress guard and is
// not this service; no header of `auth` is one that the service, HTTP or a proxy sets; each header and
// parameter is set once; a pattern that can match no path that is sent on is refused.
import { z } from '@hono/zod-openapi';
import type { UpstreamAllow, UpstreamAuth } from '../../db/upstreams';
import { checkTarget, type Egress } from '../../delivery/egress';
import { fieldsOf } from '../../http/wire';
import { isPathPattern, METHODS, MOST_STARS, starsIn } from './call/allow';
import { asCompared, isPlaceable } from './call/request-headers';
import { namesIn, placedBy } from './references';

const PRINTABLE = /^[\x20-\x7e]*$/;

const Template = z
  .string()
  .max(1024)
  .regex(PRINTABLE, 'must be printable ASCII')
  .refine((text) => namesIn(text) !== null, 'must name secrets as {{NAME}}');
const Credential = Template.refine(
  (text) => (namesIn(text)?.length ?? 0) > 0,
  'must name a secret as {{NAME}}',
);
const Plain = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII');
const guessable = z.boolean().optional();

const HeaderName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header');
const OwnHeader = HeaderName.refine(
  // safety: upstream-headers-own
  isPlaceable,
  'must not be a header that the service, HTTP or a proxy sets',
);
const Url = z.string().min(1).max(2048);
const Label = z
  .string()
  .max(64)
  .regex(/^[a-z0-9-]+$/, 'must consist of lower-case letters, digits and -');
const Number_ = z.string().max(20).regex(/^\d+$/, 'must be a number');

export const Auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), name: OwnHeader, value: Template, guessable }),
  z.strictObject({ type: z.literal('basic'), username: Template, password: Template, guessable }),
  z.strictObject({
    type: z.literal('query'),
    name: z
      .string()
      .max(64)
      .regex(/^[A-Za-z0-9._~[\]-]+$/, 'must be the name of a parameter'),
    value: Template,
    guessable,
  }),
  z.strictObject({
    type: z.literal('aws_sigv4'),
    access_key_id: Template,
    secret_access_key: Credential,
    session_token: Credential.optional(),
    region: Label,
    service: Label,
    guessable,
  }),
  z.strictObject({
    type: z.literal('oauth2_client_credentials'),
    token_url: Url,
    client_id: Template,
    client_secret: Credential,
    scope: Plain.optional(),
    audience: Plain.optional(),
    guessable,
  }),
  z.strictObject({
    type: z.literal('google_service_account'),
    key: Credential,
    scopes: z.array(Plain.max(256)).min(1).max(20),
    guessable,
  }),
  z.strictObject({
    type: z.literal('github_app'),
    app_id: Number_,
    installation_id: Number_,
    private_key: Credential,
    guessable,
  }),
]);

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

export const Allow = z.strictObject({
  methods: z
    .array(z.enum(METHODS))
    .min(1)
    .max(METHODS.length)
    .refine(distinct, 'must not contain duplicates'),
  paths: z
    .array(
      z
        .string()
        .max(256)
        // safety: upstream-paths-plain
        .refine(
          isPathPattern,
          'must begin with one /, and have neither . nor .. as a segment, nor \\, # or a space, and five * at most',
        ),
    )
    .min(1)
    .max(50)
    .refine(distinct, 'must not contain duplicates'),
  headers: fieldsOf(
    z
      .string()
      .max(256)
      .regex(PRINTABLE, 'must be printable ASCII')
      .refine((text) => starsIn(text) <= MOST_STARS, 'must have five * at most'),
  )
    .refine(
      (headers) => Object.keys(headers).every((name) => HeaderName.safeParse(name).success),
      'must have names of headers',
    )
    .refine(
      (headers) => distinct(Object.keys(headers).map((name) => name.toLowerCase())),
      'must not name a header twice',
    )
    .optional(),
});

/** Deciders are shown each of these whole. */
const MOST_CHARACTERS = 7500;
const isShort = (value: unknown): boolean => JSON.stringify(value).length <= MOST_CHARACTERS;

/** What one way to place secrets sets: a header as servers compare it, or a parameter. */
function setBy(auth: UpstreamAuth): string[] {
  switch (auth.type) {
    case 'header':
      return [`header ${asCompared(auth.name)}`];
    case 'query':
      return [`parameter ${auth.name}`];
    case 'aws_sigv4':
      return ['authorization', 'x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token'].map(
        (name) => `header ${name}`,
      );
    default:
      return ['header authorization'];
  }
}

const MOST_PLACED = 10;

export const Auths = z
  .array(Auth)
  .min(1)
  .max(5)
  .refine((auth) => distinct(auth.flatMap(setBy)), 'must not set a header or a parameter twice')
  // safety: upstream-places-a-secret
  .refine((auth) => placedBy(auth).length > 0, 'must place a secret: write {{NAME}} where it goes')
  .refine((auth) => placedBy(auth).length <= MOST_PLACED, `must place at most ${MOST_PLACED} secrets`)
  .refine(isShort, 'is too long');

export const Allows = z.array(Allow).min(1).max(50).refine(isShort, 'is too long');

/** Where this service is reached. */
export type Here = Egress & { publicUrl: string | null };

/** A host by which two URLs are the same place. */
const placeOf = (url: string): string => new URL(url).host.replace(/\.(?=:|$)/, '');

function addressProblem(url: string, here: Here): string | null {
  const problem = checkTarget(url, here);
  if (problem !== null) return problem;
  // safety: upstream-not-this-service
  return here.publicUrl !== null && placeOf(url) === placeOf(here.publicUrl)
    ? 'must not be this service'
    : null;
}

/** Why a base URL is refused; null if it is not. */
function baseUrlProblem(url: string, here: Here): string | null {
  const problem = addressProblem(url, here);
  if (problem !== null) return problem;
  const path = /^https?:\/\/[^/?#]*([\s\S]*)$/i.exec(url)?.[1] ?? '';
  const segments = path.split('/').slice(1);
  return /^(\/[A-Za-z0-9._~!$&'()+,;=:@-]*)*$/.test(path) &&
    !segments.slice(0, -1).includes('') &&
    !segments.some((segment) => /^\.\.?(;.*)?$/.test(segment))
    ? null
    : 'must have neither a query nor escapes, and no empty, . or .. segment in its path';
}

/** As it is stored: the host in lower case, and no slash at the end. */
export function baseUrlOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}

/** What is wrong with the addresses of an upstream, by field. */
export const problemsOf = (
  { base_url, auth }: { base_url?: string; auth?: readonly UpstreamAuth[] },
  here: Here,
): { path: string; message: string }[] => [
  ...found('base_url', base_url === undefined ? null : baseUrlProblem(base_url, here)),
  ...(auth ?? []).flatMap((one, index) =>
    // safety: upstream-token-url-checked
    one.type === 'oauth2_client_credentials'
      ? found(`auth.${index}.token_url`, addressProblem(one.token_url, here))
      : [],
  ),
];
const found = (path: string, message: string | null) => (message === null ? [] : [{ path, message }]);

export type Given = { auth: UpstreamAuth[]; allow: UpstreamAllow[] };
