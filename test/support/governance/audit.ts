// The audit log as tests make it, move it to D1, have its checkpoints signed, and read it.
import { env } from 'cloudflare:workers';
import type { Env } from '../../../src/env';
import { checkpoints } from '../../../src/gate/archive/checkpoints';
import type { Draft, Entry } from '../../../src/gate/audit/entry';
import { runJob } from '../../../src/queue';
import { faults } from '../faults';
import { inCore } from '../gate';
import { type Caller, db } from '../world';

export const draft = (fields: Partial<Draft> = {}): Draft => ({
  actor: { kind: 'api_key', id: 'key_0', parent_id: null, name: null },
  action: 'secret.list',
  resource: null,
  environment: null,
  version: null,
  reason: null,
  request_id: 'req_0',
  ip: '203.0.113.7',
  user_agent: null,
  ...fields,
});

/** Appends many entries at once, made at a time. */
export const append = (
  o: Caller,
  many: number,
  fields: (n: number) => Partial<Draft> = () => ({}),
  at = faults.clock ?? Date.now(),
) =>
  inCore(o, ({ storage, auditLog }) =>
    storage.transactionSync(() => {
      for (let n = 0; n < many; n++) auditLog.append(draft(fields(n)), 200, at);
    }),
  );

/** Does the job of a queue message, as a Worker that shares nothing with the test. */
export const signWaiting = (o: Caller) =>
  runJob(env as unknown as Env, { kind: 'job', job: 'checkpoint', org: o.id });

/** Has the head of the log signed. */
export async function checkpoint(o: Caller): Promise<void> {
  await inCore(o, (core) => checkpoints(core).want({ ...core.auditLog.head(), time: core.now() }));
  await signWaiting(o);
}

export const rowsOf = async <T = Record<string, string | number>>(
  table: 'audit_checkpoints' | 'audit_segments',
  o: Caller,
  order = 1,
) =>
  (await db.prepare(`select * from ${table} where org_id = ? order by ${order}`).bind(o.id).all<T>()).results;

/** All of the log, in parts, as the API says; stops at the first fault. */
export async function verify(o: Caller) {
  const missing: unknown[] = [];
  let checkpoints = 0;
  let first = 0;
  for (let cursor = ''; ; ) {
    const { json } = await o.get(`/audit-log/verify${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
    missing.push(...(json.missing ?? []));
    checkpoints += json.checkpoints;
    first ||= json.checked_from;
    if (!json.ok || json.next === null) return { ...json, checked_from: first, missing, checkpoints };
    cursor = json.next;
  }
}

/** The export of the whole log, newest first. */
export const exported = async (o: Caller): Promise<Entry[]> =>
  (await o.get('/audit-log?format=ndjson')).text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
