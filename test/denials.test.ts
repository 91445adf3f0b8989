// One list of refusals, run on every route that exists: a new route cannot escape it.
import { beforeEach, describe, expect, it } from 'vitest';
import { needOf } from '../src/auth/actions';
import { type Code, catalogue } from '../src/errors';
import { routes } from '../src/routes';
import { type Answer, BOOTSTRAP, type Caller, newKey, newOrg, newSecret, newSession, send, useWorld } from './world';

useWorld();

/** Refused attempts are counted by address: each test comes from one of its own. */
let address = '';
let hosts = 0;
beforeEach(() => {
  address = `100.64.${++hosts >> 8}.${hosts & 255}`;
});

/** A body that each route takes; what is not here takes none, or an empty one. */
const bodies: Record<string, unknown> = {
  'POST /orgs': { name: 'x', owner: { email: 'a@example.com', name: 'A' } },
  'POST /orgs/{org_id}/recovery': { reason: 'all keys are lost' },
  'POST /orgs/{org_id}/adopt': { reason: 'the database was lost' },
  'POST /deployment/keys/rewrap': {},
  'PATCH /orgs/{org_id}': { name: 'taken over' },
  'DELETE /orgs/{org_id}': { confirm: 'x' },
  'POST /orgs/{org_id}/environments': { name: 'QA', slug: 'qa' },
  'PATCH /orgs/{org_id}/environments/{id}': { name: 'x' },
  'POST /orgs/{org_id}/api-keys': { name: 'k', scopes: ['integrations:notify'] },
  'PATCH /orgs/{org_id}/api-keys/{id}': { name: 'k' },
  'POST /orgs/{org_id}/api-keys/{id}/rotate': {},
  'POST /orgs/{org_id}/access-tokens': { ttlSeconds: 60 },
  'POST /orgs/{org_id}/panic': { reason: 'a laptop was stolen' },
  'POST /orgs/{org_id}/credentials/{id}/contain': {},
  'POST /orgs/{org_id}/secrets': { name: 'INTRUDER', type: 'generic', value: 'v' },
  'PATCH /orgs/{org_id}/secrets/{id}': { value: 'v' },
  'POST /orgs/{org_id}/secrets/{id}/rotate': { value: 'v' },
  'POST /orgs/{org_id}/secrets/{id}/rollback': { version: 1 },
};

interface World {
  o: Caller;
  other: Caller;
  ids: Record<string, string>;
}

async function furnish(): Promise<World> {
  const [o, other] = [await newOrg(), await newOrg()];
  const environment = ((await o.get('/environments')).json.data as { id: string; slug: string }[]).find(
    ({ slug }) => slug === 'development',
  )?.id as string;
  return {
    o,
    other,
    ids: { secret: (await newSecret(o, { name: 'KEEP' })).id, key: (await newKey(o)).id, token: (await newSession(o)).id, environment },
  };
}

for (const route of routes) {
  const name = `${route.method.toUpperCase()} ${route.path}`;
  const need = needOf(route.action);
  const byBootstrap = need.kinds.includes('system');
  const named = route.path.includes('/{id}') || route.path.includes('{name}') || route.path.includes('{environment}');

  describe(name, () => {
    const pathFor = ({ o, ids }: World) =>
      route.path
        .replace('{org_id}', o.id)
        .replace('{name}', 'KEEP')
        .replace('{environment}', 'production')
        .replace(
          '{id}',
          (route.path.includes('/api-keys') || route.path.includes('/credentials')
            ? ids.key
            : route.path.includes('/access-tokens')
              ? ids.token
              : route.path.includes('/environments')
                ? ids.environment
                : ids.secret) as string,
        );
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
    const mayDo = (world: World) => (byBootstrap ? BOOTSTRAP : world.o.token);

    it('refuses who shows no token, junk, a forged, truncated, lengthened or re-prefixed one, and the wrong bootstrap token', async () => {
      const world = await furnish();
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

    it('refuses a method that it does not take, naming those that it does', async () => {
      const world = await furnish();
      const answer = await call(world, mayDo(world), { method: 'PUT', body: {} });
      expectRefusal(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toContain(route.method.toUpperCase());
    });

    it('refuses a revoked token, one whose parent is revoked, and one that has expired', async () => {
      const world = await furnish();
      const dead = await newSession(world.o);
      await world.o.del(`/access-tokens/${dead.id}`);
      const parent = await newKey(world.o);
      const orphan = await newSession(parent.o);
      const brief = await newKey(world.o, { expires_at: new Date(Date.now() + 150).toISOString() });
      await world.o.del(`/api-keys/${parent.id}`);
      await new Promise((done) => setTimeout(done, 200));
      for (const token of [dead.token, parent.token, orphan.token]) expectRefusal(await call(world, token), 'TOKEN_REVOKED');
      expectRefusal(await call(world, brief.token), 'TOKEN_EXPIRED');
    });

    if (route.path.includes('{org_id}')) {
      it("hides another org behind 404, whether it exists or not, and audits the attempt in the token's own org", async () => {
        const world = await furnish();
        const answer = await call(world, world.other.token);
        expectRefusal(answer, 'NOT_FOUND');
        const none = { ...world, o: { ...world.o, id: `${world.o.id.slice(0, -6)}000000` } } as World;
        expect((await call(none, world.other.token)).text.replaceAll(none.o.id, '')).toBe(answer.text.replaceAll(world.o.id, ''));
        const entries = (await world.other.get('/audit-log')).json.data as { request_id: string; status: number }[];
        expect(entries.find((entry) => entry.request_id === answer.headers.get('request-id'))?.status).toBe(404);
      });
    }

    if (need.scopes.length) {
      it('refuses a key and a session token without the scope, and names it', async () => {
        const world = await furnish();
        const weak = await newKey(world.o, { scopes: ['integrations:notify'] });
        for (const token of [weak.token, (await newSession(weak.o)).token]) {
          const answer = await call(world, token);
          expectRefusal(answer, 'INSUFFICIENT_SCOPE');
          expect(answer.json.error.message).toContain(need.scopes[0]);
        }
      });
    }

    if (!need.kinds.includes('session') && !byBootstrap) {
      it('refuses a session token, whatever it holds', async () => {
        const world = await furnish();
        expectRefusal(await call(world, (await newSession(world.o)).token), 'CREDENTIAL_KIND_NOT_ALLOWED');
      });
    }
    if (byBootstrap) {
      it('refuses an API key, whatever it holds', async () => {
        const world = await furnish();
        expectRefusal(await call(world, world.o.token), 'CREDENTIAL_KIND_NOT_ALLOWED');
      });
    }

    if (
      route.named &&
      !route.path.includes('/api-keys') &&
      !route.path.includes('/credentials') &&
      !route.path.includes('/access-tokens') &&
      named
    ) {
      it('refuses a key that is limited to another environment, or to other names', async () => {
        const world = await furnish();
        const elsewhere = await newKey(world.o, { scopes: ['*'], environments: ['staging'] });
        expectRefusal(await call(world, elsewhere.token), 'INSUFFICIENT_SCOPE');
        if (route.path.includes('/secrets'))
          expectRefusal(await call(world, (await newKey(world.o, { scopes: ['*'], secrets: ['other/*'] })).token), 'INSUFFICIENT_SCOPE');
      });
    }

    if (!byBootstrap) {
      it('refuses a key that is used from an address that it is not allowed', async () => {
        const world = await furnish();
        expectRefusal(await call(world, (await newKey(world.o, { allowed_addresses: ['198.51.100.0/24'] })).token), 'ADDRESS_NOT_ALLOWED');
      });
    }

    it('refuses a parameter that it does not know, and a repeated one', async () => {
      const world = await furnish();
      const answer = await call(world, mayDo(world), { query: '?surprise=1' });
      expectRefusal(answer, 'VALIDATION_FAILED');
      expect(answer.json.error.details[0].path).toBe('surprise');
    });

    if (route.method !== 'get') {
      it('refuses a body of another type, broken, too large, or with a field that it does not know', async () => {
        const world = await furnish();
        const token = mayDo(world);
        expectRefusal(await call(world, token, { body: '{}', headers: { 'Content-Type': 'text/plain' } }), 'UNSUPPORTED_MEDIA_TYPE');
        expectRefusal(await call(world, token, { body: '{' }), 'MALFORMED_JSON');
        expectRefusal(await call(world, token, { body: ' '.repeat(1_048_577) }), 'PAYLOAD_TOO_LARGE');
        const answer = await call(world, token, { body: { ...(bodies[name] as object), org_id: 'x' } });
        expectRefusal(answer, 'VALIDATION_FAILED');
      });
    }

    it('has changed nothing by all that', async () => {
      const world = await furnish();
      const weak = await newKey(world.o, { scopes: ['integrations:notify'] });
      const before = (await world.o.get('/secrets')).text;
      if (need.scopes.length) await call(world, weak.token);
      await call(world, world.other.token);
      expect((await world.o.get('/secrets')).text).toBe(before);
    });
  });
}

describe('a session token', () => {
  it('rotates no API key, not even its parent', async () => {
    const o = await newOrg();
    const token = await newSession(o);
    for (const overlap_seconds of [0, 600])
      expect((await token.o.post(`/api-keys/${o.keyId}/rotate`, { overlap_seconds })).json.error.code).toBe('CREDENTIAL_KIND_NOT_ALLOWED');
    expect((await o.get('/api-keys')).json.data).toHaveLength(1);
  });
});

describe('over its budget', () => {
  it('every route is 429 with Retry-After, in one audit entry a minute', async () => {
    const world = await furnish();
    const key = await newKey(world.o, { scopes: ['*'] });
    for (let i = 0; i < 1200; i += 100) await Promise.all(Array.from({ length: 100 }, () => key.o.get('/environments')));
    for (const route of routes.filter(({ action }) => !needOf(action).kinds.includes('system'))) {
      const path = route.path
        .replace('{org_id}', world.o.id)
        .replace('{id}', 'x')
        .replace('{name}', 'x')
        .replace('{environment}', 'production');
      const answer = await send(route.method.toUpperCase(), `/api/v1${path}`, { token: key.token });
      expect([answer.status, answer.json.error.code], route.path).toEqual([429, 'RATE_LIMITED']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(answer.headers.get('ratelimit')).toMatch(/^"credential";r=0;t=\d+$/);
    }
  });

  it('an address that guesses at the bootstrap token is held up after twenty attempts, the right token never', async () => {
    const guess = () => send('GET', '/api/v1/orgs', { token: 'wrong', headers: { 'CF-Connecting-IP': '192.0.2.77' } });
    for (let i = 0; i < 20; i++) expect((await guess()).status).toBe(401);
    expect((await guess()).status).toBe(429);
    expect((await send('GET', '/api/v1/orgs', { token: BOOTSTRAP, headers: { 'CF-Connecting-IP': '192.0.2.77' } })).status).toBe(200);
  });
});
