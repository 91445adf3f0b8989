// Reads of the Worker while D1 does not answer: 503 with a time, and a log without statements and values.
import { beforeEach, expect, it, vi } from 'vitest';
import { faults } from '../support/faults';
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
