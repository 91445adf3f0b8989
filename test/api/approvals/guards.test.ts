// What guards approval policies: nobody opens the door alone, by changing a policy, its approvers, or who may
// decide.
import { afterEach, describe, expect, it } from 'vitest';
import { newAgent, newBreakGlass, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { slow } from '../../support/slow';
import { type Answer, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
afterEach(() => {
  faults.before = null;
});

const HELD = [403, 'APPROVAL_REQUIRED'];
const MISMATCH = [409, 'APPROVAL_MISMATCH'];
const READS = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };

describe('approval policy: its environments', () => {
  it('attack: deleting an environment and creating it again takes no policy off it', async () => {
    const { o, ann, asked } = await newOffice();
    const { id } = (await o.post('/environments', { name: 'Live', slug: 'live' })).json;
    const policy = await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['live'] } });
    const refused = await asked.del('/environments/live');
    const held = approvalIn(refused);
    const shown = (await ann.o.get(`/approvals/${held.id}`)).json;
    expect([shown.operation, shown.summary, shown.shown]).toEqual([
      'policy.change',
      'The API key "deploy" asks to delete the environment "live", which takes it off the policies that name it.',
      [
        { name: 'Environment', value: 'live' },
        { name: 'Change', value: 'deleted' },
      ],
    ]);
    expect((await o.get('/environments/live')).json.id).toBe(id);
    await approve(ann, held.id);
    expect((await asked.del('/environments/live', undefined, under(held.id))).status).toBe(204);
    expect((await o.get(`/policies/${policy}`)).json.applies_to.environments).toEqual([id]);
  });

  slow('an environment that no approval policy names is deleted without approval', async () => {
    const { o, asked } = await newOffice();
    for (const slug of ['free', 'held', 'off']) await o.post('/environments', { name: slug, slug });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['off'] }, enabled: false });
    await newApprovalPolicy(o, ['policy.change', 'secret.delete'], {
      applies_to: { environments: ['held'] },
    });
    const deleted = async (slug: string) => (await asked.del(`/environments/${slug}`)).status;
    expect([await deleted('free'), await deleted('held'), await deleted('off')]).toEqual([204, 403, 204]);
  });

  it('attack: the default environment is not changed around a policy that names it or the new one', async () => {
    const { o, ann, bob } = await newOffice();
    const agent = (await newAgent(bob.o, { scopes: ['org:write'] })).o;
    const to = (slug: string, by = agent, id?: string) =>
      by.patch('', { default_environment: slug }, id ? under(id) : undefined);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['production'] } });
    const { id } = approvalIn(await to('staging'));
    const shown = (await ann.o.get(`/approvals/${id}`)).json;
    expect([shown.operation, shown.summary, shown.shown.slice(1)]).toEqual([
      'secret.update',
      expect.stringMatching(/asks to make "staging" the environment of requests that name none\.$/),
      [
        { name: 'Default environment before', value: 'production' },
        { name: 'Default environment after', value: 'staging' },
      ],
    ]);
    expect((await agent.patch('', { name: 'Acme' })).status).toBe(200);
    // The organisation has changed since.
    expect(codeOf(await approve(ann, id))).toEqual([409, 'CONFLICT']);
    const again = approvalIn(await to('staging'));
    await approve(ann, again.id);
    expect((await to('staging', agent, again.id)).json.default_environment).toBe('staging');
    expect((await to('development')).status).toBe(200);
    expect(codeOf(await to('production'))).toEqual(HELD);
  });

  slow(
    'attack: the default environment is not changed around a policy that holds changes of secrets in all of them',
    async () => {
      const { o } = await newOffice();
      await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['DB_*'] } });
      expect(codeOf(await o.patch('', { default_environment: 'staging' }))).toEqual(HELD);
      const other = await newOffice();
      await newApprovalPolicy(other.o, ['secret.read', 'secret.delete']);
      expect((await other.o.patch('', { default_environment: 'staging' })).status).toBe(200);
    },
  );

  slow('race: an environment is not deleted while a policy that names it is being created', async () => {
    const { o, asked } = await newOffice();
    await o.post('/environments', { name: 'Live', slug: 'live' });
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let batches = 0;
    faults.before = async (kind) => {
      if (kind !== 'batch' || batches++ > 0) return;
      begun.resolve();
      await held.promise;
    };
    const policy = o.post('/policies', {
      name: 'p',
      kind: 'approval',
      applies_to: { environments: ['live'] },
      config: READS,
    });
    await begun.promise;
    const deletion = asked.del('/environments/live');
    // Without the lock on the policies in force it would end now.
    await Promise.race([deletion, scheduler.wait(200)]);
    held.resolve();
    expect([(await policy).status, codeOf(await deletion)]).toEqual([201, HELD]);
  });
});

describe('approval policy: changes of it', () => {
  it('that weaken it are held by the policy itself, and others are not', async () => {
    const { o, ann, asked } = await newOffice();
    const id = await newApprovalPolicy(o, ['secret.read', 'secret.update'], {
      applies_to: { names: ['a*', 'b*'] },
    });
    const config = {
      operations: ['secret.read', 'secret.update'],
      required: 1,
      approvers: { role: 'owner' },
    };
    const change = (body: object) => asked.patch(`/policies/${id}`, body);
    for (const body of [
      { enabled: false },
      { config: { ...config, operations: ['secret.read'] } },
      { config: { ...config, approvers: { role: 'admin' } } },
      { config: { ...config, allow_break_glass: true } },
      { applies_to: { names: ['a*'] } },
      { applies_to: { names: ['a*', 'b*'], types: ['password'] } },
      { applies_to: { names: ['a*', 'b*'], environments: ['staging'] } },
    ])
      expect(codeOf(await change(body)), JSON.stringify(body)).toEqual(HELD);
    expect(codeOf(await asked.del(`/policies/${id}`))).toEqual(HELD);
    for (const body of [
      { name: 'other' },
      { config: { ...config, operations: [...config.operations, 'secret.delete'] } },
      { applies_to: {} },
    ])
      expect([(await change(body)).status, body]).toEqual([200, body]);
    const held = approvalIn(await asked.del(`/policies/${id}`));
    const shown = (await ann.o.get(`/approvals/${held.id}`)).json;
    expect([shown.operation, shown.summary]).toEqual([
      'policy.change',
      'The API key "deploy" asks to delete the policy "other".',
    ]);
    await approve(ann, held.id);
    expect((await asked.del(`/policies/${id}`, undefined, under(held.id))).status).toBe(204);
    // It held this approval; now nothing is held.
    expect((await asked.get(`/secrets/${(await newSecret(o, { name: 'a' })).id}`)).status).toBe(200);
  });

  slow('void earlier approvals', async () => {
    const { o, ann, asked } = await newOffice();
    const id = await newApprovalPolicy(o, ['secret.read']);
    const secret = await newSecret(o);
    const held = approvalIn(await asked.get(`/secrets/${secret.id}`));
    await approve(ann, held.id);
    expect((await o.patch(`/policies/${id}`, { name: 'renamed' })).status).toBe(200);
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, under(held.id)))).toEqual(MISMATCH);
  });

  slow('policy.change holds every change of policies, new ones included', async () => {
    const { o } = await newOffice();
    await newApprovalPolicy(o, ['policy.change']);
    expect(
      codeOf(await o.post('/policies', { name: 'x', kind: 'naming', config: { pattern: 'x' } })),
    ).toEqual(HELD);
  });

  slow('deleting the organisation is held', async () => {
    const { o } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const { name } = (await o.get('')).json;
    expect(codeOf(await o.del('', { confirm: name }))).toEqual(HELD);
  });
});

describe('approval policy: its approvers', () => {
  it('cannot be changed, and no one can become an approver, without an approval', async () => {
    const { o } = await newOffice();
    const admin = await newMember(o, 'admin');
    const developer = await newMember(o);
    const viewer = await newMember(o, 'viewer');
    const team = await newTeam(o, admin.id);
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { team_id: team } } });
    const held: [string, Promise<Answer>][] = [
      ['a member joins the team', o.post(`/teams/${team}/members`, { member_id: developer.id })],
      ['a member leaves the team', o.del(`/teams/${team}/members/${admin.id}`)],
      ['the team is deleted', o.del(`/teams/${team}`)],
      ['a developer becomes an admin', o.patch(`/members/${developer.id}`, { role: 'admin' })],
      ['an admin is invited', o.post('/members', { email: 'eve@example.com', name: 'Eve', role: 'admin' })],
    ];
    for (const [what, answer] of held) expect([what, ...codeOf(await answer)]).toEqual([what, ...HELD]);
    const other = await newTeam(o, viewer.id);
    for (const answer of [
      await o.patch(`/members/${viewer.id}`, { role: 'developer' }),
      await o.post('/members', { email: 'vic@example.com', name: 'Vic', role: 'viewer' }),
      await o.del(`/teams/${other}`),
      await o.del(`/members/${viewer.id}`),
    ])
      expect([200, 201, 204]).toContain(answer.status);
  });

  it('impossible: a policy that can never have enough approvers is refused', async () => {
    const o = await newOrg();
    const config = (fields: object) => ({
      operations: ['secret.read'],
      required: 1,
      approvers: { role: 'owner' },
      ...fields,
    });
    const create = (fields: object) =>
      o.post('/policies', { name: 'p', kind: 'approval', config: config(fields) });
    expect(codeOf(await create({ required: 2 }))).toEqual([422, 'APPROVAL_IMPOSSIBLE']);
    expect(codeOf(await create({ approvers: { role: 'developer' } }))).toEqual([422, 'APPROVAL_IMPOSSIBLE']);
    await newMember(o, 'owner');
    const made = await create({ required: 2 });
    expect(made.status).toBe(201);
    expect(codeOf(await o.patch(`/policies/${made.json.id}`, { config: config({ required: 3 }) }))).toEqual([
      422,
      'APPROVAL_IMPOSSIBLE',
    ]);
  });

  it('fails closed with too few approvers, and says who can fix it', async () => {
    const { o, ann, bob, asked } = await newOffice();
    const cat = await colleague(o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' }, required: 2 } });
    const secret = await newSecret(o);
    expect((await ann.o.del(`/members/${bob.member.id}`)).status).toBe(200);
    const held = await asked.get(`/secrets/${secret.id}`);
    expect(codeOf(held)).toEqual(HELD);
    expect(held.json.error.message).toContain('An owner can invite approvers');
    const admin = (email: string) => ({ email, name: 'New', role: 'admin' });
    expect(codeOf(await cat.o.post('/members', admin('by-cat@example.com')))).toEqual(HELD);
    expect((await ann.o.post('/members', admin('by-ann@example.com'))).status).toBe(201);
    // There are enough again.
    expect(codeOf(await ann.o.post('/members', admin('more@example.com')))).toEqual(HELD);
  });
});

describe('approval: who is accountable', () => {
  slow('is the creator through all links, even if the creator is gone', async () => {
    const { o, bob } = await newOffice();
    const cat = await colleague(o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const secret = await newSecret(o);
    const first = await newKey(bob.o, { scopes: ['secrets:*', 'tokens:*'] });
    const second = await newKey(first.o, { scopes: ['secrets:*', 'tokens:*'] });
    expect((await bob.o.del(`/api-keys/${first.id}`)).status).toBe(204);
    const { id } = approvalIn(await second.o.get(`/secrets/${secret.id}`));
    expect(codeOf(await approve(bob, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await approve(cat, id)).json.status).toBe('approved');
  });

  slow('also is who rotates an API key', async () => {
    const { o, bob } = await newOffice();
    const cat = await colleague(o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const secret = await newSecret(o);
    const key = await newKey(bob.o, { scopes: ['secrets:*'] });
    const rotated = (await cat.o.post(`/api-keys/${key.id}/rotate`, {})).json;
    const { id } = approvalIn(await o.as(rotated.token).get(`/secrets/${secret.id}`));
    for (const browser of [bob, cat])
      expect(codeOf(await approve(browser, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });
});

describe('approval: break-glass', () => {
  it('bypasses approvals for secrets only if the policy allows it, and is marked', async () => {
    const { o } = await newOffice();
    const a = await newSecret(o, { name: 'a' });
    const b = await newSecret(o, { name: 'b' });
    const glass = await newBreakGlass(o);
    const open = await newApprovalPolicy(o, ['secret.read', 'secret.update'], {
      applies_to: { names: ['a'] },
      config: { allow_break_glass: true },
    });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['b'] } });
    expect((await glass.o.get(`/secrets/${a.id}`)).json.value).toBe(a.value);
    expect((await glass.o.patch(`/secrets/${a.id}`, { value: 'new' })).status).toBe(200);
    expect(codeOf(await glass.o.get(`/secrets/${b.id}`))).toEqual(HELD);
    const compared = await glass.o.get('/environments/compare?environments=development,production');
    expect(compared.status, compared.text).toBe(200);
    const entries = (await o.get(`/audit-log?actor=${glass.id}`)).json.data;
    expect(
      entries.map((entry: { bypassed_policies?: string[]; emergency: boolean }) => [
        entry.bypassed_policies,
        entry.emergency,
      ]),
    ).toEqual([
      [[open], true],
      [undefined, true],
      [[open], true],
      [[open], true],
    ]);
  });
});
