// No way around an approval policy: whatever is called, by whom and in whatever order, while nobody approves,
// no held value leaves, no held secret changes, and the policy stands as it was. The first test walks every
// route of the API, so that a route that comes later is walked too.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SecretRow } from '../../../src/db/schema';
import { routes } from '../../../src/domains';
import { API } from '../../../src/http/route';
import { newAgent, newBreakGlass, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { few, runs } from '../../support/slow';
import { type Answer, type Caller, newSecret, send, useWorld } from '../../support/world';

useWorld();

const ALL = [
  'secret.read',
  'secret.update',
  'secret.rotate',
  'secret.delete',
  'secret.share',
  'break_glass.create',
  'provider_token.create',
];
const GUARDED = [...ALL, 'policy.change', 'team.change', 'member.change'];
const VALUE = 'held-value-4711';

/** An agent with every right, and what it created. */
async function agentsOf(o: Caller) {
  const agent = (await newAgent(o, { scopes: ['*'] })).o;
  const key = (await newKey(agent)).o;
  return {
    agent,
    sub: (await newAgent(agent, { scopes: ['*'] })).o,
    key,
    session: (await newSession(key)).o,
  };
}

/**
 * An org with a policy that holds everything of the secrets under `held/`, and what else a path or body can
 * name. The approvers are owners, or the members accountable for agents: then only agents and what they
 * created are held.
 */
async function newFortress(approvers: 'owners' | 'accountable' = 'owners') {
  const { o, bob, asked } = await newOffice();
  const secret = await newSecret(o, { name: 'held/db', type: 'password', value: 'first' });
  await o.patch(`/secrets/${secret.id}`, { value: VALUE });
  const member = await newMember(o, 'developer');
  const team = await newTeam(o, member.id);
  const callers = {
    owner: o,
    admin: bob.o,
    key: asked,
    session: (await newSession(asked)).o,
    agent: (await newAgent(o)).o,
    glass: (await newBreakGlass(o)).o,
  };
  const isOfAgents = approvers === 'accountable';
  const policy = await newApprovalPolicy(
    o,
    GUARDED,
    isOfAgents ? { config: { approvers: { accountable: true } } } : {},
  );
  const ids = {
    secret: secret.id,
    member: member.id,
    team,
    policy,
    key: (await newKey(o, { scopes: ['secrets:read'] })).id,
  };
  const before = await inCore(o, ({ rows }) => rows.get('secret', secret.id) as SecretRow);
  /** What has been got past the policy, or null. */
  const breach = async (): Promise<string | null> => {
    const [row, rule, org] = await inCore(
      o,
      ({ rows }) =>
        [rows.get('secret', secret.id), rows.get('policy', policy), rows.get('org', o.id)] as const,
    );
    if (row?.revision !== before.revision) return `the secret has changed: ${JSON.stringify(row)}`;
    if (rule?.revision !== 1) return `the policy has changed: ${JSON.stringify(rule)}`;
    if (org?.default_environment !== before.environment_id) return 'another environment is the default one';
    return null;
  };
  return { o, callers: isOfAgents ? await agentsOf(o) : callers, ids, breach };
}

type Fortress = Awaited<ReturnType<typeof newFortress>>;

/** Bodies that a held secret takes, where the example of the document does not fit it. */
const bodies: Record<string, unknown> = {
  'patch /orgs/{org_id}/secrets/{id}': { value: 'x' },
  'post /orgs/{org_id}/secrets/{id}/rollback': { version: 1 },
  'post /orgs/{org_id}/environments/{environment}/promote': {
    from: 'staging',
    names: ['held/db'],
    prune: true,
  },
  'patch /orgs/{org_id}': { name: 'an org' },
  'delete /orgs/{org_id}': { confirm: 'an org' },
};

/** The body for a route: that above, or its example in the OpenAPI document, if it takes one. */
async function examples(): Promise<(path: string, method: string) => unknown> {
  const { paths } = (await send('GET', `${API}/openapi.json`)).json;
  return (path, method) =>
    bodies[`${method} ${path}`] ?? paths[path]?.[method]?.requestBody?.content?.['application/json']?.example;
}

/** The path of a route, with what is held in the place of each parameter. */
function pathOf({ ids, o }: Fortress, path: string): string {
  const byCollection: Record<string, string> = {
    secrets: ids.secret,
    members: ids.member,
    teams: ids.team,
    policies: ids.policy,
    'api-keys': ids.key,
  };
  return path
    .replace('{org_id}', o.id)
    .replace('{name}', 'held/db')
    .replace('{environment}', 'production')
    .replace('{member_id}', ids.member)
    .replace(
      /([a-z-]+)\/\{id\}/,
      (_, collection: string) => `${collection}/${byCollection[collection] ?? ids.secret}`,
    )
    .replace(/\{\w+\}/, ids.key);
}

it.each(few(['accountable', 'owners'] as const, 1))(
  'bypass: no route of the API reveals or changes held secrets (approvers: %s)',
  async (approvers) => {
    const fortress = await newFortress(approvers);
    const exampleOf = await examples();
    const held = new Set<string>();
    let sent = 0;
    // What ends credentials comes last.
    const last = /panic|contain|api-keys|access-tokens|agent|break-glass|auth|delete/;
    const order = [...routes].sort(
      (a, b) => Number(last.test(`${a.method} ${a.path}`)) - Number(last.test(`${b.method} ${b.path}`)),
    );
    for (const route of order.filter(
      ({ path, public: open }) => !open && !path.startsWith('/deployment') && !path.endsWith('/stream'),
    ))
      for (const caller of Object.values(fortress.callers)) {
        // A minute later, so that no rate limit refuses.
        if (++sent % 100 === 0) faults.clock = (faults.clock ?? Date.now()) + 60_000;
        const target = `${API}${pathOf(fortress, route.path)}`;
        const body = route.body ? exampleOf(route.path, route.method) : undefined;
        const answer = await send(route.method.toUpperCase(), target, { token: caller.token, body });
        expect(answer.text, `${route.method} ${route.path}`).not.toContain(VALUE);
        if (answer.json?.error?.code === 'APPROVAL_REQUIRED') held.add(`${route.method} ${route.path}`);
        expect(await fortress.breach(), `${route.method} ${route.path}`).toBe(null);
      }
    // Each route that was held says so in the OpenAPI document, and the paths to a secret are among them.
    const { paths, components } = (await send('GET', `${API}/openapi.json`)).json;
    for (const one of held) {
      const [method = '', path = ''] = one.split(' ');
      const { $ref, description } = paths[path][method].responses['403'];
      expect(description ?? components.responses[$ref.split('/').at(-1)].description, one).toContain(
        'APPROVAL_REQUIRED',
      );
    }
    const secret = '/orgs/{org_id}/secrets/{id}';
    for (const one of [
      `get ${secret}`,
      `patch ${secret}`,
      `delete ${secret}`,
      `post ${secret}/rotate`,
      `post ${secret}/rollback`,
    ])
      expect([...held]).toContain(one);
    for (const one of [
      'get /orgs/{org_id}/secrets/by-name/{name}',
      'put /orgs/{org_id}/secrets/by-name/{name}',
      // No agent may delete the organisation.
      ...(approvers === 'owners' ? ['delete /orgs/{org_id}'] : []),
      `post ${secret}/share`,
    ])
      expect([...held]).toContain(one);
  },
);

/** What an attacker with every right but the approval may try. */
const attempts: Record<string, (fortress: Fortress, by: Caller) => Promise<Answer>> = {
  read: ({ ids }, by) => by.get(`/secrets/${ids.secret}`),
  'read by name': (_, by) => by.get('/secrets/by-name/held%2Fdb'),
  'read a version': ({ ids }, by) => by.get(`/secrets/${ids.secret}?version=2`),
  'read all': (_, by) => by.get('/environments/production/values'),
  rename: ({ ids }, by) => by.patch(`/secrets/${ids.secret}`, { name: 'free' }),
  retype: ({ ids }, by) => by.patch(`/secrets/${ids.secret}`, { type: 'generic' }),
  overwrite: (_, by) => by.call('PUT', '/secrets/by-name/held%2Fdb', { value: 'x' }),
  'share by a link': ({ ids }, by) =>
    by.post(`/secrets/${ids.secret}/share`, { kind: 'link', expires_in: 60, max_views: 1 }),
  'share by a grant': ({ ids }, by) =>
    by.post(`/secrets/${ids.secret}/share`, {
      kind: 'grant',
      grantee: { type: 'team', id: ids.team },
      permission: 'write',
    }),
  rotate: ({ ids }, by) => by.post(`/secrets/${ids.secret}/rotate`, {}),
  'roll back': ({ ids }, by) => by.post(`/secrets/${ids.secret}/rollback`, { version: 1 }),
  delete: ({ ids }, by) => by.del(`/secrets/${ids.secret}?permanent=true`),
  'disable the policy': ({ ids }, by) => by.patch(`/policies/${ids.policy}`, { enabled: false }),
  'narrow the policy': ({ ids }, by) =>
    by.patch(`/policies/${ids.policy}`, { applies_to: { names: ['none'] } }),
  'delete the policy': ({ ids }, by) => by.del(`/policies/${ids.policy}`),
  'invite an owner': (_, by) =>
    by.post('/members', { email: `e${Math.random()}@example.com`, name: 'E', role: 'owner' }),
  promote: ({ ids }, by) => by.patch(`/members/${ids.member}`, { role: 'admin' }),
  'enrol for somebody': ({ ids }, by) => by.post(`/members/${ids.member}/enrolments`),
  grant: ({ ids }, by) =>
    by.post('/grants', { grantee: { type: 'team', id: ids.team }, permission: 'write' }),
  'join a team': ({ ids }, by) => by.post(`/teams/${ids.team}/members`, { member_id: ids.member }),
  'create an agent': (_, by) => by.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] }),
  'create a key': (_, by) => by.post('/api-keys', { name: 'k', scopes: ['secrets:*'] }),
  'create a provider token': (_, by) => by.post('/provider-tokens', { name: 'p', scopes: ['rotate'] }),
  'break glass': (_, by) => by.post('/break-glass-tokens', { reason: 'I would like to' }),
  contain: ({ ids }, by) => by.post(`/credentials/${ids.key}/contain`, { rotate: 'generated' }),
  'make another environment the default one': (_, by) => by.patch('', { default_environment: 'staging' }),
  'delete the organisation': (_, by) => by.del('', { confirm: 'an org' }),
  'approve by a key': async ({ ids }, by) => {
    const held = await by.get(`/secrets/${ids.secret}`);
    if (held.json?.error?.code !== 'APPROVAL_REQUIRED') return held;
    const { id } = approvalIn(held);
    await by.post(`/approvals/${id}/approve`);
    return by.get(`/secrets/${ids.secret}`, { 'Approval-Id': id });
  },
};

it('bypass: no sequence of calls without an approval gets past a policy', async () => {
  const call = fc.tuple(fc.constantFrom(...Object.keys(attempts)), fc.nat(9));
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 3, maxLength: 12 }), async (calls) => {
      const fortress = await newFortress();
      const callers = Object.values(fortress.callers);
      for (const [name, who] of calls) {
        const answer = await (attempts[name] as (typeof attempts)[string])(
          fortress,
          callers[who % callers.length] as Caller,
        );
        expect(answer.text, name).not.toContain(VALUE);
        // What it was given is used from here on.
        if (answer.json?.token) callers.push(fortress.o.as(answer.json.token));
      }
      expect(await fortress.breach()).toBe(null);
    }),
    { numRuns: runs(6, 2) },
  );
});
