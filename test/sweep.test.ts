// Every storage statement, D1 call and gate call of every change fails once before and once after taking effect, and the gate is reset
// there. Afterwards the change, repeated, has taken effect exactly once, and nothing is left half done.
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import type { Gate } from '../src/gate';
import { work } from '../src/gate/work';
import { type Fate, faults, reset } from './faults';
import { problemOf } from './model/whole';
import { type Answer, BOOTSTRAP, type Caller, db, newKey, newOrg, newSecret, newSession, send, useWorld } from './world';

useWorld();

type Change = { send(headers: Record<string, string>): Promise<Answer>; done: number[] };

/** Each change: prepared in an org, then made as often as it takes; the last answer is one of `done`. */
const changes: Record<string, (o: Caller) => Promise<Change>> = {
  'create a secret': async (o) => {
    const body = { name: `n-${++made}`, type: 'generic', value: 'v' };
    return { send: (h) => o.post('/secrets', body, h), done: [201] };
  },
  'change a value': async (o) => change(o, (id) => (h) => o.patch(`/secrets/${id}`, { value: 'second' }, h)),
  'rename a secret': async (o) => change(o, (id) => (h) => o.patch(`/secrets/${id}`, { name: `renamed-${id}` }, h)),
  'rotate to a value': async (o) => change(o, (id) => (h) => o.post(`/secrets/${id}/rotate`, { value: 'second' }, h)),
  'rotate to a generated value': async (o) => change(o, (id) => (h) => o.post(`/secrets/${id}/rotate`, {}, h)),
  'roll back': async (o) => change(o, (id) => (h) => o.post(`/secrets/${id}/rollback`, { version: 1 }, h)),
  'delete a secret': async (o) => change(o, (id) => (h) => o.del(`/secrets/${id}`, undefined, h), [204, 404]),
  'destroy a secret': async (o) => change(o, (id) => (h) => o.del(`/secrets/${id}?permanent=true`, undefined, h), [204, 404]),
  'restore a secret': async (o) => {
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}`);
    return { send: (h) => o.post(`/secrets/${id}/restore`, undefined, h), done: [200] };
  },
  'create a key': async (o) => ({ send: (h) => o.post('/api-keys', { name: 'k', scopes: ['org:read'] }, h), done: [201] }),
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
    await newSecret(key.o, { type: 'password' });
    return { send: (h) => o.post(`/credentials/${key.id}/contain`, { rotate: 'generated' }, h), done: [200] };
  },
  'mint a session token': async (o) => ({ send: (h) => o.post('/access-tokens', { ttlSeconds: 60 }, h), done: [201] }),
  'revoke a session token': async (o) => {
    const { id } = await newSession(o);
    return { send: (h) => o.del(`/access-tokens/${id}`, undefined, h), done: [204] };
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
  'recover the organisation': async (o) => ({
    send: (h) => send('POST', `/api/v1/orgs/${o.id}/recovery`, { token: BOOTSTRAP, body: { reason: 'lost' }, headers: h }),
    done: [201],
  }),
};
let made = 0;

async function change(o: Caller, call: (id: string) => Change['send'], done = [200]): Promise<Change> {
  const { id } = await newSecret(o, { type: 'password', value: 'first' });
  return { send: call(id), done };
}

/** How much there is of everything, and how often it was changed. */
async function extentOf(o: Caller): Promise<number[]> {
  const tables = ['orgs', 'environments', 'members', 'credentials', 'secrets', 'secret_versions'];
  const queries = tables.map((table) =>
    db
      .prepare(
        `select count(*) n, coalesce(sum(${table === 'secret_versions' ? 'version' : 'revision'}), 0) m from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`,
      )
      .bind(o.id),
  );
  const found = await db.batch<{ n: number; m: number }>(queries);
  return found.flatMap(({ results }) => [results[0]?.n ?? 0, results[0]?.m ?? 0]);
}

interface Fault {
  what: string;
  how: Partial<typeof faults>;
}

/** Every way in which one call among so many can fail. */
function* faultsOf(calls: { statements: number; d1: number; gate: number }): Generator<Fault> {
  const fates: Fate[] = ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'];
  for (let n = 1; n <= calls.statements; n++)
    for (const fate of ['before', 'after'] as const)
      yield { what: `statement ${n} fails ${fate}`, how: { storage: (at) => (at === n ? fate : null) } };
  for (let n = 1; n <= calls.d1; n++)
    for (const fate of fates) yield { what: `D1 call ${n}: ${fate}`, how: { fail: (_, at) => (at === n ? fate : null) } };
  for (let n = 1; n <= calls.gate; n++)
    for (const fate of ['before', 'after'] as const)
      for (const retryable of [true, false])
        yield {
          what: `gate call ${n}: ${fate}${retryable ? ', may be repeated' : ''}`,
          how: { rpc: (at) => (at === n ? { fate, retryable } : null) },
        };
}

const unanswered = (answer: Answer) => answer.status === 503 || answer.json?.error?.code === 'IDEMPOTENCY_IN_PROGRESS';

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
    const stub = (env as unknown as { GATE: DurableObjectNamespace }).GATE.getByName(o.id);
    await runInDurableObject(stub, (gate) => work((gate as unknown as Gate).core, o.id, Date.now() + 10_000));
  }
  const after = await extentOf(o);
  return after.map((value, i) => value - (before[i] as number));
}

/** As the service would be asked anew by who has lost the answer: what is repeated without a key may be one change more. */
const REPEATABLE = new Set(['limit a key', 'rename the organisation']);

it.each(Object.keys(changes))('to %s, whatever fails on the way, happens exactly once', async (what) => {
  const prepare = changes[what] as (o: Caller) => Promise<Change>;
  const trial = await newOrg();
  const first = await prepare(trial);
  const effect = await make(trial, first);
  const { statements, d1, gate } = faults;
  expect(statements).toBeGreaterThan(3);

  let o = await newOrg();
  let used = 0;
  for (const fault of faultsOf({ statements, d1, gate })) {
    // Well below what a key may ask in a minute.
    if (++used % 60 === 0) o = await newOrg();
    const got = await make(o, await prepare(o), fault);
    if (!REPEATABLE.has(what)) expect(got, fault.what).toEqual(effect);
    expect(await problemOf(o), fault.what).toBe(null);
  }
  expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: true });
});
