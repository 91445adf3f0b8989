// One list of refusals, run on every route that exists: a new route cannot escape it.
import { decodeJwt } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../../../src/auth/actions';
import { covers, roleScopes } from '../../../src/auth/scopes';
import { actions, routes } from '../../../src/domains';
import { type Code, catalogue } from '../../../src/errors';
import { bodies } from '../../support/bodies';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newPolicy } from '../../support/governance/policies';
import { newGrant, newMember, newTeam } from '../../support/people';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { newIdp } from '../../support/signin/scim';
import { addConnection, newDomain } from '../../support/signin/sso';
import { slow } from '../../support/slow';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  codeOf,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

/** Refused attempts are counted by address: each test comes from one of its own. */
let address = '';
let hosts = 0;
beforeEach(() => {
  address = `100.64.${++hosts >> 8}.${hosts & 255}`;
});

interface World {
  /** With the JWT of its owner, where a person asks. */
  o: Caller & { person: string };
  other: Caller;
  /** What `{id}` stands for, by the collection that it stands in. */
  ids: Record<string, string>;
  ended: ReturnType<typeof newEnded>;
}

/** Tokens that were revoked, themselves or with their parent, and one that expires in ten minutes. */
async function newEnded(o: Caller) {
  const dead = await newSession(o);
  await o.del(`/access-tokens/${dead.id}`);
  const parent = await newKey(o);
  const orphan = await newSession(parent.o);
  await o.del(`/api-keys/${parent.id}`);
  const ends = Date.now() + 600_000;
  const { token } = await newKey(o, { expires_at: new Date(ends).toISOString() });
  return { revoked: [dead.token, parent.token, orphan.token], brief: { token, ends } };
}

async function furnish(): Promise<World> {
  const { o: signed, browser } = await newSignedIn();
  const other = await newOrg();
  const o = { ...signed, person: browser.token };
  const passkey = (await o.get(`/members/${o.owner}/passkeys`)).json.data[0].id;
  const environment = ((await o.get('/environments')).json.data as { id: string; slug: string }[]).find(
    ({ slug }) => slug === 'development',
  )?.id as string;
  const member = (await newMember(o, 'viewer')).id;
  const ids = {
    environments: environment,
    secrets: (await newSecret(o, { name: 'KEEP' })).id,
    'api-keys': (await newKey(o)).id,
    'access-tokens': (await newSession(o)).id,
    'agent-credentials': (await newAgent(o)).id,
    'provider-tokens': (await newProvider(o)).id,
    'break-glass-tokens': (await newBreakGlass(o)).id,
    'scim-tokens': (await newIdp(o)).id,
    members: member,
    teams: await newTeam(o, member),
    domains: (await newDomain(o)).id,
    'sso-connections': await addConnection(o),
    devices: (await newDevice(o)).id,
    grants: (await newGrant(o, 'member', member)).id,
    policies: (await newPolicy(o, 'naming', { pattern: '.' }, { enabled: false })).id,
    sessions: decodeJwt(browser.token).sid as string,
    owner: o.owner,
    credentials: (await newKey(o)).id,
    passkeys: passkey,
    trusts: (await newTrust(o, await newIssuer())).id,
  };
  return { o, other, ids, ended: newEnded(o) };
}

/**
 * A trust asks for nothing but an exchange, which needs no credential. A bound Worker has no token: see
 * test/api/bindings.
 */
type Able = Exclude<(typeof actions)[Action]['kinds'][number], 'trust' | 'workload'>;
const NOTHING = ['scans:read'];

/**
 * A caller of each kind that can be made by a call. `most` holds all that its kind can, within limits if
 * there are some; `least` nothing that matters.
 */
const make: Record<
  Able,
  {
    most(o: World['o'], limits?: Record<string, unknown>): Promise<string>;
    least?(o: Caller, but: readonly string[]): Promise<string>;
  }
> = {
  system: { most: async () => BOOTSTRAP },
  api_key: {
    most: async (o, limits) => (limits ? (await newKey(o, limits)).token : o.token),
    least: async (o) => (await newKey(o, { scopes: NOTHING })).token,
  },
  session: {
    most: async (o, limits) => (await newSession(limits ? (await newKey(o, limits)).o : o)).token,
    least: async (o) => (await newSession(o, { scopes: NOTHING })).token,
  },
  agent: {
    most: async (o, limits) => (await newAgent(o, { scopes: ['*'], ...limits })).token,
    least: async (o) => (await newAgent(o, { scopes: NOTHING })).token,
  },
  scim: {
    most: async (o) => (await o.post('/scim-tokens', { name: 's' })).json.token,
  },
  provider: {
    most: async (o, limits) => (await newProvider(o, limits)).token,
    least: async (o, but) =>
      (
        await newProvider(o, {
          scopes: ['issue', 'rotate', 'revoke'].filter((scope) => !but.includes(scope)),
        })
      ).token,
  },
  member: {
    most: async (o) => o.person,
    // Some scopes every role holds: then there is nobody.
    least: async (o, but) => {
      const role = (['viewer', 'auditor'] as const).find(
        (one) => !but.some((scope) => covers(roleScopes[one], scope)),
      );
      return role ? (await signIn(o, role)).token : '';
    },
  },
  // It always holds the same, for the whole organisation.
  break_glass: { most: async (o) => (await newBreakGlass(o)).token },
};
const makeable = Object.keys(make) as Able[];

/** Worlds that routes share, with their callers: whatever is refused changes nothing. */
const worlds = new Map<number, Promise<World>>();
const SHARING = 40;
const callers = new Map<string, Promise<string>>();
const once = (of: string, made: () => Promise<string>) => {
  const caller = callers.get(of) ?? made();
  callers.set(of, caller);
  return caller;
};
const most = (kind: Able, o: World['o'], limits?: Record<string, unknown>) =>
  once(`${o.id}: ${kind} within ${JSON.stringify(limits)}`, () => make[kind].most(o, limits));
const least = (kind: Able, o: World['o'], but: readonly string[]) =>
  once(`${o.id}: ${kind} without ${but}`, async () => (await make[kind].least?.(o, but)) ?? '');

for (const [at, route] of routes.filter(({ public: isPublic }) => !isPublic).entries()) {
  const name = `${route.method.toUpperCase()} ${route.path}`;
  const need = actions[route.action];
  const byBootstrap = need.kinds.includes('system');
  const able = makeable.filter((kind) => need.kinds.includes(kind));
  const place = ['/secrets/{id}', '{name}', '{environment}', '/environments/{id}'].find((part) =>
    route.path.includes(part),
  );

  describe(`permission: ${name}`, () => {
    const furnished = () => {
      const shared = Math.floor(at / SHARING);
      const world = worlds.get(shared) ?? furnish();
      worlds.set(shared, world);
      return world;
    };
    const pathFor = ({ o, ids }: World) =>
      route.path
        .replace('{org_id}', o.id)
        .replace('{name}', 'KEEP')
        .replace('{environment}', 'production')
        .replace('{passkey_id}', ids.passkeys as string)
        .replace(/(?<=members\/)\{id\}(?=\/passkeys)/, ids.owner as string)
        .replace('{member_id}', ids.members as string)
        .replace('{id}', ids[/([a-z-]+)\/\{id\}/.exec(route.path)?.[1] ?? ''] ?? 'none');
    const call = (
      world: World,
      token: string | undefined,
      more: { body?: unknown; headers?: Record<string, string>; method?: string; query?: string } = {},
    ): Promise<Answer> =>
      send(more.method ?? route.method.toUpperCase(), `/api/v1${pathFor(world)}${more.query ?? ''}`, {
        token,
        body: 'body' in more ? more.body : bodies[name],
        headers: { 'CF-Connecting-IP': address, ...more.headers },
      });
    const expectRefusal = (answer: Answer, code: Code) => {
      expect([answer.json?.error?.code, answer.status]).toEqual([code, catalogue[code].status]);
      expect(Object.keys(answer.json)).toEqual(['error']);
      expect(answer.json.error.docs).toMatch(new RegExp(`/docs/errors/${code}$`));
      expect(answer.headers.get('request-id')).toMatch(/^req_/);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    };
    const mayDo = ({ o }: World) => most(able[0] ?? 'api_key', o);
    /** What a caller of a kind is told where its scopes, environments or names do not suffice. */
    const isOfSecrets = need.scopes.some((scope) => scope.startsWith('secrets:'));
    const lacking = (kind: Able): Code =>
      kind === 'agent' && need.reveals && isOfSecrets ? 'SECRET_ACCESS_DENIED' : 'INSUFFICIENT_SCOPE';

    it('authentication: refuses a request without a token, and a junk, forged, truncated, lengthened or re-prefixed token, and the wrong bootstrap token', async () => {
      const world = await furnished();
      const { token } = world.o;
      const swapped = token.slice(0, 20) + (token[20] === 'a' ? 'b' : 'a') + token.slice(21);
      for (const wrong of [
        undefined,
        'junk',
        swapped,
        token.slice(0, -1),
        `${token}0`,
        token.replace('svc_live_', 'svcsess_'),
        `${BOOTSTRAP}x`,
        ...(byBootstrap ? [] : [BOOTSTRAP]),
      ])
        expectRefusal(await call(world, wrong), 'UNAUTHENTICATED');
    });

    const taken = routes.filter(({ path }) => path === route.path).map(({ method }) => method.toUpperCase());
    const notTaken = ['PUT', 'DELETE'].find((method) => !taken.includes(method)) as string;
    it('method: refuses others with 405, and names those that it accepts', async () => {
      const world = await furnished();
      const answer = await call(world, await mayDo(world), { method: notTaken, body: {} });
      expectRefusal(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toContain(route.method.toUpperCase());
    });

    it('revocation: refuses a revoked token, one whose parent is revoked, and an expired one', async () => {
      const world = await furnished();
      const { revoked, brief } = await world.ended;
      for (const token of revoked) expectRefusal(await call(world, token), 'TOKEN_REVOKED');
      faults.clock = brief.ends;
      expectRefusal(await call(world, brief.token), 'TOKEN_EXPIRED');
    });

    if (route.path.includes('{org_id}')) {
      it('tenant isolation: answers 404 for another org, whether it exists or not, and audits the attempt in the org of the token', async () => {
        const world = await furnished();
        const answer = await call(world, world.other.token);
        expectRefusal(answer, 'NOT_FOUND');
        const none = { ...world, o: { ...world.o, id: `${world.o.id.slice(0, -6)}000000` } } as World;
        expect((await call(none, world.other.token)).text.replaceAll(none.o.id, '')).toBe(
          answer.text.replaceAll(world.o.id, ''),
        );
        const entries = (await world.other.get('/audit-log')).json.data as {
          request_id: string;
          status: number;
        }[];
        expect(entries.find((entry) => entry.request_id === answer.headers.get('request-id'))?.status).toBe(
          404,
        );
      });
    }

    if (need.scopes.length) {
      it('scope: refuses each kind of caller without it, and names it', async () => {
        const world = await furnished();
        for (const kind of able) {
          const weak = await least(kind, world.o, need.scopes);
          if (!weak) continue;
          const answer = await call(world, weak);
          expectRefusal(answer, lacking(kind));
          expect(answer.json.error.message).toContain(need.scopes[0]);
        }
      });
    }

    const others = makeable.filter((kind) => kind !== 'system' && !need.kinds.includes(kind));
    if (others.length) {
      it(`kind: refuses ${others.join(', ')}, regardless of their permissions`, async () => {
        const world = await furnished();
        for (const kind of others)
          expectRefusal(await call(world, await most(kind, world.o)), 'CREDENTIAL_KIND_NOT_ALLOWED');
      });
    }

    if (need.owner) {
      it('owner: refuses a key with all scopes and any other limit', async () => {
        const world = await furnished();
        for (const limits of [
          { environments: ['development', 'staging', 'production'] },
          { secrets: ['*'] },
          { expires_at: new Date(Date.now() + 86_400_000).toISOString() },
          { allowed_addresses: ['0.0.0.0/0', '::/0'] },
        ])
          expectRefusal(
            await call(world, (await newKey(world.o, { scopes: ['*'], ...limits })).token),
            need.kinds.includes('api_key') ? 'INSUFFICIENT_SCOPE' : 'CREDENTIAL_KIND_NOT_ALLOWED',
          );
      });
    }

    if (place && !byBootstrap) {
      it('environments and names: refuses each kind of caller that is limited to another environment or to other names', async () => {
        const world = await furnished();
        for (const kind of able) {
          if (!make[kind].least || kind === 'member') continue;
          expectRefusal(
            await call(world, await most(kind, world.o, { environments: ['staging'] })),
            lacking(kind),
          );
          if (place.includes('secrets') || place.includes('name'))
            expectRefusal(
              await call(world, await most(kind, world.o, { secrets: ['other/*'] })),
              lacking(kind),
            );
        }
      });
    }

    if (!byBootstrap) {
      it('allowed addresses: refuses a key that is used from an address outside of them', async () => {
        const world = await furnished();
        expectRefusal(
          await call(world, await most('api_key', world.o, { allowed_addresses: ['198.51.100.0/24'] })),
          'ADDRESS_NOT_ALLOWED',
        );
      });
    }

    it.skipIf(able.length === 0)('validation: refuses an unknown and a repeated parameter', async () => {
      const world = await furnished();
      const answer = await call(world, await mayDo(world), { query: '?surprise=1' });
      expectRefusal(answer, 'VALIDATION_FAILED');
      expect(answer.json.error.details.map(({ path }: { path: string }) => path)).toContain('surprise');
    });

    if (route.method !== 'get' && able.length) {
      it('validation: refuses a body of another type, a malformed or too large one, and an unknown field', async () => {
        const world = await furnished();
        const token = await mayDo(world);
        expectRefusal(
          await call(world, token, { body: '{}', headers: { 'Content-Type': 'text/plain' } }),
          'UNSUPPORTED_MEDIA_TYPE',
        );
        expectRefusal(await call(world, token, { body: '{' }), 'MALFORMED_JSON');
        expectRefusal(await call(world, token, { body: ' '.repeat(1_048_577) }), 'PAYLOAD_TOO_LARGE');
        const answer = await call(world, token, { body: { ...(bodies[name] as object), org_id: 'x' } });
        expectRefusal(answer, 'VALIDATION_FAILED');
      });
    }

    it('refused requests: none of them changed anything', async () => {
      const world = await furnished();
      const weak = await most('api_key', world.o, { scopes: ['integrations:notify'] });
      const held = async () =>
        (
          await Promise.all(
            ['/secrets', '/members', '/teams', '/grants', '/devices'].map((list) => world.o.get(list)),
          )
        ).map(({ text }) => text);
      const before = await held();
      if (need.scopes.length) await call(world, weak);
      await call(world, world.other.token);
      expect(await held()).toEqual(before);
    });
  });
}

describe.each(routes.filter(({ public: isPublic }) => isPublic))(
  'permission: $method $path, without authentication,',
  (route) => {
    const body = bodies[`${route.method.toUpperCase()} ${route.path}`];
    const path = `${route.isPage ? '' : '/api/v1'}${route.path}`;
    const call = (sent: unknown, headers: Record<string, string> = {}, query = '') =>
      send('POST', `${path}${query}`, { body: sent, headers: { 'CF-Connecting-IP': address, ...headers } });

    it('validation: refuses a body of another type, a malformed or too large one, and an unknown field, without a call of the gate', async () => {
      const before = faults.gate;
      expect(codeOf(await call('{}', { 'Content-Type': 'text/plain' }))).toEqual([
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ]);
      expect(codeOf(await call('{'))).toEqual([400, 'MALFORMED_JSON']);
      expect(codeOf(await call(' '.repeat(1_048_577)))).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      expect(codeOf(await call({ ...(body as object), surprise: 'x' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await call(body, {}, '?surprise=1'))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await call(body, { 'X-Access-Reason': '' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(faults.gate).toBe(before);
    });

    it('method: refuses others with 405', async () => {
      const answer = await send('PUT', path, { body: {} });
      expect([...codeOf(answer), answer.headers.get('allow')]).toEqual([
        405,
        'METHOD_NOT_ALLOWED',
        route.isPage ? 'GET, HEAD, POST' : 'POST',
      ]);
    });
  },
);

describe('permission: a session token', () => {
  it('cannot rotate an API key, not even its parent', async () => {
    const o = await newOrg();
    const token = await newSession(o);
    for (const overlap_seconds of [0, 600])
      expect((await token.o.post(`/api-keys/${o.keyId}/rotate`, { overlap_seconds })).json.error.code).toBe(
        'CREDENTIAL_KIND_NOT_ALLOWED',
      );
    expect((await o.get('/api-keys')).json.data).toHaveLength(1);
  });
});

describe('permission: the resource in the path is checked before the body', () => {
  slow('refuses a caller without access, regardless of the body', async () => {
    const { o, browser } = await newSignedIn();
    const admin = await signIn(o, 'admin');
    const passkey = (await o.get(`/members/${o.owner}/passkeys`)).json.data[0].id;
    const session = await newSession(o);
    const key = await newKey(o);
    const team = await newTeam(o);
    await newGrant(o, 'team', team, { permission: 'write' });
    const weak = await newKey(o, { scopes: ['teams:write'] });
    for (const [caller, method, path] of [
      [admin.o, 'PATCH', `/members/${o.owner}`],
      [admin.o, 'PATCH', `/members/${o.owner}/passkeys/${passkey}`],
      [admin.o, 'POST', `/members/${o.owner}/passkeys`],
      [session.o, 'POST', `/api-keys/${key.id}/rotate`],
      [weak.o, 'POST', `/teams/${team}/members`],
    ] as const)
      expect((await caller.call(method, path, { surprise: true })).status, path).toBe(403);
    expect((await browser.o.call('PATCH', `/members/${o.owner}`, { surprise: true })).status).toBe(400);
  });
});

describe('permission: the organisation as a whole', () => {
  it('a credential that is limited to environments or names changes neither the organisation nor its environments', async () => {
    const o = await newOrg();
    const before = [(await o.get('')).json, (await o.get('/environments')).text];
    for (const limits of [{ environments: ['staging'] }, { secrets: ['app/*'] }]) {
      const limited = (await newKey(o, { scopes: ['*'], ...limits })).o;
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'Changed' }],
        ['DELETE', '', { confirm: before[0].name }],
        ['POST', '/environments', { name: 'QA' }],
        ['DELETE', '/environments/staging', undefined],
      ] as const)
        expect(codeOf(await limited.call(method, path, body)), `${method} ${path}`).toEqual([
          403,
          'INSUFFICIENT_SCOPE',
        ]);
    }
    const { usage: _, ...org } = (await o.get('')).json;
    expect([org, (await o.get('/environments')).text]).toEqual([
      { ...before[0], usage: undefined },
      before[1],
    ]);
  });
});

describe('rate limit: every route', () => {
  slow('answers 429 with Retry-After, with one audit entry a minute', async () => {
    faults.clock = Date.now();
    const world = await furnish();
    const key = await newKey(world.o, { scopes: ['*'] });
    for (let i = 0; i < 1200; i += 100)
      await Promise.all(Array.from({ length: 100 }, () => key.o.get('/environments')));
    for (const route of routes.filter(
      ({ action, public: isPublic }) => !isPublic && !actions[action].kinds.includes('system'),
    )) {
      const path = route.path
        .replace('{org_id}', world.o.id)
        .replace('{id}', 'x')
        .replace('{member_id}', 'x')
        .replace('{name}', 'x')
        .replace('{environment}', 'production');
      const answer = await send(route.method.toUpperCase(), `/api/v1${path}`, { token: key.token });
      expect([answer.status, answer.json.error.code], route.path).toEqual([429, 'RATE_LIMITED']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(answer.headers.get('ratelimit')).toMatch(/^"credential";r=0;t=\d+$/);
    }
  });

  slow(
    'delays an address that guesses at the bootstrap token after twenty attempts, and never the right token',
    async () => {
      const guess = () =>
        send('GET', '/api/v1/orgs', { token: 'wrong', headers: { 'CF-Connecting-IP': '192.0.2.77' } });
      for (let i = 0; i < 20; i++) expect((await guess()).status).toBe(401);
      expect((await guess()).status).toBe(429);
      expect(
        (
          await send('GET', '/api/v1/orgs', {
            token: BOOTSTRAP,
            headers: { 'CF-Connecting-IP': '192.0.2.77' },
          })
        ).status,
      ).toBe(200);
    },
  );
});
