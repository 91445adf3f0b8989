// Reads of the Worker while D1 does not answer: 503 with a time, and a log without statements and values.
import { beforeEach, expect, it, vi } from 'vitest';
import { faults } from '../support/faults';
import { evict, inGate } from '../support/gate';
import { BOOTSTRAP, type Caller, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

let logged: string[] = [];
beforeEach(() => {
  logged = [];
  vi.restoreAllMocks();
  for (const level of ['log', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line) => void logged.push(String(line)));
});

const audit = (o: Caller, path: string) => o.get(`/audit-log${path}`);

it.each<
  [
    string,
    (o: Caller) => Promise<{ status: number; json: { error?: { code: string; retry_after?: number } } }>,
  ]
>([
  ['the list of organisations', () => send('GET', '/api/v1/orgs', { token: BOOTSTRAP })],
  ['the audit log', (o) => audit(o, '?limit=100')],
  ['its check', (o) => audit(o, '/verify')],
  ['its checkpoints', (o) => audit(o, '/checkpoints')],
  ['its lines', (o) => audit(o, '?format=ndjson')],
  ['events', (o) => o.get('/events?after=0')],
  ['published keys', () => send('GET', '/.well-known/jwks.json')],
])('unavailable: %s is 503 with a time, and the log names no statement', async (_what, read) => {
  const o = await newOrg();
  await newSecret(o);
  await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP, body: {} });
  await o.get('');
  faults.fail = () => 'before';
  const { status, json } = await read(o);
  faults.fail = null;
  // What needs no D1 is answered.
  if (status !== 200)
    expect([status, json.error?.code, (json.error?.retry_after ?? 0) > 0]).toEqual([
      503,
      'UNAVAILABLE',
      true,
    ]);
  expect(logged.join('\n')).not.toMatch(/Failed query|params|select /i);
});

it('gate of the deployment: while it is broken, POST /orgs with an Idempotency-Key is 503, and the log names it', async () => {
  const DEPLOYMENT = { id: 'deployment' } as Caller;
  const inStorage = (sql: string) =>
    inGate(DEPLOYMENT, (_gate, { storage }) => void storage.sql.exec(sql)).then(() => evict(DEPLOYMENT));
  const create = (key: string) =>
    send('POST', '/api/v1/orgs', {
      token: BOOTSTRAP,
      body: { name: 'Acme', owner: { email: 'you@example.com', name: 'You' } },
      headers: { 'Idempotency-Key': key },
    });
  await inStorage('alter table meta rename to lost; create table meta (other text)');
  const refused = await create('one');
  await inStorage('drop table meta; alter table lost rename to meta');
  expect([refused.status, refused.json.error.code]).toEqual([503, 'UNAVAILABLE']);
  expect(logged.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 'error', event: 'gate_unreachable', org: 'deployment' }),
  );
  expect((await create('one')).status).toBe(201);
});
