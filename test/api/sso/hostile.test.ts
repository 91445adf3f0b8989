// A hostile identity provider and a hostile SCIM client, alone. They speak of members whom people made,
// invited, suspended or removed, and of those whom they made. They reach no action that needs an owner, and
// what a policy holds waits. The walk goes over every route of an action that needs a person, a confirmation
// or an approval, so that a route that comes later is walked too.
import { afterEach, expect, it, vi } from 'vitest';
import { routes } from '../../../src/domains';
import { API } from '../../../src/http/route';
import { bodies } from '../../support/bodies';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newApprovalPolicy, settle } from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { newIdp, newUser, person } from '../../support/signin/scim';
import { type Claims, claimsOf, connected, enrolled, newSsoBrowser } from '../../support/signin/sso-signin';
import { few } from '../../support/slow';
import { newSecret, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const VALUE = 'held-value-4711';
const HELD = ['secret.read', 'secret.update', 'secret.rotate', 'secret.delete', 'secret.share'];
const GUARDED = [...HELD, 'policy.change', 'team.change', 'member.change', 'break_glass.create'];

/** The routes of actions that need a person, a confirmation or an approval. */
const walked = routes.filter(
  ({ public: isOpen, need, path }) =>
    !isOpen &&
    !path.startsWith('/deployment') &&
    (need.owner || need.fresh || need.held || need.inBrowser || need.kinds.join() === 'member'),
);

/** An organisation whose connection gives the most that one can, with one member of each kind. */
async function newTown() {
  const world = await connected({ jit: 1, default_role: 'admin' });
  const { o, at, connection } = world;
  const idp = await newIdp(o, { connection_id: connection });
  const bare = await newIdp(o);
  const boss = await enrolled(o, at('boss'), 'owner');
  const chief = await newMember(o, 'owner', { email: at('chief') });
  const dev = await enrolled(o, at('dev'), 'admin');
  const invited = await newMember(o, 'admin', { email: at('invited') });
  const made = await newUser(idp, { userName: at('made'), emails: [{ value: at('made') }] });
  const suspended = await newMember(o, 'admin', { email: at('suspended') });
  expect((await o.post(`/members/${suspended.id}/suspend`, {})).status).toBe(200);
  const removed = await newMember(o, 'admin', { email: at('removed') });
  expect((await o.del(`/members/${removed.id}`)).status).toBe(200);
  const secret = await newSecret(o, { name: 'held/db', type: 'password', value: VALUE });
  const team = await newTeam(o, dev.id);
  await settle(o);
  const policy = await newApprovalPolicy(o, GUARDED, { config: { approvers: { role: 'admin' } } });
  const ids = { boss: boss.id, chief: chief.id, dev: dev.id, invited: invited.id, made: made.id };
  return { ...world, idp, bare, ids: { ...ids, suspended: suspended.id }, secret: secret.id, team, policy };
}
type Town = Awaited<ReturnType<typeof newTown>>;

/** What the hostile side must not change. */
const stateOf = ({ o, policy, secret, ids, connection }: Town) =>
  inCore(o, ({ rows }) => ({
    policy: rows.get('policy', policy)?.revision,
    secret: rows.get('secret', secret)?.revision,
    deleted: rows.get('org', o.id)?.deleted_at,
    owners: rows
      .within('member', '')
      .flatMap(({ id, role }) => (role === 'owner' ? [id] : []))
      .sort(),
    passkeys: [ids.boss, ids.dev].map((id) => rows.within('passkey', id).length),
    suspended: rows.get('member', ids.suspended)?.suspended_at,
    links: [ids.boss, ids.chief, ids.dev, ids.suspended].map((id) => rows.within('sso_link', id).length),
    connection: JSON.stringify(rows.get('sso_connection', connection)?.config),
    tokens: rows.within('credential', 'scim').length,
  }));

/** SCIM says of everybody what it can. */
async function provision({ idp, bare, ids, at }: Town) {
  for (const client of [idp, bare]) {
    for (const [name, id] of Object.entries(ids)) {
      await client.patch(`/Users/${id}`, { op: 'replace', value: { active: true } });
      const change = person({
        userName: at(name),
        emails: [{ value: at(name) }],
        roles: [{ value: 'owner' }],
      });
      await client.put(`/Users/${id}`, { ...change, active: true });
      await client.patch(`/Users/${id}`, { op: 'replace', path: 'emails', value: [{ value: at('eve') }] });
    }
    const removed = person({ userName: at('removed'), emails: [{ value: at('removed') }] });
    expect((await client.post('/Users', removed)).status).toBe(409);
    const members = Object.values(ids).map((value) => ({ value }));
    await client.post('/Groups', { displayName: `g-${client.id}`, members });
  }
}

/** Signs in as everybody, and confirms what can be confirmed; answers the sessions by name. */
async function enter({ provider, at }: Town, names: string[]): Promise<Record<string, string>> {
  const sessions: Record<string, string> = {};
  for (const name of names) {
    const browser = newSsoBrowser();
    const claims: Claims = claimsOf(at(name), { groups: ['admins', 'owners'] });
    await browser.signIn(provider, claims);
    if ((await browser.refresh()).status !== 200) continue;
    const started = await browser.start(
      { confirm: true, return_to: '/console' },
      { Authorization: `Bearer ${browser.token}` },
    );
    if (started.status === 200) {
      const auth_time = Math.floor(Date.now() / 1000);
      await browser.callback(provider.authorize(started.json.url, { ...claims, auth_time }));
      await browser.refresh();
    }
    sessions[name] = browser.token;
  }
  return sessions;
}

/** The path of a route, with what the hostile side is after. */
function pathOf({ o, ids, secret, team, policy, connection }: Town, path: string): string {
  const byCollection: Record<string, string> = {
    members: ids.boss,
    teams: team,
    policies: policy,
    'sso-connections': connection,
  };
  return path
    .replace('{org_id}', o.id)
    .replace('{name}', 'held/db')
    .replace('{environment}', 'production')
    .replace(/([a-z-]+)\/\{id\}/, (_, one: string) => `${one}/${byCollection[one] ?? secret}`)
    .replace(/\{\w+\}/, ids.dev);
}

it('single sign-on: a hostile provider and SCIM client reach nothing that needs an owner or a second person', async () => {
  const town = await newTown();
  const before = await stateOf(town);
  await provision(town);
  const names = ['boss', 'chief', 'dev', 'invited', 'made', 'suspended', 'removed', 'eve', 'mallory'];
  const sessions = await enter(town, names);
  // The others need a passkey, or were suspended or removed by a person.
  expect(Object.keys(sessions)).toEqual(['invited', 'made', 'eve', 'mallory']);
  const tokens = { ...sessions, idp: town.idp.token, bare: town.bare.token };
  const approvals = new Set<string>();
  let sent = 0;
  for (const [n, { method, path, need, action }] of walked.entries()) {
    // In npm test, one session a route, in turn.
    const entered = Object.keys(sessions);
    const inTurn = few([...entered.slice(n % entered.length), ...entered.slice(0, n % entered.length)], 1);
    const callers = Object.entries(tokens).filter(
      ([name]) => name === 'idp' || name === 'bare' || inTurn.includes(name),
    );
    for (const [name, token] of callers) {
      if (++sent % 50 === 0) faults.clock = (faults.clock ?? Date.now()) + 60_000;
      const answer = await send(method.toUpperCase(), `${API}${pathOf(town, path)}`, {
        token,
        body: bodies[`${method.toUpperCase()} ${path}`],
      });
      const what = `${name}: ${method} ${path} (${action}): ${answer.status} ${answer.text.slice(0, 200)}`;
      expect(answer.text, what).not.toContain(VALUE);
      if (need.owner || name === 'idp' || name === 'bare')
        expect(answer.status, what).toBeGreaterThanOrEqual(400);
      const id = answer.json?.error?.approval?.id;
      if (id) approvals.add(id);
    }
  }
  expect(approvals.size).toBeGreaterThan(3);
  for (const id of approvals)
    for (const token of Object.values(tokens)) {
      const answer = await send('POST', `${API}/orgs/${town.o.id}/approvals/${id}/approve`, {
        token,
        body: {},
      });
      expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
    }
  expect(await stateOf(town)).toEqual(before);
  const rows = await inCore(town.o, (core) => core.rows.within('member', ''));
  expect(rows.map(({ email }) => email)).not.toContain(town.at('removed'));
}, 120_000);
