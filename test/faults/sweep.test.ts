// Every storage statement, D1 call and gate call of every change fails once before and once after taking
// effect, and the gate is reset there. Afterwards the change, repeated, has taken effect exactly once, and
// nothing is left half done.
import { expect, it } from 'vitest';
import { runTasks } from '../../src/gate/tasks/run';
import { problemOf } from '../model/invariants';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../support/credentials';
import { type Fault, faults, faultsOf, reset } from '../support/faults';
import { inCore } from '../support/gate';
import { approvalIn, newApprovalPolicy, plantApproval, under } from '../support/governance/approvals';
import { newPolicy } from '../support/governance/policies';
import { attendTo, newWebhook, plantGone } from '../support/integrations/webhooks';
import { sampled } from '../support/limits/sampled';
import { addKeys, newGrant, newMember, newTeam } from '../support/people';
import { newLink, view } from '../support/shares';
import { newDevice, newKeyPair, provenBy } from '../support/signin/device';
import { few } from '../support/slow';
import { newLongSecret } from '../support/storage/planted';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  db,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../support/world';

useWorld();

type Change = { send(headers: Record<string, string>): Promise<Answer>; done: number[] };

/** Each change: prepared in an org, then made as often as it takes; the last answer is one of `done`. */
const changes: Record<string, (o: Caller) => Promise<Change>> = {
  'create a secret': async (o) => {
    const body = { name: `n-${++made}`, type: 'generic', value: 'v' };
    return { send: (h) => o.post('/secrets', body, h), done: [201] };
  },
  'create a secret with a generated value': async (o) => {
    const body = { name: `n-${++made}`, ...GENERATED };
    return { send: (h) => o.post('/secrets', body, h), done: [201] };
  },
  'change a value': async (o) => change(o, (id) => (h) => o.patch(`/secrets/${id}`, { value: 'second' }, h)),
  'rename a secret': async (o) =>
    change(o, (id) => (h) => o.patch(`/secrets/${id}`, { name: `renamed-${id}` }, h)),
  'rotate to a value': async (o) =>
    change(o, (id) => (h) => o.post(`/secrets/${id}/rotate`, { value: 'second' }, h)),
  'rotate to a generated value': async (o) =>
    change(o, (id) => (h) => o.post(`/secrets/${id}/rotate`, {}, h)),
  'replace a value where that destroys an old version': async (o) => {
    const { id } = await newLongSecret(o);
    return { send: (h) => o.post(`/secrets/${id}/rotate`, { value: 'one more' }, h), done: [200] };
  },
  'roll back': async (o) => change(o, (id) => (h) => o.post(`/secrets/${id}/rollback`, { version: 1 }, h)),
  'delete a secret': async (o) => change(o, (id) => (h) => o.del(`/secrets/${id}`, undefined, h), [204, 404]),
  'destroy a secret': async (o) =>
    change(o, (id) => (h) => o.del(`/secrets/${id}?permanent=true`, undefined, h), [204, 404]),
  'restore a secret': async (o) => {
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}`);
    return { send: (h) => o.post(`/secrets/${id}/restore`, undefined, h), done: [200] };
  },
  'issue a new name': async (o) =>
    provide(o, 'issue', { secretName: `n-${++made}`, value: 'v', ttlSeconds: 60 }, [201]),
  'issue a name that a person made': async (o) =>
    provide(o, 'issue', { secretName: (await newSecret(o)).name, value: 'second', ttlSeconds: 60 }),
  'rotate as a provider': async (o) =>
    provide(o, 'rotate', { secretName: (await newSecret(o)).name, newValue: 'second' }),
  'revoke as a provider': async (o) => provide(o, 'revoke', { secretName: (await newSecret(o)).name }),
  'create a key': async (o) => ({
    send: (h) => o.post('/api-keys', { name: 'k', scopes: ['org:read'] }, h),
    done: [201],
  }),
  'limit a key': async (o) => {
    const { id } = await newKey(o);
    // Changing addresses to what they are is a change too: repeated, it is one more.
    return { send: (h) => o.patch(`/api-keys/${id}`, { name: 'renamed' }, h), done: [200] };
  },
  'rotate a key': async (o) => {
    const { id } = await newKey(o);
    return { send: (h) => o.post(`/api-keys/${id}/rotate`, { overlap_seconds: 60 }, h), done: [201] };
  },
  'revoke a key': async (o) => {
    const { id } = await newKey(o);
    return { send: (h) => o.del(`/api-keys/${id}`, undefined, h), done: [204] };
  },
  panic: async (o) => ({ send: (h) => o.post('/panic', { reason: 'stolen' }, h), done: [200] }),
  'contain a credential': async (o) => {
    const key = await newKey(o);
    await newKey(key.o);
    return { send: (h) => o.post(`/credentials/${key.id}/contain`, {}, h), done: [200] };
  },
  'contain a credential and rotate what it knew': async (o) => {
    const key = await newKey(o);
    await newSecret(key.o, GENERATED);
    return { send: (h) => o.post(`/credentials/${key.id}/contain`, { rotate: 'generated' }, h), done: [200] };
  },
  'mint a session token': async (o) => ({
    send: (h) => o.post('/access-tokens', { ttlSeconds: 60 }, h),
    done: [201],
  }),
  'revoke a session token': async (o) => {
    const { id } = await newSession(o);
    return { send: (h) => o.del(`/access-tokens/${id}`, undefined, h), done: [204] };
  },
  'create an agent': async (o) => ({
    send: (h) => o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], ttlSeconds: 600 }, h),
    done: [201],
  }),
  'narrow an agent': async (o) => {
    const { id } = await newAgent(o);
    return {
      send: (h) => o.patch(`/agent-credentials/${id}`, { secrets: ['app/*'], rate_limit: 9 }, h),
      done: [200],
    };
  },
  'revoke an agent': async (o) => {
    const { id } = await newAgent(o);
    return { send: (h) => o.del(`/agent-credentials/${id}`, undefined, h), done: [204] };
  },
  'create a provider token': async (o) => ({
    send: (h) => o.post('/provider-tokens', { name: 'p', scopes: ['issue'] }, h),
    done: [201],
  }),
  'revoke a provider token': async (o) => {
    const { id } = await newProvider(o);
    return { send: (h) => o.del(`/provider-tokens/${id}`, undefined, h), done: [204] };
  },
  'issue a break-glass token': async (o) => {
    // Five may be alive.
    for (const { id } of (await o.get('/break-glass-tokens')).json.data as { id: string }[])
      await o.del(`/break-glass-tokens/${id}`);
    return { send: (h) => o.post('/break-glass-tokens', { reason: 'the database is down' }, h), done: [201] };
  },
  'end a break-glass token': async (o) => {
    const { id } = await newBreakGlass(o);
    return { send: (h) => o.del(`/break-glass-tokens/${id}`, undefined, h), done: [204] };
  },
  'create an environment': async (o) => {
    const body = { name: `e-${++made}` };
    return { send: (h) => o.post('/environments', body, h), done: [201] };
  },
  'delete an environment': async (o) => {
    const { id } = (await o.post('/environments', { name: `e-${++made}` })).json;
    return { send: (h) => o.del(`/environments/${id}`, undefined, h), done: [204, 404] };
  },
  'rename the organisation': async (o) => ({ send: (h) => o.patch('', { name: 'renamed' }, h), done: [200] }),
  'invite a member': async (o) => {
    const body = { email: `m-${++made}@example.com`, name: 'M', role: 'viewer' };
    return { send: (h) => o.post('/members', body, h), done: [201] };
  },
  'change a member': async (o) => {
    const { id } = await newMember(o, 'viewer');
    return { send: (h) => o.patch(`/members/${id}`, { role: 'auditor' }, h), done: [200] };
  },
  'enrol a member anew': async (o) => {
    const { id } = await newMember(o, 'viewer');
    return { send: (h) => o.post(`/members/${id}/enrolments`, undefined, h), done: [201] };
  },
  'remove a member and all that they made': async (o) => {
    const { id } = await newMember(o, 'viewer');
    await newTeam(o, id);
    await newGrant(o, 'member', id);
    await addKeys(o, id, 12);
    return { send: (h) => o.del(`/members/${id}?revoke_credentials=true`, undefined, h), done: [200, 404] };
  },
  'create a team': async (o) => ({ send: (h) => o.post('/teams', { name: 't' }, h), done: [201] }),
  'add to a team': async (o) => {
    const team = await newTeam(o);
    const { id } = await newMember(o);
    return { send: (h) => o.post(`/teams/${team}/members`, { member_id: id }, h), done: [201] };
  },
  'take out of a team': async (o) => {
    const { id } = await newMember(o);
    const team = await newTeam(o, id);
    return { send: (h) => o.del(`/teams/${team}/members/${id}`, undefined, h), done: [204, 404] };
  },
  'delete a team': async (o) => {
    const team = await newTeam(o, (await newMember(o)).id);
    await newGrant(o, 'team', team);
    return { send: (h) => o.del(`/teams/${team}`, undefined, h), done: [204, 404] };
  },
  grant: async (o) => {
    const { id } = await newMember(o);
    return {
      send: (h) => o.post('/grants', { grantee: { type: 'member', id }, permission: 'read' }, h),
      done: [201],
    };
  },
  'share a secret by a link': async (o) => {
    const { id } = await newSecret(o);
    const body = { kind: 'link', expires_in: 60, max_views: 2, passphrase: 'p' };
    return { send: (h) => o.post(`/secrets/${id}/share`, body, h), done: [201] };
  },
  'share a secret by a grant': async (o) => {
    const { id } = await newSecret(o);
    const member = await newMember(o);
    const body = { kind: 'grant', grantee: { type: 'member', id: member.id }, permission: 'read' };
    return { send: (h) => o.post(`/secrets/${id}/share`, body, h), done: [201] };
  },
  'view a link': async (o) => {
    const link = await newLink(o, (await newSecret(o)).id);
    return { send: () => view(link), done: [200] };
  },
  'view a link for the last time': async (o) => {
    // A view whose reply is lost on the way to the browser counts: then the link has ended.
    const link = await newLink(o, (await newSecret(o)).id, { max_views: 1 });
    return { send: () => view(link), done: [200, 410] };
  },
  'try a passphrase': async (o) => {
    const link = await newLink(o, (await newSecret(o)).id, { passphrase: 'p' });
    return { send: () => view(link, 'wrong'), done: [403] };
  },
  'revoke a link': async (o) => {
    const { id } = await newSecret(o);
    const link = await newLink(o, id);
    return { send: (h) => o.del(`/secrets/${id}/shares/${link.id}`, undefined, h), done: [204, 404] };
  },
  'delete a secret with links': async (o) => {
    const { id } = await newSecret(o);
    for (let i = 0; i < 3; i++) await newLink(o, id);
    return { send: (h) => o.del(`/secrets/${id}`, undefined, h), done: [204, 404] };
  },
  'withdraw a grant': async (o) => {
    const { id } = await newGrant(o, 'member', (await newMember(o)).id);
    return { send: (h) => o.del(`/grants/${id}`, undefined, h), done: [204, 404] };
  },
  'create a policy': async (o) => {
    const body = { name: 'p', kind: 'rotation', config: { max_age_days: 90 } };
    return { send: (h) => o.post('/policies', body, h), done: [201] };
  },
  'change a policy': async (o) => {
    const { id } = await newPolicy(o, 'naming', { pattern: 'n' });
    return { send: (h) => o.patch(`/policies/${id}`, { enabled: false }, h), done: [200] };
  },
  'delete a policy': async (o) => {
    const { id } = await newPolicy(o, 'naming', { pattern: 'n' });
    return { send: (h) => o.del(`/policies/${id}`, undefined, h), done: [204, 404] };
  },
  'break a naming policy': async (o) => {
    // The refusal and its event are in one turn: either both are there, or neither is and the repeat makes
    // them.
    await newPolicy(o, 'naming', { pattern: '^[a-z]' });
    return {
      send: (h) => o.post('/secrets', { name: 'REFUSED', type: 'generic', value: 'v' }, h),
      done: [422],
    };
  },
  'hold a change for approval': async (o) => {
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['held-*'] } });
    const { id } = await newSecret(o, { name: `held-${++made}` });
    return { send: (h) => o.patch(`/secrets/${id}`, { value: 'second' }, h), done: [403] };
  },
  'hold a read for approval': async (o) => {
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['held-*'] } });
    const { id } = await newSecret(o, { name: `held-${++made}` });
    return { send: (h) => o.get(`/secrets/${id}`, h), done: [403] };
  },
  'change a value under an approval': async (o) => {
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['held-*'] } });
    const { id } = await newSecret(o, { name: `held-${++made}` });
    const held = approvalIn(await o.patch(`/secrets/${id}`, { value: 'second' }));
    await plantApproval(o, held.id);
    return {
      send: (h) => o.patch(`/secrets/${id}`, { value: 'second' }, { ...h, ...under(held.id) }),
      done: [200, 409],
    };
  },
  'read under an approval': async (o) => {
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['held-*'] } });
    const { id } = await newSecret(o, { name: `held-${++made}` });
    const held = approvalIn(await o.get(`/secrets/${id}`));
    await plantApproval(o, held.id);
    // Where the reply is lost, the approval is used, and asking for another is all that is left.
    return { send: (h) => o.get(`/secrets/${id}`, { ...h, ...under(held.id) }), done: [200, 409] };
  },
  'cancel a held request': async (o) => {
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['held-*'] } });
    const { id } = await newSecret(o, { name: `held-${++made}` });
    const held = approvalIn(await o.patch(`/secrets/${id}`, { value: 'second' }));
    return { send: (h) => o.post(`/approvals/${held.id}/cancel`, undefined, h), done: [200] };
  },
  'register a device': async (o) => {
    const { jwk } = await newKeyPair();
    return { send: (h) => o.post('/devices', { name: 'd', platform: 'p', public_key: jwk }, h), done: [201] };
  },
  'change a device': async (o) => {
    const { id } = await newDevice(o);
    return { send: (h) => o.patch(`/devices/${id}`, { name: 'renamed' }, h), done: [200] };
  },
  'assign a device': async (o) => {
    const device = await newDevice(o);
    const { id } = await newMember(o);
    return { send: (h) => o.post(`/devices/${device.id}/assign`, { member_id: id }, h), done: [200] };
  },
  'block a device': async (o) => {
    const { id } = await newDevice(o);
    await newAgent(o, { device_id: id });
    return { send: (h) => o.post(`/devices/${id}/block`, undefined, h), done: [200] };
  },
  'remove a device': async (o) => {
    const { id } = await newDevice(o);
    await newAgent(o, { device_id: id });
    return { send: (h) => o.del(`/devices/${id}`, undefined, h), done: [204, 404] };
  },
  'create an agent that is bound to a device': async (o) => {
    const { id: device_id } = await newDevice(o);
    return {
      send: (h) => o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], device_id }, h),
      done: [201],
    };
  },
  'create a secret with the proof of a device': async (o) => {
    const { id: device_id, keys } = await newDevice(o);
    const bound = provenBy((await newSession(o, { device_id })).o, keys);
    const body = { name: `n-${++made}`, type: 'generic', value: 'v' };
    return { send: (h) => bound.post('/secrets', body, h), done: [201] };
  },
  'create a webhook': async (o) => {
    const body = { url: 'https://hooks.example.com/in', events: QUIET };
    return { send: (h) => o.post('/webhooks', body, h), done: [201] };
  },
  'change a webhook': async (o) => {
    const { id } = await newWebhook(o, { events: QUIET });
    return {
      send: (h) => o.patch(`/webhooks/${id}`, { url: 'https://hooks.example.com/other', enabled: false }, h),
      done: [200],
    };
  },
  'rotate the secret of a webhook': async (o) => {
    const { id } = await newWebhook(o, { events: QUIET });
    return { send: (h) => o.post(`/webhooks/${id}/rotate-secret`, undefined, h), done: [200] };
  },
  'delete a webhook': async (o) => {
    const { id } = await newWebhook(o, { events: QUIET });
    return { send: (h) => o.del(`/webhooks/${id}`, undefined, h), done: [204, 404] };
  },
  'disable a webhook that is gone': async (o) => {
    const { id } = await newWebhook(o, { events: QUIET });
    await plantGone(o, id);
    const job = () =>
      attendTo(o, id).then(
        () => 204,
        () => 503,
      );
    return {
      send: async () => ({ status: await job(), json: null, text: '', headers: new Headers() }),
      done: [204],
    };
  },
  'promote secrets': async (o) => {
    const there = { ...(await newSecret(o, { environment: 'staging' })), other: `n-${++made}` };
    await o.call('PUT', `/secrets/by-name/${there.other}?environment=staging`, { value: 'new' });
    await o.call('PUT', `/secrets/by-name/${there.name}?environment=production`, { value: 'old' });
    const body = { from: 'staging', names: [there.name, there.other] };
    return { send: (h) => o.post('/environments/production/promote', body, h), done: [200] };
  },
  'import secrets': async (o) => {
    // One exists: its value is encrypted anew, in a second call of the gate.
    const names = [(await newSecret(o)).name, `n-${++made}`, `n-${++made}`];
    const data = Object.fromEntries(names.map((name) => [name, 'imported']));
    return {
      send: (h) => o.post('/integrations/import', { source: 'svc', onConflict: 'overwrite', data }, h),
      done: [200],
    };
  },
  'recover the organisation': async (o) => ({
    send: (h) =>
      send('POST', `/api/v1/orgs/${o.id}/recovery`, {
        token: BOOTSTRAP,
        body: { reason: 'lost' },
        headers: h,
      }),
    done: [201],
  }),
};
let made = 0;

/** Kinds that no change here raises, so that nothing is delivered. */
const QUIET = ['DEVICE_UNASSIGNED'];

async function change(o: Caller, call: (id: string) => Change['send'], done = [200]): Promise<Change> {
  const { id } = await newSecret(o, { type: 'password', value: 'first' });
  return { send: call(id), done };
}

async function provide(o: Caller, verb: string, fields: object, done = [200]): Promise<Change> {
  const { token } = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] }))
    .json;
  const body = { environment: 'production', ...fields };
  return { send: (headers) => send('POST', `/api/v1/provider/${verb}`, { token, body, headers }), done };
}

/** How many events there are, how much of everything else, and how often it was changed. */
async function extentOf(o: Caller): Promise<number[]> {
  const tables = [
    ...['orgs', 'environments', 'members', 'passkeys', 'teams', 'team_members', 'grants'],
    ...[
      'credentials',
      'secrets',
      'secret_versions',
      'policies',
      'approvals',
      'devices',
      'shares',
      'webhooks',
    ],
  ];
  const queries = tables.map((table) =>
    db
      .prepare(
        `select count(*) n, coalesce(sum(${table === 'secret_versions' ? 'version' : 'revision'}), 0) m from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`,
      )
      .bind(o.id),
  );
  const found = await db.batch<{ n: number; m: number }>(queries);
  const events = await inCore(o, ({ outbox }) => outbox.oldest(1000).length);
  return [events, ...found.flatMap(({ results }) => [results[0]?.n ?? 0, results[0]?.m ?? 0])];
}

const unanswered = (answer: Answer) =>
  answer.status === 503 || answer.json?.error?.code === 'IDEMPOTENCY_IN_PROGRESS';

async function make(o: Caller, { send: attempt, done }: Change, fault?: Fault): Promise<number[]> {
  const before = await extentOf(o);
  const headers = { 'Idempotency-Key': `k-${++made}` };
  Object.assign(faults, { statements: 0, d1: 0, gate: 0 }, fault?.how);
  let answer = await attempt(headers);
  const { orphans } = faults;
  if (fault) {
    reset();
    if (unanswered(answer)) answer = await attempt(headers);
    for (const land of orphans) await land().catch(() => {});
    // A call that never came back for its second half counts as running for a minute at most.
    if (unanswered(answer)) faults.clock = Date.now() + 61_000;
    for (let i = 0; i < 2 && unanswered(answer); i++) answer = await attempt(headers);
    faults.clock = null;
  }
  expect(done, `${fault?.what}: ${answer.text}`).toContain(answer.status);
  if (fault) {
    await inCore(o, (core) => runTasks(core, Date.now() + 10_000));
  }
  const after = await extentOf(o);
  return after.map((value, i) => value - (before[i] as number));
}

/**
 * As the service would be asked anew by who has lost the answer: what is repeated without a key may be one
 * change more.
 */
const REPEATABLE = new Set([
  'limit a key',
  'narrow an agent',
  'rename the organisation',
  'change a member',
  'change a device',
  'change a policy',
  'change a webhook',
  'view a link',
  'try a passphrase',
]);

it.each(few(Object.keys(changes), 12))(
  'fault: to %s happens exactly once, whatever call fails',
  async (what) => {
    const prepare = changes[what] as (o: Caller) => Promise<Change>;
    const trial = await newOrg();
    const first = await prepare(trial);
    const effect = await make(trial, first);
    const { statements, d1, gate } = faults;
    expect(statements).toBeGreaterThan(3);

    let o = await newOrg();
    let used = 0;
    for (const fault of sampled([...faultsOf({ statements, d1, gate })], 24)) {
      // Well below what a key may ask in a minute.
      if (++used % 60 === 0) o = await newOrg();
      const got = await make(o, await prepare(o), fault);
      if (!REPEATABLE.has(what)) expect(got, fault.what).toEqual(effect);
      expect(await problemOf(o), fault.what).toBe(null);
    }
    expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: true });
  },
);
