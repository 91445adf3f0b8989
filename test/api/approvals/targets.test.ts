// What an approval rests on: of each operation that can be held, every row that decides what the call would
// do is changed between approval and use, and the approval is void. Without a change the same call succeeds,
// so that no other refusal is taken for it.
import { expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import {
  approvalIn,
  newApprovalPolicy,
  newOffice,
  plantApproval,
  under,
} from '../../support/governance/approvals';
import { newGrant, newMember, newTeam } from '../../support/people';
import { addConnection } from '../../support/signin/sso';
import { slow } from '../../support/slow';
import { type Answer, type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

interface World {
  o: Caller;
  /** Rows of this case alone. */
  secret: { id: string; name: string };
  env: { id: string; slug: string };
  member: string;
  team: string;
  /** A team without members. */
  crew: string;
  policy: string;
}

interface Case {
  name: string;
  ask(world: World, headers?: Record<string, string>): Promise<Answer>;
  changes: Record<string, (world: World) => Promise<Answer>>;
}

const changeSecret = {
  secret: ({ o, secret }: World) => o.patch(`/secrets/${secret.id}`, { description: 'changed' }),
};
const changeEnvironment = {
  environment: ({ o, env }: World) => o.patch(`/environments/${env.id}`, { name: 'Changed' }),
};
const changeMember = { member: ({ o, member }: World) => o.patch(`/members/${member}`, { name: 'Changed' }) };
const fillTeam = {
  members: async ({ o, team }: World) =>
    o.post(`/teams/${team}/members`, { member_id: (await newMember(o)).id }),
};
const renameTeam = { team: ({ o, team }: World) => o.patch(`/teams/${team}`, { name: 'Changed' }) };
const one = ({ secret }: World) => `/secrets/${secret.id}`;

const ofSecrets: Case[] = [
  { name: 'read', ask: (w, h) => w.o.get(one(w), h), changes: changeSecret },
  {
    name: 'by name',
    ask: (w, h) => w.o.get(`/secrets/by-name/${w.secret.name}?environment=${w.env.slug}`, h),
    changes: changeSecret,
  },
  {
    name: 'generate',
    ask: (w, h) =>
      w.o.post(
        '/integrations/generate',
        { format: 'dotenv', environmentId: w.env.slug, names: [w.secret.name] },
        h,
      ),
    changes: changeSecret,
  },
  {
    name: 'update',
    ask: (w, h) => w.o.patch(one(w), { value: 'x' }, h),
    changes: { description: changeSecret.secret },
  },
  { name: 'rotate', ask: (w, h) => w.o.post(`${one(w)}/rotate`, { value: 'y' }, h), changes: changeSecret },
  {
    name: 'roll back',
    ask: (w, h) => w.o.post(`${one(w)}/rollback`, { version: 1 }, h),
    changes: changeSecret,
  },
  { name: 'delete', ask: (w, h) => w.o.call('DELETE', one(w), undefined, h), changes: changeSecret },
  {
    name: 'put by name',
    ask: (w, h) =>
      w.o.call('PUT', `/secrets/by-name/${w.secret.name}?environment=${w.env.slug}`, { value: 'x' }, h),
    changes: changeSecret,
  },
  {
    name: 'import',
    ask: (w, h) =>
      w.o.post(
        '/integrations/import',
        { source: 'svc', data: { [w.secret.name]: 'x' }, environmentId: w.env.slug, onConflict: 'overwrite' },
        h,
      ),
    changes: changeSecret,
  },
  {
    name: 'share by a link',
    ask: (w, h) => w.o.post(`${one(w)}/share`, { kind: 'link', expires_in: 60, max_views: 1 }, h),
    changes: changeSecret,
  },
  {
    name: 'share with a team',
    ask: (w, h) =>
      w.o.post(
        `${one(w)}/share`,
        { kind: 'grant', grantee: { type: 'team', id: w.team }, permission: 'read' },
        h,
      ),
    changes: { ...fillTeam, ...renameTeam, ...changeEnvironment },
  },
  {
    name: 'grant',
    ask: (w, h) =>
      w.o.post(
        '/grants',
        { grantee: { type: 'member', id: w.member }, permission: 'read', environments: [w.env.slug] },
        h,
      ),
    changes: { ...changeMember, ...changeEnvironment },
  },
  {
    name: 'provider token',
    ask: (w, h) =>
      w.o.post('/provider-tokens', { name: 'p', scopes: ['issue'], environments: [w.env.slug] }, h),
    changes: changeEnvironment,
  },
];

const approvers = (w: World) => ({
  operations: ['secret.read'],
  required: 1,
  approvers: { team_id: w.team },
});
const ofPolicies: Case[] = [
  {
    name: 'create a policy',
    ask: (w, h) =>
      w.o.post(
        '/policies',
        { name: 'p', kind: 'approval', applies_to: { environments: [w.env.slug] }, config: approvers(w) },
        h,
      ),
    changes: { ...fillTeam, ...changeEnvironment },
  },
  {
    name: 'change a policy',
    ask: (w, h) => w.o.patch(`/policies/${w.policy}`, { config: approvers(w) }, h),
    changes: fillTeam,
  },
];
const ofTeams: Case[] = [
  {
    name: 'add to a team',
    ask: (w, h) => w.o.post(`/teams/${w.crew}/members`, { member_id: w.member }, h),
    changes: { ...changeMember, team: ({ o, crew }) => o.patch(`/teams/${crew}`, { name: 'Changed' }) },
  },
  {
    name: 'delete a team',
    ask: (w, h) => w.o.call('DELETE', `/teams/${w.team}`, undefined, h),
    changes: renameTeam,
  },
];
const ofMembers: Case[] = [
  {
    name: 'change a role',
    ask: (w, h) => w.o.patch(`/members/${w.member}`, { role: 'viewer' }, h),
    changes: changeMember,
  },
  {
    name: 'remove a member',
    ask: (w, h) => w.o.call('DELETE', `/members/${w.member}`, undefined, h),
    changes: changeMember,
  },
];

let count = 0;

/** New rows for one case. */
async function newWorld(o: Caller, policy: string): Promise<World> {
  const slug = `env-${++count}`;
  const { id } = (await o.post('/environments', { name: slug, slug })).json;
  const secret = await newSecret(o, { name: `SECRET_${count}`, environment: slug });
  const member = (await newMember(o, 'admin')).id;
  return {
    o,
    secret: { id: secret.id, name: `SECRET_${count}` },
    env: { id, slug },
    member,
    team: await newTeam(o, member),
    crew: await newTeam(o),
    policy,
  };
}

/** Asks, approves, does something, and asks under the approval. */
async function walk(operations: string[], cases: Case[]): Promise<void> {
  const { o } = await newOffice();
  // The rows are there before the policy, which would hold some of them.
  const worlds: World[] = [];
  const many = cases.reduce((sum, { changes }) => sum + 1 + Object.keys(changes).length, 0);
  for (let i = 0; i < many; i++) worlds.push(await newWorld(o, ''));
  const other = await newApprovalPolicy(o, ['secret.delete'], { applies_to: { names: ['none'] } });
  await newApprovalPolicy(o, operations);
  for (const { name, ask, changes } of cases)
    for (const [what, change] of [['nothing', null] as const, ...Object.entries(changes)]) {
      const world = { ...(worlds.pop() as World), policy: other };
      const { id } = approvalIn(await ask(world));
      await plantApproval(o, id);
      if (change) {
        const changed = await change(world);
        expect(changed.status, `${name}: ${what}`).toBeLessThan(300);
      }
      const shown = (await o.get(`/approvals/${id}`)).json;
      const used = await ask(world, under(id));
      if (change)
        expect([shown.status, ...codeOf(used)], `${name}: ${what}`).toEqual([
          'void',
          409,
          'APPROVAL_MISMATCH',
        ]);
      else expect(used.status, `${name}: ${used.text}`).toBeLessThan(300);
    }
}

slow('approval: is void once the secret, grantee, team or environment has changed', () =>
  walk(['secret.read', 'secret.rotate', 'secret.delete', 'secret.share', 'provider_token.create'], ofSecrets),
);
slow('approval: one of a policy is void once its team, members or environments have changed', () =>
  walk(['policy.change'], ofPolicies),
);
slow('approval: one of a team is void once the team or the member has changed', () =>
  walk(['team.change'], ofTeams),
);
slow('approval: one of a member is void once the member has changed', () =>
  walk(['member.change'], ofMembers),
);

slow('approval: one of a share with an agent is void once the agent has changed', async () => {
  const { o } = await newOffice();
  const secret = await newSecret(o);
  const agent = await newAgent(o, { scopes: ['secrets:list'] });
  await newApprovalPolicy(o, ['secret.share']);
  const ask = (headers = {}) =>
    o.post(
      `/secrets/${secret.id}/share`,
      { kind: 'grant', grantee: { type: 'agent', id: agent.id }, permission: 'read' },
      headers,
    );
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect(
    (await o.patch(`/agent-credentials/${agent.id}`, { scopes: ['secrets:list', 'audit:read'] })).status,
  ).toBe(200);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});

it('approval: one of the default environment is void once that is another with its slug', async () => {
  const { o } = await newOffice();
  await o.post('/environments', { name: 'Live', slug: 'live' });
  await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['production'] } });
  const ask = (headers = {}) => o.patch('', { default_environment: 'live' }, headers);
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect((await o.del('/environments/live')).status).toBe(204);
  expect((await o.post('/environments', { name: 'Live', slug: 'live' })).status).toBe(201);
  expect((await o.get(`/approvals/${id}`)).json.status).toBe('void');
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  const again = approvalIn(await ask()).id;
  await plantApproval(o, again);
  expect((await ask(under(again))).json.default_environment).toBe('live');
});

it('approval: one that adds secrets is void once their environment is another with its slug', async () => {
  const { o } = await newOffice();
  await newSecret(o, { name: 'DB', value: 'held', environment: 'production' });
  await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['production'] } });
  const ask = (headers = {}) => o.post('/environments/staging/promote', { from: 'production' }, headers);
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect((await o.del('/environments/staging')).status).toBe(204);
  expect((await o.post('/environments', { name: 'Staging', slug: 'staging' })).status).toBe(201);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});

it('approval: one of a connection is void once an environment or a team that it names gives more', async () => {
  const { o, ann } = await newOffice();
  const team = await newTeam(o);
  const connection = await addConnection(o);
  await o.post('/environments', { name: 'Live', slug: 'live' });
  await newApprovalPolicy(o, ['member.change']);
  const ask = (headers = {}) =>
    ann.o.patch(
      `/sso-connections/${connection}`,
      {
        role_mappings: [{ group: 'g', role: 'developer', environments: ['live'] }],
        team_mappings: [{ group: 't', team_id: team }],
      },
      headers,
    );
  const changes = [
    async () => {
      expect((await o.del('/environments/live')).status).toBe(204);
      return o.post('/environments', { name: 'Live', slug: 'live' });
    },
    () => o.post('/grants', { grantee: { type: 'team', id: team }, permission: 'read' }),
    () => o.patch(`/teams/${team}`, { name: 'Changed' }),
  ];
  for (const change of changes) {
    const { id } = approvalIn(await ask());
    await plantApproval(o, id);
    expect((await change()).status).toBeLessThan(300);
    expect((await o.get(`/approvals/${id}`)).json.status).toBe('void');
    expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  }
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect((await ask(under(id))).status).toBe(200);
});

it('approval: one of a grant is void once its maker holds more than deciders were shown', async () => {
  const { o } = await newOffice();
  const member = await newMember(o);
  await newApprovalPolicy(o, ['secret.share']);
  const wider = {
    secrets: { secrets: ['*'] },
    environments: { environments: ['staging', 'production'] },
    lifetime: { ttlSeconds: 7200 },
  };
  for (const [what, change] of [['nothing', null] as const, ...Object.entries(wider)]) {
    const agent = await newAgent(o, {
      scopes: ['members:write', 'secrets:list', 'secrets:read'],
      ttlSeconds: 3600,
      environments: ['staging'],
      secrets: ['APP_*'],
    });
    const ask = (headers = {}) =>
      agent.o.post('/grants', { grantee: { type: 'member', id: member.id }, permission: 'read' }, headers);
    const { id } = approvalIn(await ask());
    await plantApproval(o, id);
    if (change) expect((await o.patch(`/agent-credentials/${agent.id}`, change)).status, what).toBe(200);
    const used = await ask(under(id));
    if (change) expect(codeOf(used), what).toEqual([409, 'APPROVAL_MISMATCH']);
    else expect(used.json, used.text).toMatchObject({ secrets: ['APP_*'] });
  }
});

slow('approval: one of a provider token is void once its maker may call from more addresses', async () => {
  const { o } = await newOffice();
  const maker = await newKey(o, {
    scopes: ['tokens:write', 'secrets:write'],
    allowed_addresses: ['0.0.0.0/0', '::/0'],
  });
  await newApprovalPolicy(o, ['provider_token.create']);
  const ask = (headers = {}) => maker.o.post('/provider-tokens', { name: 'p', scopes: ['issue'] }, headers);
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect((await o.patch(`/api-keys/${maker.id}`, { allowed_addresses: null })).status).toBe(200);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});

slow('approval: one of a grant that ends with a session is void for what would not', async () => {
  const { o } = await newOffice();
  const member = await newMember(o);
  await newApprovalPolicy(o, ['secret.share']);
  const maker = await newKey(o, {
    scopes: ['members:write', 'secrets:list', 'secrets:read', 'tokens:write'],
  });
  const session = await newSession(maker.o);
  const ask = (by: Caller, headers = {}) =>
    by.post('/grants', { grantee: { type: 'member', id: member.id }, permission: 'read' }, headers);
  const one = approvalIn(await ask(session.o)).id;
  const other = approvalIn(await ask(maker.o)).id;
  // Asked by the key, it is another request: the one of the session was replaced.
  expect(other).not.toBe(one);
  await plantApproval(o, other);
  expect(codeOf(await ask(session.o, under(other)))).toEqual([409, 'APPROVAL_MISMATCH']);
  const { id } = approvalIn(await ask(session.o));
  await plantApproval(o, id);
  expect((await ask(session.o, under(id))).status).toBe(201);
});

it('approval: one of a role is void once the member has left a team, also after a return', async () => {
  const { o } = await newOffice();
  const member = await newMember(o);
  const team = await newTeam(o, member.id);
  await newApprovalPolicy(o, ['member.change']);
  const ask = (headers = {}) => o.call('PATCH', `/members/${member.id}`, { role: 'auditor' }, headers);
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  expect((await o.del(`/teams/${team}/members/${member.id}`)).status).toBe(204);
  expect((await o.post(`/teams/${team}/members`, { member_id: member.id })).status).toBe(201);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});

it('approval: one of a place in a team, and of a role, is void once that gives more', async () => {
  const { o } = await newOffice();
  const member = await newMember(o);
  const asks: [string, 'team' | 'member', (id: string, headers?: object) => Promise<Answer>][] = [
    [
      'team.change',
      'team',
      (team, headers) => o.call('POST', `/teams/${team}/members`, { member_id: member.id }, { ...headers }),
    ],
    [
      'member.change',
      'member',
      (id, headers) => o.call('PATCH', `/members/${id}`, { role: 'auditor' }, { ...headers }),
    ],
  ];
  for (const [operation, type, ask] of asks) {
    const grantee = type === 'team' ? await newTeam(o) : (await newMember(o)).id;
    const before = await newGrant(o, type, grantee, { secrets: ['APP_*'], environments: ['staging'] });
    const policy = await newApprovalPolicy(o, [operation]);
    const { id } = approvalIn(await ask(grantee));
    const { shown } = (await o.get(`/approvals/${id}`)).json;
    expect(shown).toContainEqual({ name: `Grants of the ${type}`, value: 'read APP_* in staging' });
    await plantApproval(o, id);
    await newGrant(o, type, grantee);
    expect((await o.get(`/approvals/${id}`)).json.status).toBe('void');
    expect(codeOf(await ask(grantee, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
    const again = approvalIn(await ask(grantee)).id;
    await plantApproval(o, again);
    expect((await o.del(`/grants/${before.id}`)).status).toBe(204);
    expect(codeOf(await ask(grantee, under(again)))).toEqual([409, 'APPROVAL_MISMATCH']);
    await drop(o, policy);
  }
});

it('approval: one that was void at its use stays void when everything is as before', async () => {
  const { o } = await newOffice();
  const team = await newTeam(o);
  const member = await newMember(o);
  await newApprovalPolicy(o, ['team.change']);
  const ask = (headers = {}) => o.post(`/teams/${team}/members`, { member_id: member.id }, headers);
  const { id } = approvalIn(await ask());
  await plantApproval(o, id);
  const grant = await newGrant(o, 'team', team);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect((await o.del(`/grants/${grant.id}`)).status).toBe(204);
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect((await o.get(`/approvals/${id}`)).json.status).toBe('void');
});

it('approval: a policy that comes into force ends for good what it might hold, and nothing elsewhere', async () => {
  const { o } = await newOffice();
  const secret = await newSecret(o, { environment: 'production' });
  await newApprovalPolicy(o, ['secret.read']);
  const ask = (headers = {}) => o.get(`/secrets/${secret.id}`, headers);
  const asked = async () => {
    const { id } = approvalIn(await ask());
    await plantApproval(o, id);
    return id as string;
  };
  const within = (environment: string, enabled = true) =>
    newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: [environment] }, enabled });
  const given = await asked();
  const elsewhere = await within('staging');
  const disabled = await within('production', false);
  expect((await o.patch(`/policies/${disabled}`, { name: 'renamed' })).status).toBe(200);
  expect((await ask(under(given))).status).toBe(200);
  for (const begin of [
    () => within('production'),
    async () => ((await o.patch(`/policies/${disabled}`, { enabled: true })).status === 200 ? disabled : ''),
  ]) {
    const id = await asked();
    const policy = await begin();
    // What is void cannot be made valid again by deleting the policy.
    await drop(o, policy);
    expect((await o.get(`/approvals/${id}`)).json.status).toBe('void');
    expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  }
  await drop(o, elsewhere);
});

/** Deletes a policy under an approval of its own. */
async function drop(o: Caller, policy: string): Promise<void> {
  const { id } = approvalIn(await o.del(`/policies/${policy}`));
  await plantApproval(o, id);
  expect((await o.call('DELETE', `/policies/${policy}`, undefined, under(id))).status).toBe(204);
}
