// Revisions of resources: whatever PATCH can change shows a revision and its ETag, takes If-Match in every
// request that changes it, and moves by one with each change. The routes come from the route table, so a new
// PATCH route without a row here fails.
import { describe, expect, it } from 'vitest';
import { routes } from '../../../src/domains';
import { hasRevision } from '../../../src/http/route';
import { newAgent, newKey } from '../../support/credentials';
import { newPolicy } from '../../support/governance/policies';
import { newUpstream } from '../../support/integrations/upstreams';
import { newWebhook } from '../../support/integrations/webhooks';
import { addPasskey, newMember, newTeam, ownerId } from '../../support/people';
import { newSignedIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { addConnection } from '../../support/signin/sso';
import { few, slow } from '../../support/slow';
import { type Answer, type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const OF_ORG = '/orgs/{org_id}';
/** Secrets have versions: see their own tests. */
const PATCHED = routes
  .filter(({ method, path }) => method === 'patch' && !path.startsWith(`${OF_ORG}/secrets/`))
  .map(({ path }) => path.slice(OF_ORG.length));

interface Resource {
  /** Makes one; answers its path. */
  make(o: Caller): Promise<string>;
  /** Two changes with PATCH. */
  bodies: [object, object];
  /** Further requests that change it: what follows its path, and the body. */
  posts?: Record<string, () => unknown>;
  /** The body of DELETE. */
  deletion?(o: Caller): Promise<object>;
  /** It has no DELETE. */
  isKept?: true;
  /** Shown in a list alone. */
  isListed?: true;
  /** Only an owner in a browser changes it. */
  isOfOwners?: true;
}

const named = { bodies: [{ name: 'one' }, { name: 'two' }] as [object, object] };
const at =
  (base: string, make: (o: Caller) => Promise<{ id: string }>) =>
  async (o: Caller): Promise<string> =>
    `${base}/${(await make(o)).id}`;
const made = (path: string, body: object) => at(path, async (o) => (await o.post(path, body)).json);
const slack = {
  kind: 'notify',
  platform: 'slack',
  name: 'n',
  config: { webhookUrl: 'https://hooks.slack.com/services/T0/B0/x' },
};

const resources: Record<string, Resource> = {
  '': { make: async () => '', ...named, deletion: async (o) => ({ confirm: (await o.get('')).json.name }) },
  '/environments/{id}': { make: made('/environments', { name: 'qa' }), ...named },
  '/members/{id}': { make: at('/members', newMember), ...named, posts: { '/enrolments': () => undefined } },
  '/members/{id}/passkeys/{passkey_id}': {
    async make(o) {
      const { id } = await newMember(o);
      await addPasskey(o, id);
      return `/members/${id}/passkeys/${await addPasskey(o, id)}`;
    },
    ...named,
    isListed: true,
  },
  '/teams/{id}': { make: async (o) => `/teams/${await newTeam(o)}`, ...named },
  '/api-keys/{id}': {
    make: at('/api-keys', newKey),
    ...named,
    posts: { '/rotate': () => ({ overlap_seconds: 60 }) },
  },
  '/agent-credentials/{id}': { make: at('/agent-credentials', newAgent), ...named },
  '/policies/{id}': { make: at('/policies', (o) => newPolicy(o, 'naming', { pattern: '^a' })), ...named },
  '/devices/{id}': {
    make: at('/devices', newDevice),
    ...named,
    posts: { '/assign': () => ({ member_id: owner }), '/block': () => undefined },
  },
  '/webhooks/{id}': {
    make: at('/webhooks', newWebhook),
    bodies: [{ description: 'one' }, { description: 'two' }],
    posts: { '/rotate-secret': () => ({}) },
  },
  '/log-streams/{id}': {
    make: made('/log-streams', { name: 'x', kind: 'https', config: { url: 'https://siem.example.com' } }),
    ...named,
  },
  '/upstreams/{id}': {
    make: at('/upstreams', newUpstream),
    bodies: [{ rate_limit: 1 }, { rate_limit: 2 }],
  },
  '/integrations/{id}': { make: made('/integrations', slack), ...named },
  '/incidents/{id}': {
    async make(o) {
      const { id } = await newKey(o);
      return `/incidents/${(await o.post(`/credentials/${id}/contain`, {})).json.incident_id}`;
    },
    bodies: [{ note: 'one' }, { note: 'two' }],
    isKept: true,
  },
  '/sso-connections/{id}': {
    make: async (o) => `/sso-connections/${await addConnection(o)}`,
    ...named,
    isOfOwners: true,
  },
  '/trusts/{id}': { make: at('/trusts', async (o) => newTrust(o, await newIssuer())), ...named },
};
let owner = '';

const tag = (revision: number, weak = '') => ({ 'If-Match': `${weak}"r${revision}"` });
const CONFLICT = [412, 'REVISION_CONFLICT'];

/** A fresh resource, and how to read it. */
async function fresh({ make, isListed, isOfOwners }: Resource) {
  const o = isOfOwners ? (await newSignedIn()).browser.o : await newOrg();
  owner = await ownerId(o);
  const path = await make(o);
  const list = path.slice(0, path.lastIndexOf('/'));
  const id = path.slice(path.lastIndexOf('/') + 1);
  const listed = async () => (await o.get(list)).json.data.find((one: { id: string }) => one.id === id);
  const read = async (): Promise<{ revision: number }> => (isListed ? listed() : (await o.get(path)).json);
  return { o, path, read, listed };
}
const tagged = ({ json, headers }: Answer) => headers.get('ETag') === `"r${json.revision}"`;

it('ETag: intermediaries that compress would weaken or drop it, and are told not to', async () => {
  const o = await newOrg();
  const { name } = await newSecret(o);
  for (const path of ['', '/environments/production', `/secrets/by-name/${name}`])
    expect((await o.get(path)).headers.get('cache-control'), path).toBe('no-store, no-transform');
  expect((await o.get('/environments')).headers.get('cache-control')).toBe('no-store');
});

describe('revision: every resource that PATCH can change', () => {
  it('is in this test', () => expect(Object.keys(resources).sort()).toEqual(PATCHED.sort()));

  it('has If-Match, REVISION_CONFLICT and the ETag in the route table, for DELETE too', () => {
    const changing = routes.filter(
      ({ method, path }) =>
        path.startsWith(OF_ORG) && PATCHED.includes(path.slice(OF_ORG.length)) && method !== 'get',
    );
    expect(changing.filter(({ revises }) => !revises)).toEqual([]);
    for (const { method, answers } of changing)
      if (method === 'patch') expect(hasRevision(answers[200])).toBe(true);
  });

  it.each(Object.entries(resources))(
    '%s: shows it, and each change moves it by one',
    async (_path, resource) => {
      const { o, path, read, listed } = await fresh(resource);
      const { revision } = await read();
      expect(revision).toBe(1);
      if (!resource.isListed) expect(tagged(await o.get(path))).toBe(true);
      if (path !== '') expect((await listed()).revision).toBe(1);
      for (const [index, body] of resource.bodies.entries()) {
        const answer = await o.patch(path, body, tag(index + 1));
        expect([answer.status, answer.json.revision]).toEqual([200, index + 2]);
        expect(tagged(answer)).toBe(true);
      }
      expect((await read()).revision).toBe(3);
      expect((await o.patch(path, resource.bodies[0], { 'If-Match': '*' })).json.revision).toBe(4);
      expect((await o.patch(path, resource.bodies[1], { 'If-Match': '"x", "r4"' })).json.revision).toBe(5);
      expect((await o.patch(path, resource.bodies[0])).json.revision).toBe(6);
    },
  );

  it.each(Object.entries(resources))(
    '%s: another revision is 412 and changes nothing',
    async (_path, resource) => {
      const { o, path, read } = await fresh(resource);
      await o.patch(path, resource.bodies[0]);
      const before = await read();
      for (const header of [tag(1), tag(3), tag(2, 'W/'), { 'If-Match': '"v2"' }, { 'If-Match': 'r2' }])
        expect(codeOf(await o.patch(path, resource.bodies[1], header)), header['If-Match']).toEqual(CONFLICT);
      for (const [post, body] of Object.entries(resource.posts ?? {}))
        expect(codeOf(await o.post(`${path}${post}`, body(), tag(1))), post).toEqual(CONFLICT);
      const deletion = await resource.deletion?.(o);
      if (!resource.isKept) expect(codeOf(await o.del(path, deletion, tag(1)))).toEqual(CONFLICT);
      const after = await read();
      expect({ ...after, usage: null, last_used_at: null }).toEqual({
        ...before,
        usage: null,
        last_used_at: null,
      });
    },
  );

  it.each(few(Object.entries(resources), 4))(
    '%s: only one of several concurrent changes has the revision',
    async (_path, resource) => {
      const { o, path, read } = await fresh(resource);
      const answers = await Promise.all(
        [...resource.bodies, ...resource.bodies].map((body) => o.patch(path, body, tag(1))),
      );
      expect(answers.map(codeOf).sort()).toEqual([[200, undefined], CONFLICT, CONFLICT, CONFLICT]);
      expect((await read()).revision).toBe(2);
      const free = await Promise.all(
        [...resource.bodies, ...resource.bodies].map((body) => o.patch(path, body)),
      );
      expect(free.map(({ json }) => json.revision).sort()).toEqual([3, 4, 5, 6]);
      if (resource.isKept) return;
      const deletion = await resource.deletion?.(o);
      const [changed, deleted] = await Promise.all([
        o.patch(path, resource.bodies[0], tag(6)),
        o.del(path, deletion, tag(6)),
      ]);
      const won = [changed, deleted].filter(({ status }) => status < 300);
      expect(won.length).toBe(1);
      // The name that DELETE of an organisation confirms may be the one before.
      expect([400, 404, 412]).toContain([changed, deleted].find(({ status }) => status >= 300)?.status);
    },
  );

  const posts = Object.entries(resources).flatMap(([path, { posts = {} }]) =>
    Object.keys(posts).map((post) => [path, post] as const),
  );
  it.each(posts)('%s%s moves it by one', async (path, post) => {
    const resource = resources[path] as Resource;
    const one = await fresh(resource);
    const answer = await one.o.post(`${one.path}${post}`, resource.posts?.[post]?.(), tag(1));
    expect(answer.status).toBeLessThan(300);
    expect(tagged(answer)).toBe(true);
    expect((await one.read()).revision).toBe(2);
  });

  it.each(Object.entries(resources).filter(([, { isKept }]) => !isKept))(
    '%s: DELETE takes the revision',
    async (_path, resource) => {
      const { o, path } = await fresh(resource);
      await o.patch(path, resource.bodies[0]);
      expect((await o.del(path, await resource.deletion?.(o), tag(2))).status).toBeLessThan(300);
    },
  );
});

describe('revision: who is in a team', () => {
  const world = async () => {
    const o = await newOrg();
    const ann = await newMember(o);
    const bob = await newMember(o);
    const team = await newTeam(o);
    const at = `/teams/${team}`;
    const add = (member_id: string, header = {}) => o.post(`${at}/members`, { member_id }, header);
    const remove = (member: string, header = {}) => o.del(`${at}/members/${member}`, undefined, header);
    const revision = async () => (await o.get(at)).json.revision as number;
    return { o, ann: ann.id, bob: bob.id, at, add, remove, revision };
  };

  slow('moves the revision of the team by one', async () => {
    const { ann, add, remove, revision } = await world();
    expect((await add(ann, tag(1))).status).toBe(201);
    expect(await revision()).toBe(2);
    expect((await remove(ann, tag(2))).status).toBe(204);
    expect(await revision()).toBe(3);
  });

  it('another revision is 412 and changes nothing', async () => {
    const { o, ann, bob, at, add, remove, revision } = await world();
    await add(ann);
    for (const header of [tag(1), tag(3), tag(2, 'W/')]) {
      expect(codeOf(await add(bob, header))).toEqual(CONFLICT);
      expect(codeOf(await remove(ann, header))).toEqual(CONFLICT);
    }
    expect(
      (await o.get(`${at}/members`)).json.data.map((row: { member_id: string }) => row.member_id),
    ).toEqual([ann]);
    expect(await revision()).toBe(2);
    expect((await add(bob, { 'If-Match': '*' })).status).toBe(201);
  });

  slow('a member who is there already moves nothing, and one who is not is 404', async () => {
    const { ann, bob, add, remove, revision } = await world();
    await add(ann);
    expect((await add(ann, tag(2))).status).toBe(201);
    expect(codeOf(await remove(bob, tag(1)))).toEqual([404, 'NOT_FOUND']);
    expect(await revision()).toBe(2);
  });

  slow('only one of several concurrent changes has the revision', async () => {
    const { o, ann, bob, at, add, revision } = await world();
    const answers = await Promise.all([
      add(ann, tag(1)),
      add(bob, tag(1)),
      o.patch(at, { name: 'x' }, tag(1)),
      o.del(at, undefined, tag(1)),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    for (const { status } of answers.filter(({ status }) => status >= 300))
      expect([404, 412]).toContain(status);
    const free = await world();
    await Promise.all([free.add(free.ann), free.add(free.bob), free.o.patch(free.at, { name: 'x' })]);
    expect(await free.revision()).toBe(4);
    if (answers[3]?.status !== 204) expect(await revision()).toBe(2);
  });

  slow('idempotency: a repeat is the stored answer and moves nothing', async () => {
    const { ann, add, revision } = await world();
    const again = { ...tag(1), 'Idempotency-Key': 'k' };
    expect((await add(ann, again)).status).toBe(201);
    const repeat = await add(ann, again);
    expect([repeat.status, repeat.headers.get('Idempotency-Replayed')]).toEqual([201, 'true']);
    expect(await revision()).toBe(2);
  });
});

describe('revision: a secret', () => {
  slow('shows its ETag wherever it is shown, so that it can be named without reading the value', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const expected = ['"v1"', '"v1.1"', '"v2"'];
    for (const body of [null, { description: 'x' }, { value: 'second' }]) {
      const tag = expected.shift();
      if (body) expect((await o.patch(`/secrets/${id}`, body)).json.etag).toBe(tag);
      const { json, headers } = await o.get(`/secrets/${id}`);
      expect([json.etag, headers.get('ETag')]).toEqual([tag, tag]);
      expect((await o.get(`/secrets?id=${id}`)).json.data[0].etag).toBe(tag);
    }
    expect((await o.get(`/secrets/${id}?version=1`)).json.etag).toBe('"v2"');
    expect((await o.patch(`/secrets/${id}`, { description: 'y' }, { 'If-Match': '"v2"' })).status).toBe(200);
  });
});

describe('revision: the order of refusals', () => {
  const absent: Record<string, string> = {
    '/members/{id}': '/members/mem_x',
    '/teams/{id}': '/teams/team_x',
  };
  it.each(Object.values(absent))('%s: what does not exist is 404, whatever If-Match says', async (path) => {
    const o = await newOrg();
    expect(codeOf(await o.patch(path, { name: 'x' }, tag(1)))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.del(path, undefined, { 'If-Match': '*' }))).toEqual([404, 'NOT_FOUND']);
  });

  slow('permission comes first: a caller who may not change it learns no revision', async () => {
    const o = await newOrg();
    const { id } = await newMember(o);
    const key = await newKey(o, { scopes: ['members:read'] });
    for (const header of [tag(1), tag(2)])
      expect(codeOf(await key.o.patch(`/members/${id}`, { name: 'x' }, header))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
  });

  it('a revoked credential is 404 for PATCH, and revoking it again succeeds', async () => {
    const o = await newOrg();
    const { id } = await newKey(o);
    expect((await o.del(`/api-keys/${id}`, undefined, tag(1))).status).toBe(204);
    expect((await o.del(`/api-keys/${id}`, undefined, tag(1))).status).toBe(204);
    expect(codeOf(await o.patch(`/api-keys/${id}`, { name: 'x' }, tag(1)))).toEqual([404, 'NOT_FOUND']);
  });

  it('idempotency: a repeat with the same If-Match is the stored answer, and another If-Match is another request', async () => {
    const o = await newOrg();
    const { id } = await newDevice(o);
    const send = (revision: number) =>
      o.post(`/devices/${id}/block`, undefined, { ...tag(revision), 'Idempotency-Key': 'k' });
    const first = await send(1);
    const again = await send(1);
    expect([again.status, again.headers.get('Idempotency-Replayed'), again.headers.get('ETag')]).toEqual([
      200,
      'true',
      '"r2"',
    ]);
    expect(again.json).toEqual(first.json);
    expect(codeOf(await send(2))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });
});
