// Retention of the audit log: what goes, when, and what has to happen first; the chain stays verifiable from
// the cut.
import { beforeEach, describe, expect, it } from 'vitest';
import { runTasks } from '../../../src/gate/tasks/run';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { ageTo, inCore } from '../../support/gate';
import { append, rowsOf, signWaiting, verify } from '../../support/governance/audit';
import { slow } from '../../support/slow';
import { byMember, newSignedInMember } from '../../support/storage/planted';
import { DAY, HOUR } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, send, useWorld } from '../../support/world';

useWorld();

const start = Date.now();
beforeEach(() => {
  faults.clock = start;
  // Tests run the tasks themselves. An alarm at the end of the last would wait for a runtime that ends.
  faults.isAlarmHeld = true;
});

const archive = (o: Caller) => send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });

/** Appends entries on a day, and moves them into one segment. */
async function segmentOn(o: Caller, day: number, many = 10) {
  faults.clock = start + day * DAY;
  await append(o, many);
  const { head } = (await archive(o)).json;
  await signWaiting(o);
  return head as number;
}

/** Runs retention as often as it wants to on a day. */
const retainOn = async (o: Caller, day: number) => {
  for (let hours = 0; hours < 4; hours++) {
    faults.clock = start + day * DAY + hours * HOUR;
    await inCore(o, (core) => {
      ageTo(core, faults.clock as number);
      return runTasks(core, faults.clock as number);
    });
  }
};

const segments = async (o: Caller) =>
  (await rowsOf<{ last_sequence: number }>('audit_segments', o)).map((row) => row.last_sequence);
const checkpoints = async (o: Caller) =>
  (await rowsOf<{ sequence: number }>('audit_checkpoints', o)).map((row) => row.sequence);
const setTo = (o: Caller, audit_retention_days: number | null) => o.patch('', { audit_retention_days });
const exportOf = async (o: Caller) =>
  (await o.get('/audit-log/export')).text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('audit retention: by default', () => {
  it('segments go after 400 days; the checkpoint at the cut stays, and verify begins there', async () => {
    const o = await newOrg();
    const first = await segmentOn(o, 0);
    const second = await segmentOn(o, 100);
    const third = await segmentOn(o, 300);
    await retainOn(o, 399);
    expect(await segments(o)).toEqual([first, second, third]);
    await retainOn(o, 401);
    expect(await segments(o)).toEqual([second, third]);
    await retainOn(o, 501);
    expect([await segments(o), (await checkpoints(o))[0]]).toEqual([[third], second]);
    const verdict = await verify(o);
    expect(verdict).toMatchObject({ ok: true, checked_from: second + 1, missing: [] });
    const listed = (await o.get('/audit-log?format=ndjson')).text.trim().split('\n');
    expect(JSON.parse(listed.at(-1) as string).sequence).toBe(second + 1);
  });

  it('times in D1 delete nothing, and old segments that reappear in D1 are neither shown nor kept', async () => {
    const o = await newOrg();
    const first = await segmentOn(o, 0);
    await segmentOn(o, 100);
    const [old] = await rowsOf('audit_segments', o);
    await db.prepare('update audit_segments set last_at = 0, first_at = 0 where org_id = ?').bind(o.id).run();
    await retainOn(o, 120);
    expect((await segments(o)).length).toBe(2);
    await retainOn(o, 401);
    expect((await segments(o)).length).toBe(1);
    const columns = Object.keys(old as object);
    const put = `insert into audit_segments (${columns}) values (${columns.map(() => '?')})`;
    await db
      .prepare(put)
      .bind(...Object.values(old as object))
      .run();
    const listed = (await o.get('/audit-log?format=ndjson')).text.trim().split('\n');
    expect(JSON.parse(listed.at(-1) as string).sequence).toBe(first + 1);
    expect((await verify(o)).ok).toBe(true);
    await retainOn(o, 402);
    expect((await segments(o)).length).toBe(1);
  });

  slow('an interrupted run is finished by the next; verify is correct in between', async () => {
    const o = await newOrg();
    const first = await segmentOn(o, 0);
    const second = await segmentOn(o, 300);
    for (const fate of ['before', 'after'] as const) {
      Object.assign(faults, { fail: (kind: string) => (kind === 'batch' ? fate : null) });
      await retainOn(o, 401);
      faults.fail = null;
      expect((await verify(o)).ok).toBe(true);
    }
    await retainOn(o, 402);
    expect([await segments(o), (await checkpoints(o))[0], first < second]).toEqual([[second], first, true]);
  });
});

describe('audit retention: set by the organisation', () => {
  slow('is shown, is 90 to 3,650 days or null, and its change is in the audit log', async () => {
    const o = await newOrg();
    expect((await o.get('')).json.audit_retention_days).toBe(null);
    for (const days of [89, 3651, 90.5, '90']) expect((await setTo(o, days as number)).status).toBe(400);
    expect((await setTo(o, 90)).json.audit_retention_days).toBe(90);
    expect((await setTo(o, null)).json.audit_retention_days).toBe(null);
    expect((await o.patch('', { audit_retention_days: 3650 }, { 'X-Access-Reason': 'the law' })).status).toBe(
      200,
    );
    const reasons = (await o.get('/audit-log?action=org.update&outcome=success')).json.data.map(
      ({ reason }: { reason: string }) => reason,
    );
    expect(reasons).toEqual([
      'audit_retention_days: null to 3650. the law',
      'audit_retention_days: 90 to null',
      'audit_retention_days: null to 90',
    ]);
  });

  it('permission: only an owner, confirmed; org:write is not enough', async () => {
    const o = await newOrg();
    const { o: admin } = await newKey(o, { scopes: ['org:*', 'audit:*'] });
    expect(codeOf(await setTo(admin, 90))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const confirmation = { sequence: 1, hash: 'a'.repeat(64) };
    expect(codeOf(await admin.post('/audit-log/export/confirm', confirmation))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    const { session } = await newSignedInMember(o);
    faults.clock = start + 10 * 60_000;
    const { outcome } = await byMember(o, session, 'org.update', {
      input: { name: null, default_environment: null, audit_retention_days: 90 },
    });
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { code: 'REAUTHENTICATION_REQUIRED' } });
  });

  it('nothing is deleted before its export is confirmed; the export ends with the signed checkpoint at the cut', async () => {
    const o = await newOrg();
    const first = await segmentOn(o, 0);
    const second = await segmentOn(o, 50);
    expect((await setTo(o, 90)).status).toBe(200);
    await retainOn(o, 800);
    expect((await segments(o)).slice(0, 2)).toEqual([first, second]);
    faults.clock = start + 91 * DAY;
    const lines = await exportOf(o);
    expect(lines.slice(0, -1).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: first }, (_, i) => i + 1),
    );
    const { checkpoint } = lines.at(-1);
    const { data } = (await o.get('/audit-log/checkpoints?limit=100')).json;
    expect(data).toContainEqual(checkpoint);
    expect([checkpoint.sequence, checkpoint.hash]).toEqual([first, lines.at(-2).hash]);

    const confirm = (sequence: number, hash: string) =>
      o.post('/audit-log/export/confirm', { sequence, hash });
    expect(codeOf(await confirm(first, 'a'.repeat(64)))).toEqual([409, 'CONFLICT']);
    expect(codeOf(await confirm(first - 1, lines[first - 2].hash))).toEqual([409, 'CONFLICT']);
    const [, later] = await rowsOf('audit_segments', o);
    expect(codeOf(await confirm(second, later?.last_hash as string))).toEqual([409, 'CONFLICT']);
    await retainOn(o, 92);
    expect((await segments(o))[0]).toBe(first);
    faults.clock = start + 93 * DAY;
    for (let again = 0; again < 2; again++)
      expect((await confirm(first, checkpoint.hash)).json).toEqual({
        exported_through: first,
        deleted_through: 0,
      });
    await retainOn(o, 94);
    expect([(await segments(o))[0], (await checkpoints(o))[0]]).toEqual([second, first]);
    expect(await verify(o)).toMatchObject({ ok: true, checked_from: first + 1 });
    // The next export goes on behind the cut.
    faults.clock = start + 141 * DAY;
    expect((await exportOf(o))[0].sequence).toBe(first + 1);
  });

  it('an export of tampered entries fails and has no last line', async () => {
    const o = await newOrg();
    const first = await segmentOn(o, 0);
    await segmentOn(o, 1);
    await setTo(o, 90);
    faults.clock = start + 200 * DAY;
    expect((await exportOf(o)).at(-1)).toHaveProperty('checkpoint');
    await db
      .prepare('delete from audit_segments where org_id = ? and last_sequence = ?')
      .bind(o.id, first)
      .run();
    await expect(exportOf(o)).rejects.toThrow();
  });

  it('an export without its last segment breaks off: it does not end with a checkpoint that it does not reach', async () => {
    const o = await newOrg();
    await segmentOn(o, 0);
    const second = await segmentOn(o, 1);
    await setTo(o, 90);
    faults.clock = start + 200 * DAY;
    await db
      .prepare('delete from audit_segments where org_id = ? and last_sequence = ?')
      .bind(o.id, second)
      .run();
    await expect(exportOf(o)).rejects.toThrow();
  });

  it('an export is empty if nothing is past retention, and needs audit:read without limits', async () => {
    const o = await newOrg();
    await segmentOn(o, 0);
    expect((await o.get('/audit-log/export')).text).toBe('');
    const { o: limited } = await newKey(o, { scopes: ['audit:read'], secrets: ['app/*'] });
    expect(codeOf(await limited.get('/audit-log/export'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });
});

describe('audit log: taken over from a release before', () => {
  slow(
    'gaps recorded by an earlier release become an entry, once; its segments are deleted in time',
    async () => {
      const o = await newOrg();
      const first = await segmentOn(o, 0);
      const second = await segmentOn(o, 100);
      const missing = [{ from: first + 1, to: first + 2, reason: 'restore' as const }];
      // As 0.4.0 left it: no cut, no ends of segments, no checkpoints; a lost stretch that is noted in the
      // gate alone.
      await inCore(o, ({ meta, storage }) => {
        meta.forget('cut');
        meta.set('lost', JSON.stringify(missing));
        storage.sql.exec('delete from segment_ends');
        storage.sql.exec('delete from checkpoints');
      });
      await db.prepare('delete from audit_checkpoints where org_id = ?').bind(o.id).run();
      for (const day of [101, 102]) await retainOn(o, day);
      const told = (await o.get('/audit-log?action=audit.missing')).json.data;
      expect(told.map((entry: { missing: unknown }) => entry.missing)).toEqual([
        missing.map(({ from, reason, to }) => ({ from, reason, to })),
      ]);
      await retainOn(o, 401);
      expect(await segments(o)).toEqual([second]);
      expect(await verify(o)).toMatchObject({ ok: true, checked_from: first + 1 });
    },
  );
});
