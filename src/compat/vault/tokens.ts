// Tokens of ours as Vault's: what a client asks of its own token, and logins. A login with an API key makes a
// session token of that key; one with a workload's token is an exchange with a trust. Invariants: a token is
// never renewable, so each client logs in again; an API key is not ended by a client that ends its token.
import { z } from '@hono/zod-openapi';
import { readToken } from '../../auth/authentication/token';
import { forms } from '../../db/names';
import type { OwnToken, TokenNamed } from '../../domains/credentials/gate/own';
import { issue } from '../../domains/credentials/routes';
import { exchangeForRole } from '../../domains/trusts/routes';
import { MOST_TOKEN } from '../../domains/trusts/wire';
import { ApiError, refuse } from '../../errors';
import type { RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { enveloped } from './answers';
import { type Sent, sentence } from './body';
import { becomes, type Taken } from './route';

/** How long a session token of a login lives, in seconds. */
const LOGIN = 900;
/** The same for a token that a client creates, if it does not say. */
const CREATED = 3600;
const LONGEST = 86_400;

const secondsUntil = (time: string, from = Date.now()) =>
  Math.max(0, Math.floor((Date.parse(time) - from) / 1000));

const isOfLogin = (kind: string) => kind === 'session';

/** A token as `lookup-self` shows it. */
const tokenData = ({ id, kind, name, parent_id, created_at, expires_at }: OwnToken) => {
  const life = expires_at === null ? 0 : secondsUntil(expires_at, Date.parse(created_at));
  return {
    id,
    accessor: id,
    creation_time: Math.floor(Date.parse(created_at) / 1000),
    creation_ttl: life,
    display_name: name ?? kind,
    entity_id: '',
    expire_time: expires_at,
    explicit_max_ttl: life,
    issue_time: created_at,
    meta: null,
    num_uses: 0,
    orphan: parent_id === null,
    path: isOfLogin(kind) ? 'auth/approle/login' : 'auth/token/create',
    policies: ['default'],
    renewable: false,
    ttl: expires_at === null ? 0 : secondsUntil(expires_at),
    type: 'service',
  };
};

/** The token that a body names, by its digest. A text that is no token of ours has none. */
const TokenBody = z.strictObject({ token: z.string().min(1).max(1024) });
const hashOf = ({ body }: Input<unknown, z.output<typeof TokenBody>>): { input: TokenNamed } => ({
  input: { hash: readToken(body.token)?.hash ?? '' },
});
const takesToken = ({ fields }: Sent): Taken => {
  if (typeof fields.token !== 'string' || fields.token === '') throw sentence('missing token');
  return { body: { token: fields.token } };
};
const ownToken = (): { input: TokenNamed } => ({ input: { hash: null } });

const looking = {
  action: 'caller.read',
  operation: 'caller.lookup',
  render: (token: OwnToken, _: unknown, context: RenderContext) =>
    enveloped(context.request, { data: JSON.stringify(tokenData(token)) }),
} as const;
const revoking = { action: 'access_token.revoke', operation: 'access_token.revoke_token' } as const;

/** A call that is authenticated and then refused with a text that clients know. */
export const refusing = (method: 'get' | 'post', text: string) =>
  becomes({
    ...looking,
    method,
    prepare: () => {
      throw sentence(text);
    },
  });

/** A call that nobody may make. */
export const forbidden = (method: 'get' | 'post') =>
  becomes({
    ...looking,
    method,
    prepare: () => {
      throw new ApiError(refuse('INSUFFICIENT_SCOPE'));
    },
  });

// ---------------------------------------------------------------- logins

interface Given {
  id: string;
  token: string;
  expiresAt?: string;
  expires_at?: string;
}

/** The answer of a login: a token and how long it lives. */
const given =
  (role: (taken: Taken) => string | null) =>
  (json: unknown, taken: Taken, request: { id: string }): Response => {
    const { id, token, expiresAt } = json as Given;
    const name = role(taken);
    const auth = {
      client_token: token,
      accessor: id,
      policies: ['default'],
      token_policies: ['default'],
      identity_policies: null,
      metadata: name === null ? null : { role_name: name },
      lease_duration: secondsUntil(expiresAt ?? '', Date.now() - 999),
      renewable: false,
      entity_id: '',
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    };
    return enveloped(request, { auth });
  };

const NewToken = z.strictObject({
  role: z.string().max(255).nullable(),
  ttlSeconds: z.int().min(1).max(LONGEST),
});

const minting = {
  method: 'post',
  action: 'access_token.create',
  operation: 'access_token.login',
  body: { schema: NewToken },
  prepare({ body }: Input<unknown, z.output<typeof NewToken>>, context: RenderContext) {
    const { token, once } = issue('session', context);
    const same = {
      scopes: null,
      environments: null,
      secrets: null,
      allowed_addresses: null,
      device_id: null,
    };
    return { input: { ...body, ...same, token }, once };
  },
} as const;

/** The same below the caller, which may be a session token itself. */
const child = { action: 'access_token.create_child', operation: 'access_token.create_child' } as const;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** With an API key as `secret_id`; `role_id` is the key's id or the organisation's. */
const approle = becomes(minting as never, {
  purpose: 'login',
  takes({ fields }) {
    const role = text(fields.role_id);
    const bearer = text(fields.secret_id);
    if (bearer === '') throw sentence('missing secret_id');
    return { bearer, body: { role, ttlSeconds: LOGIN }, ...(forms.org(role) && { org: role }) };
  },
  shows: given(() => null),
});

const Exchange = z.strictObject({
  org: z.string().max(64),
  role: z.string().max(255),
  jwt: z.string().max(MOST_TOKEN),
});

/** With the token of a workload; `role` is a trust by its id or name, after its organisation if need be. */
const jwt = becomes(
  {
    method: 'post',
    action: 'auth.exchange',
    body: { schema: Exchange },
    public: ({ body }, context) => exchangeForRole(context, body.org, body.role, body.jwt),
  },
  {
    purpose: 'login',
    takes({ fields }, _, named) {
      const [, own, role = ''] = /^(?:(org_\w+)\/)?(.*)$/s.exec(text(fields.role)) ?? [];
      if (role === '') throw sentence('missing role');
      if (own !== undefined && named !== null && own !== named) throw sentence('invalid role or secret ID');
      return { body: { org: own ?? named ?? '', role, jwt: text(fields.jwt) } };
    },
    shows: given(({ body }) => (body as { role: string }).role),
  },
);

/** The kind of a login follows from its fields, since its mount may have any name. */
export const loginOf = ({ fields }: Sent) =>
  'role_id' in fields || 'secret_id' in fields ? approle : 'jwt' in fields ? jwt : null;

// ---------------------------------------------------------------- new tokens

const UNITS: Record<string, number> = { h: 3600, m: 60, s: 1 };

/** A duration in seconds: a number, or a text such as 90, 90s, 2m0s or 1h30m. */
export function secondsOf(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  if (typeof value === 'string' && /^(?:\d{1,9}[hms])+$/.test(value))
    return [...value.matchAll(/(\d+)([hms])/g)].reduce(
      (sum, [, number, unit]) => sum + Number(number) * (UNITS[unit as string] as number),
      0,
    );
  throw sentence(`${name} must be a duration`);
}

const isDefault = (policies: unknown) =>
  policies === undefined ||
  policies === null ||
  (Array.isArray(policies) && policies.every((policy) => policy === 'default'));

/** A token below the caller's own, with all that this one holds. */
const create = becomes({ ...minting, ...child } as never, {
  takes({ fields }) {
    const { ttl, explicit_max_ttl, policies, no_parent, num_uses } = fields;
    if (!isDefault(policies))
      throw sentence('policies are not supported: a token holds what its parent holds');
    if (no_parent === true || no_parent === 'true') throw sentence('no_parent is not supported');
    if (![undefined, null, 0, '0'].includes(num_uses as never)) throw sentence('num_uses is not supported');
    const asked = [secondsOf(ttl ?? 0, 'ttl'), secondsOf(explicit_max_ttl ?? 0, 'explicit_max_ttl')];
    const ttlSeconds = Math.min(LONGEST, ...asked.map((seconds) => seconds || CREATED));
    return { body: { role: null, ttlSeconds } };
  },
  shows: given(() => null),
});

export const token = {
  'GET lookup-self': becomes({ ...looking, method: 'get', prepare: ownToken }),
  'POST lookup-self': becomes({ ...looking, method: 'post', prepare: ownToken }),
  'POST lookup': becomes(
    { ...looking, method: 'post', body: { schema: TokenBody }, prepare: hashOf },
    { takes: takesToken },
  ),
  'POST revoke-self': becomes({ ...revoking, method: 'post', prepare: ownToken }),
  'POST revoke': becomes(
    { ...revoking, method: 'post', body: { schema: TokenBody }, prepare: hashOf },
    { takes: takesToken },
  ),
  'POST renew-self': refusing('post', 'lease is not renewable'),
  'POST renew': refusing('post', 'lease is not renewable'),
  'POST create': create,
};
