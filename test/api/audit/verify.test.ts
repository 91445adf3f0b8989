// Verify, where somebody who can write the database has tampered with the audit log or its checkpoints: each
// way is found.
import { exports } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../../src/crypto/bytes';
import { gunzip, gzip } from '../../../src/crypto/gzip';
import { hashOf } from '../../../src/gate/audit/chain';
import type { Entry } from '../../../src/gate/audit/entry';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { append, checkpoint, exported, rowsOf, signWaiting, verify } from '../../support/governance/audit';
import { slow } from '../../support/slow';
import { moveLog } from '../../support/storage/planted';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const run = (sql: string, ...params: unknown[]) =>
  db
    .prepare(sql)
    .bind(...params)
    .run();
type Row = Record<string, string | number>;
const put = (table: string, row: Row) =>
  run(
    `insert or replace into ${table} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
    ...Object.values(row),
  );

/**
 * An organisation whose log lies in three segments of D1, with a checkpoint at the end of each, and a few
 * entries in the gate.
 */
async function newLog() {
  const o = await newOrg();
  const ends: number[] = [];
  for (let n = 0; n < 3; n++) {
    await append(o, 20);
    ends.push((await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP })).json.head);
  }
  await checkpoint(o);
  return { o, ends: ends as [number, number, number] };
}

const broken = async (o: Caller) => {
  const { ok, broken } = await verify(o);
  return ok ? null : [broken.sequence, broken.reason];
};

/** Rewrites a segment with right hashes, from an entry on. */
async function rewrite(o: Caller, last: number, change: (entry: Entry) => Entry) {
  const row = (await rowsOf('audit_segments', o)).find(({ last_sequence }) => last_sequence === last) as Row;
  const entries = JSON.parse(
    fromUtf8(await gunzip(fromBase64(row.entries as string) as Uint8Array)) as string,
  ) as Entry[];
  let prev = row.prev_hash as string;
  const changed = entries.map((entry) => {
    const next = { ...change(entry), prev_hash: prev };
    prev = hashOf(next) as string;
    return { ...next, hash: prev };
  });
  await put('audit_segments', {
    ...row,
    last_hash: prev,
    entries: toBase64(await gzip(utf8(JSON.stringify(changed)))),
  });
}

describe('audit verify: checkpoints', () => {
  it('agree with a log that is whole, and are counted', async () => {
    const { o, ends } = await newLog();
    expect(await verify(o)).toMatchObject({ ok: true, checkpoints: 4, checked_from: 1, missing: [] });
    expect((await rowsOf('audit_checkpoints', o)).slice(0, 3).map(({ sequence }) => sequence)).toEqual(ends);
  });

  it('that were altered in any column, forged or deleted are found', async () => {
    const { o, ends } = await newLog();
    const [, row] = (await rowsOf('audit_checkpoints', o)) as [Row, Row];
    for (const [column, value] of [
      ['hash', 'a'.repeat(64)],
      ['time', (row.time as number) + 1],
      ['time', 9e18],
      ['key_id', 'other'],
      ['signature', toBase64(new Uint8Array(64))],
      ['signature', 'not base64'],
    ] as const) {
      await put('audit_checkpoints', { ...row, [column]: value });
      expect([column, await broken(o)]).toEqual([column, [ends[1], 'checkpoint_altered']]);
    }
    await put('audit_checkpoints', row);
    await put('audit_checkpoints', { ...row, sequence: 5 });
    expect(await broken(o)).toEqual([5, 'checkpoint_altered']);
    await run('delete from audit_checkpoints where org_id = ? and sequence = 5', o.id);
    expect(await broken(o)).toBe(null);
    await run('delete from audit_checkpoints where org_id = ? and sequence = ?', o.id, ends[1]);
    expect(await broken(o)).toEqual([ends[1], 'checkpoint_missing']);
    await run('delete from audit_checkpoints where org_id = ?', o.id);
    expect(await broken(o)).toEqual([ends[0], 'checkpoint_missing']);
  });

  slow('of another organisation, put in its place, is found', async () => {
    const { o, ends } = await newLog();
    const other = await newLog();
    const [foreign] = (await rowsOf('audit_checkpoints', other.o)) as [Row];
    await put('audit_checkpoints', { ...foreign, org_id: o.id });
    expect(await broken(o)).toEqual([ends[0], 'checkpoint_altered']);
  });

  it('find a log that was rewritten with right hashes, at the entry that was signed', async () => {
    const { o, ends } = await newLog();
    await rewrite(o, ends[0], (entry) =>
      entry.sequence === 3 ? { ...entry, action: 'nothing.happened' } : entry,
    );
    expect(await broken(o)).toEqual([ends[0], 'checkpoint_differs']);
  });
});

describe('audit verify: entries in the database', () => {
  const tampered = async (change: (entries: Entry[]) => Entry[]) => {
    const { o, ends } = await newLog();
    const row = (await rowsOf('audit_segments', o))[1] as Row;
    const entries = JSON.parse(
      fromUtf8(await gunzip(fromBase64(row.entries as string) as Uint8Array)) as string,
    ) as Entry[];
    await put('audit_segments', {
      ...row,
      entries: toBase64(await gzip(utf8(JSON.stringify(change(entries))))),
    });
    return [(await broken(o)) as [number, string], ends[0]] as const;
  };
  const at = (n: number, change: (entry: Entry) => Entry) => (entries: Entry[]) =>
    entries.map((entry, i) => (i === n ? change(entry) : entry));

  it.each([
    ['altered', at(3, (entry) => ({ ...entry, action: 'nothing.happened' })), 4],
    ['altered, without the mark of its format', at(3, ({ format: _, ...entry }) => entry), 4],
    ['altered, with an unknown format', at(3, (entry) => ({ ...entry, format: 3 })), 4],
    ['removed', (entries: Entry[]) => entries.toSpliced(3, 1), 5],
    ['duplicated', (entries: Entry[]) => entries.toSpliced(3, 0, entries[3] as Entry), 4],
    ['reordered', (entries: Entry[]) => entries.toSpliced(3, 2, entries[4] as Entry, entries[3] as Entry), 5],
    ['cut off', (entries: Entry[]) => entries.slice(0, 10), null],
  ])('%s: is found', async (_, change, place) => {
    const [[sequence, reason], before] = await tampered(change);
    // What was cut off at the end of a segment is missed by the first entry of the next.
    expect([sequence - before, reason]).toEqual([place ?? sequence - before, 'entry']);
  });

  it('the oldest segment, or all of them, deleted: is found', async () => {
    const { o, ends } = await newLog();
    await run('delete from audit_segments where org_id = ? and last_sequence = ?', o.id, ends[0]);
    expect(await broken(o)).toEqual([ends[0] + 1, 'entry']);
    await run('delete from audit_segments where org_id = ?', o.id);
    expect(await broken(o)).not.toBe(null);
  });

  it('a deleted oldest segment of a gate that began again is found', async () => {
    const { o, ends } = await newLog();
    await loseStorage(o);
    expect((await verify(o)).ok).toBe(true);
    await run('delete from audit_segments where org_id = ? and last_sequence = ?', o.id, ends[0]);
    expect(await broken(o)).toEqual([ends[0] + 1, 'entry']);
  });

  it('the newest segments deleted, and the gate lost: the gap is reported, checkpoints confirm it, and no sequence is reused', async () => {
    const { o, ends } = await newLog();
    const newest = (await rowsOf('audit_checkpoints', o)).at(-1)?.sequence as number;
    await run('delete from audit_segments where org_id = ? and last_sequence > ?', o.id, ends[0]);
    await loseStorage(o);
    const verdict = await verify(o);
    expect(verdict).toMatchObject({ ok: true, checkpoints: 1 });
    expect(verdict.missing).toEqual([
      { from: ends[0] + 1, to: expect.any(Number), reason: 'gate_lost', confirmed_through: newest },
    ]);
    expect(verdict.missing[0].to).toBe(newest + 110_000);
    // For whoever reads the log without the service, an entry says so.
    const told = (await exported(o)).filter(({ missing }) => missing);
    expect(told.map(({ missing }) => missing)).toEqual([
      [{ from: ends[0] + 1, reason: 'gate_lost', to: verdict.missing[0].to }],
    ]);
  });

  it('a gate lost again before its entries moved: no sequence is reused, and each gap is reported', async () => {
    const { o } = await newLog();
    await loseStorage(o);
    await verify(o);
    const used = await inCore(o, ({ auditLog }) => auditLog.head().sequence);
    await loseStorage(o);
    const { ok, missing } = await verify(o);
    expect([ok, missing.map(({ reason }: { reason: string }) => reason)]).toEqual([
      true,
      ['gate_lost', 'gate_lost'],
    ]);
    expect(missing[1].to).toBeGreaterThan(used);
  });

  it("entries deleted from the gate's log: a checkpoint is ahead of them, and later contradicts entries with their sequences", async () => {
    const { o } = await newLog();
    await append(o, 5);
    await checkpoint(o);
    const signed = (await rowsOf('audit_checkpoints', o)).at(-1)?.sequence as number;
    await append(o, 2);
    await inCore(
      o,
      ({ storage }) => storage.sql.exec('delete from audit where sequence >= ?', signed - 3).rowsWritten,
    );
    await evict(o);
    expect((await broken(o))?.[1]).toBe('cut_off');
    await append(o, 5);
    expect(await broken(o)).toEqual([signed, 'checkpoint_differs']);
  });
});

describe('audit log: canonical JSON, filters and views', () => {
  it('an entry is hashed over its canonical JSON, with the fields of approvals and break-glass', async () => {
    const o = await newOrg();
    await append(o, 1, () => ({
      approval: 'apr_1',
      bypassed_policies: ['pol_1', 'pol_2'],
      reason: 'ü "\\" \u{1f600}',
    }));
    await newSecret(o);
    for (const entry of await exported(o)) expect([entry.format, entry.hash]).toEqual([2, hashOf(entry)]);
    const stored = await inCore(o, ({ storage }) =>
      storage.sql.exec<{ body: string }>('select body from audit').toArray(),
    );
    // What is stored is the text that was hashed, and the hash behind it.
    for (const { body } of stored) {
      const { hash, ...entry } = JSON.parse(body);
      expect(body).toBe(
        `${JSON.stringify(entry, Object.keys(entry).sort().concat(['id', 'kind', 'name', 'parent_id'])).slice(0, -1)},"hash":"${hash}"}`,
      );
    }
    expect((await exported(o)).find(({ approval }) => approval)).toMatchObject({
      approval: 'apr_1',
      bypassed_policies: ['pol_1', 'pol_2'],
    });
  });

  it('entries of an earlier release stay verifiable together with new ones, in the gate and in D1', async () => {
    const o = await newOrg();
    // As release 0.4.0 wrote them: in the order of its fields, without a mark.
    await inCore(o, ({ storage, auditLog }) => {
      const { sequence, hash } = auditLog.head();
      const entry = {
        id: 'aud_old',
        sequence: sequence + 1,
        time: new Date().toISOString(),
        actor: { kind: 'api_key', id: 'k', parent_id: null, name: 'n' },
      };
      const rest = {
        action: 'secret.list',
        resource: null,
        outcome: 'success',
        status: 200,
        count: 1,
        emergency: false,
        prev_hash: hash,
      };
      const old = { ...entry, ...rest } as unknown as Entry;
      const made = hashOf(old) as string;
      const body = JSON.stringify({ ...old, hash: made });
      storage.sql.exec(
        'insert into audit values (?, ?, ?, null, ?, null, ?, ?)',
        old.sequence,
        Date.now(),
        'k',
        old.action,
        'success',
        body,
      );
      auditLog.begin(old.sequence, made);
    });
    await inCore(o, ({ meta }) => meta.set('oldest', '1'));

    await evict(o);
    await append(o, 5);
    expect(await verify(o)).toMatchObject({ ok: true, checked_from: 1 });
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    await signWaiting(o);
    expect(await verify(o)).toMatchObject({ ok: true, checked_from: 1 });
  });

  slow('a stream of many segments reads one at a time, and only as the receiver consumes them', async () => {
    const o = await newOrg();
    for (let n = 0; n < 6; n++) {
      await append(o, 1000);
      await moveLog(o, 1000);
    }
    let reads = 0;
    faults.bound = (sql, params) => {
      if (sql.includes('from "audit_segments"') && params.includes(o.id)) reads++;
    };
    const response = await exports.default.fetch(
      `http://localhost/api/v1/orgs/${o.id}/audit-log?format=ndjson`,
      {
        headers: { Authorization: `Bearer ${o.token}` },
      },
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    let largest = 0;
    for (let chunks = 0; ; chunks++) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
      largest = Math.max(largest, value.length);
      if (chunks > 0) continue;
      await scheduler.wait(300);
      // What waits for its receiver, and the part after it: two segments each at most.
      expect(reads).toBeGreaterThan(0);
      expect(reads).toBeLessThan(8);
    }
    const sequences = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).sequence);
    expect(sequences).toEqual(Array.from({ length: sequences.length }, (_, n) => sequences.length - n));
    expect(sequences.length).toBeGreaterThan(6000);
    expect(largest).toBeLessThan(2 * 1024 * 1024);
    const [statement] = [...faults.asked.keys()].filter((sql) => sql.includes('from "audit_segments"'));
    expect(statement).toMatch(/limit \?$/);
  });

  it('filters combine: actor, action, resource, outcome, from and to, in the gate and in D1, as pages and as a stream', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const other = await newSecret(o);
    const key = await newKey(o);
    for (const secret of [id, other.id])
      for (const caller of [o, key.o]) for (let n = 0; n < 2; n++) await caller.get(`/secrets/${secret}`);
    await key.o.get(`/secrets/${id}?version=9`);
    const all = await exported(o);
    const wanted = all.filter(
      (entry) => entry.actor.id === key.id && entry.resource === id && entry.outcome === 'success',
    );
    expect(wanted.length).toBe(2);
    const [newest, oldest] = wanted as [Entry, Entry];
    const query = `actor=${key.id}&action=secret.read&resource=${id}&outcome=success&from=${oldest.time}&to=${new Date(Date.parse(newest.time) + 1).toISOString()}`;
    for (let place = 0; place < 2; place++) {
      expect((await o.get(`/audit-log?${query}`)).json.data).toEqual(wanted);
      expect((await o.get(`/audit-log?${query}&format=ndjson`)).text).toBe(
        wanted.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
      );
      expect((await o.get(`/audit-log?${query.replace('success', 'failed')}`)).json.data).toEqual([]);
      const several = query.replace('secret.read', 'secret.delete,secret.read');
      expect((await o.get(`/audit-log?${several}`)).json.data).toEqual(wanted);
      expect(
        (await o.get(`/audit-log?${query.replace('secret.read', 'secret.delete,secret.list')}`)).json.data,
      ).toEqual([]);
      await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    }
    expect((await o.get(`/audit-log?action=${Array(201).fill('a').join(',')}`)).status).toBe(400);
  });
});
