// All values of an environment at once: pages from the gate, bounds, and one moment for all that is answered.

import { describe, expect, it, vi } from 'vitest';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newKey } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { slow } from '../../support/slow';
import { type Caller, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const LARGE = 'x'.repeat(65_536);
const VALUES = '/environments/production/values';

/** Secrets named A000, A001, …, each with the largest value there may be. */
async function fill(o: Caller, count: number) {
  for (let from = 0; from < count; from += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, count - from) }, (_, i) =>
        o.post('/secrets', { name: `A${String(from + i).padStart(3, '0')}`, type: 'generic', value: LARGE }),
      ),
    );
}

/** All pages of a read. */
async function pagesOf(o: Caller, query: string) {
  const pages = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, json } = await o.get(`${VALUES}?${query}${cursor && `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    pages.push(json);
    cursor = json.next_cursor;
  }
  return pages;
}

describe('bulk read: all values of an environment', () => {
  slow('takes one gate call for 8 MiB, no D1, and at most 16 MiB an answer or page', async () => {
    const o = await newOrg();
    await fill(o, 256);
    Object.assign(faults, { gate: 0, d1: 0 });
    const all = await o.get(VALUES);
    expect([all.status, Object.keys(all.json.values).length, faults.d1]).toEqual([200, 256, 0]);
    expect(Object.values(all.json.values).every((value) => value === LARGE)).toBe(true);
    expect(faults.gate).toBeGreaterThan(1);
    expect(faults.gate).toBeLessThanOrEqual(4);
    expect((await o.get(VALUES, { 'If-None-Match': all.headers.get('etag') as string })).status).toBe(304);

    await o.post('/secrets', { name: 'ONE_MORE', type: 'generic', value: 'x' });
    const over = await o.get(VALUES);
    expect([over.status, over.json.error.code]).toEqual([422, 'RESULT_TOO_LARGE']);
    const [first, second, ...rest] = await pagesOf(o, 'limit=2000');
    expect([Object.keys(first.values).length, Object.keys(second.values), rest]).toEqual([
      256,
      ['ONE_MORE'],
      [],
    ]);
    expect(Object.keys((await o.get(`${VALUES}?prefix=A0`)).json.values)).toHaveLength(100);
  });

  slow('shows one point in time, also if values change between two pages', async () => {
    const o = await newOrg();
    const first = (await o.post('/secrets', { name: 'A', type: 'generic', value: '0' })).json.id;
    await fill(o, 100);
    const last = (await o.post('/secrets', { name: 'Z', type: 'generic', value: '0' })).json.id;
    let written = false;
    const writing = (async () => {
      for (let i = 1; i <= 8; i++) {
        await o.patch(`/secrets/${first}`, { value: String(i) });
        await o.patch(`/secrets/${last}`, { value: String(i) });
      }
      written = true;
    })();
    let read = 0;
    while (!written) {
      const { status, json } = await o.get(VALUES);
      if (status === 503) continue;
      const a = Number(json.values.A);
      const z = Number(json.values.Z);
      expect(a === z || a === z + 1, `A is ${a} and Z is ${z}`).toBe(true);
      read++;
    }
    await writing;
    expect(read).toBeGreaterThan(0);

    // The second page waits for D1 while the first one's moment passes.
    await inCore(o, (core) => ciphertexts(core).drop(last));
    const { held, release } = holdNext();
    const all = o.get(VALUES);
    await held();
    for (const id of [first, last])
      expect((await o.patch(`/secrets/${id}`, { value: '9' })).status).toBe(200);
    release();
    const { A, Z } = (await all).json.values;
    expect([A, Z]).toEqual(['9', '9']);
  });

  slow(
    'audit log: the entry of each page says what was withheld, even if the set changed between two pages',
    async () => {
      const { o } = await newOffice();
      await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
      const held = (await o.post('/secrets', { name: 'HELD', type: 'generic', value: '0' })).json.id;
      const first = (await o.post('/secrets', { name: 'A', type: 'generic', value: '0' })).json.id;
      await fill(o, 100);
      const last = (await o.post('/secrets', { name: 'Z', type: 'generic', value: '0' })).json.id;
      await inCore(o, (core) => ciphertexts(core).drop(last));
      const call = holdNext();
      const all = o.get(VALUES);
      await call.held();
      expect((await o.patch(`/secrets/${first}`, { value: '1' })).status).toBe(200);
      call.release();
      expect((await all).json.withheld).toEqual(['HELD']);
      const entries = (await o.get('/audit-log?action=secret.read_all')).json.data;
      expect(entries.length).toBeGreaterThan(2);
      expect(entries.at(-1).withheld).toEqual([held]);
      const digests = new Set(entries.map((entry: { withheld_digest?: string }) => entry.withheld_digest));
      expect([...digests]).toEqual([entries.at(-1).withheld_digest]);
    },
  );
});

/** An organisation with these secrets in production, whose values are their names. */
async function orgWith(...names: string[]) {
  const o = await newOrg();
  const ids: Record<string, string> = {};
  for (const name of names) ids[name] = (await newSecret(o, { name, value: name })).id;
  return { o, ids };
}

describe('bulk read: prefixes', () => {
  const NAMES = ['OTHER', 'base/A', 'base/B', 'base/eu/A', 'eu', 'eu/B', 'eu/C'];

  slow('returns the names with any of the prefixes, each once', async () => {
    const { o } = await orgWith(...NAMES);
    const { json } = await o.get(`${VALUES}?prefix=eu/&prefix=base/&prefix=eu/&prefix=base/eu`);
    expect(Object.keys(json.values).sort()).toEqual(['base/A', 'base/B', 'base/eu/A', 'eu/B', 'eu/C']);
    const eleven = Array.from({ length: 11 }, () => 'prefix=a').join('&');
    for (const query of [
      eleven,
      'prefix=a&limit=1&limit=2',
      'strip_prefix=yes',
      'limit=0',
      'limit=2001',
      `prefix=${'a'.repeat(256)}`,
    ])
      expect([query, (await o.get(`${VALUES}?${query}`)).status]).toEqual([query, 400]);
  });

  it('without their prefix, a later one wins, on pages too', async () => {
    const { o } = await orgWith(...NAMES);
    const query = 'prefix=base/&prefix=eu&prefix=eu/&strip_prefix=true';
    const { json } = await o.get(`${VALUES}?${query}`);
    const expected = {
      A: 'base/A',
      'eu/A': 'base/eu/A',
      eu: 'eu',
      '/B': 'eu/B',
      '/C': 'eu/C',
      B: 'eu/B',
      C: 'eu/C',
    };
    expect(json.values).toEqual(expected);
    expect(json.versions).toEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, 1])));
    const pages = await pagesOf(o, `${query}&limit=1`);
    expect(pages.length).toBe(7);
    expect(Object.assign({}, ...pages.map(({ values }) => values))).toEqual(expected);
  });

  slow(
    'a later one that is held, or outside of the caller’s names, is judged by what the caller may read',
    async () => {
      const { o } = await newOffice();
      await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['eu/HELD'] } });
      for (const name of ['base/HELD', 'eu/HELD', 'base/FAR', 'eu/FAR'])
        await newSecret(o, { name, value: name });
      const key = (await newKey(o, { scopes: ['secrets:read'], secrets: ['base/*', 'eu/HELD'] })).o;
      const { json } = await key.get(`${VALUES}?prefix=base/&prefix=eu/&strip_prefix=true`);
      expect([json.values, json.withheld]).toEqual([{ FAR: 'base/FAR' }, ['eu/HELD']]);
    },
  );

  it('audit log: an entry names all prefixes, and a containment report counts each', async () => {
    const { o, ids } = await orgWith('a/1', 'b/1', 'c/1');
    const key = await newKey(o, { scopes: ['secrets:read'] });
    await key.o.get(`${VALUES}?prefix=a/&prefix=b/&limit=1`);
    const [entry] = (await o.get('/audit-log?action=secret.read_all')).json.data;
    expect(entry).toMatchObject({
      prefix: '',
      prefixes: ['a/', 'b/'],
      environment: 'production',
      version: expect.any(Number),
    });
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    const { read } = (await o.post(`/credentials/${key.id}/contain`, {})).json;
    expect(read.map(({ secret_id }: { secret_id: string }) => secret_id).sort()).toEqual(
      [ids['a/1'], ids['b/1']].sort(),
    );
  });
});

describe('bulk read: expiry', () => {
  slow('says when secrets expire, of those that do; another end is another ETag', async () => {
    const { o, ids } = await orgWith('A', 'B');
    const before = await o.get(VALUES);
    expect(before.json).not.toHaveProperty('expires_at');
    expect((await o.patch(`/secrets/${ids.A}`, { ttlSeconds: 3600 })).status).toBe(200);
    const after = await o.get(VALUES, { 'If-None-Match': before.headers.get('etag') as string });
    const { expires_at } = (await o.get(`/secrets?prefix=A`)).json.data[0];
    expect([after.status, after.json.expires_at]).toEqual([200, { A: expires_at }]);
    const [stripped] = await pagesOf(o, 'limit=2');
    expect(stripped?.expires_at).toEqual({ A: expires_at });
  });
});

describe('bulk read: pages', () => {
  slow('show everything once, with an ETag each', async () => {
    const names = Array.from({ length: 7 }, (_, i) => `N${i}`);
    const { o } = await orgWith(...names);
    const pages = await pagesOf(o, 'limit=3');
    expect(pages.map(({ values }) => Object.keys(values))).toEqual([
      names.slice(0, 3),
      names.slice(3, 6),
      names.slice(6),
    ]);
    expect((await pagesOf(o, 'limit=7')).length).toBe(1);
    const first = await o.get(`${VALUES}?limit=3`);
    const headers = { 'If-None-Match': first.headers.get('etag') as string };
    expect((await o.get(`${VALUES}?limit=3`, headers)).status).toBe(304);
    expect((await o.get(`${VALUES}?limit=3&cursor=${first.json.next_cursor}`, headers)).status).toBe(200);
    // A change beyond the first page: its cursor would no longer work.
    await newSecret(o, { name: 'Z' });
    expect((await o.get(`${VALUES}?limit=3`, headers)).status).toBe(200);
  });

  it('are of one revision, else 409; a cursor serves no other read', async () => {
    const { o, ids } = await orgWith('A', 'B', 'C');
    const elsewhere = await newSecret(o, { name: 'A', environment: 'staging' });
    const { next_cursor: cursor } = (await o.get(`${VALUES}?limit=1`)).json;
    const next = (query = '', path = VALUES) =>
      o.get(`${path}?cursor=${cursor}${query}`).then(({ status, json }) => json.error?.code ?? status);
    expect([
      await next(),
      await next('&limit=1'),
      await next('&prefix=A'),
      await next('&strip_prefix=true'),
    ]).toEqual([...[200, 200, 'INVALID_CURSOR', 'INVALID_CURSOR']]);
    expect(await next('', '/environments/staging/values')).toBe('INVALID_CURSOR');
    await o.patch(`/secrets/${elsewhere.id}`, { value: 'another' });
    expect(await next()).toBe(200);
    await o.patch(`/secrets/${ids.A}`, { value: 'another' });
    expect(await next()).toBe('CONFLICT');
  });
});

describe('bulk read: a value that does not open', () => {
  it.each(['ciphertext', 'version'])('is named, and costs no other: an altered %s', async (what) => {
    const { o, ids } = await orgWith('A', 'B', 'C');
    const whole = (await o.get(VALUES)).headers.get('etag') as string;
    const [{ value_sealed: sealed }] = (
      await db
        .prepare('select value_sealed from secret_versions where secret_id = ?')
        .bind(ids.B)
        .all<{ value_sealed: string }>()
    ).results as [{ value_sealed: string }];
    const to = what === 'version' ? "size = size + 1, value_sealed = 'AAAA'" : "value_sealed = 'AAAA'";
    await db.prepare(`update secret_versions set ${to} where secret_id = ?`).bind(ids.B).run();
    await inCore(o, (core) => ciphertexts(core).clear());
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const found = await o.get(VALUES);
    expect([found.status, found.json.values, found.json.unreadable]).toEqual([
      200,
      { A: 'A', C: 'C' },
      ['B'],
    ]);
    const [alarm] = (await o.get('/audit-log?action=integrity.alarm')).json.data;
    expect(alarm).toMatchObject({ resource: ids.B, request_id: found.headers.get('request-id') });
    const one = await o.get(`/secrets/${ids.B}`);
    expect([one.status, one.json.error.code]).toEqual([500, 'INTERNAL']);

    // Its ETag matches nothing, so the repaired value is read.
    const etag = found.headers.get('etag') as string;
    expect((await o.get(VALUES, { 'If-None-Match': etag })).json.unreadable).toEqual(['B']);
    const back = what === 'version' ? 'size = size - 1, ' : '';
    await db
      .prepare(`update secret_versions set ${back}value_sealed = ? where secret_id = ?`)
      .bind(sealed, ids.B)
      .run();
    const repaired = await o.get(VALUES, { 'If-None-Match': etag });
    expect([repaired.status, repaired.json.unreadable, repaired.headers.get('etag')]).toEqual([
      200,
      undefined,
      whole,
    ]);
    vi.restoreAllMocks();
  });

  it('a missing version is named too; by itself it is 500 without a time to retry, and an integrity violation', async () => {
    const { o, ids } = await orgWith('A', 'B', 'C');
    await db.prepare('delete from secret_versions where secret_id = ?').bind(ids.B).run();
    await inCore(o, (core) => ciphertexts(core).clear());
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const found = await o.get(VALUES);
    expect([found.status, found.json.values, found.json.unreadable]).toEqual([
      200,
      { A: 'A', C: 'C' },
      ['B'],
    ]);
    const one = await o.get(`/secrets/${ids.B}`);
    expect([
      one.status,
      one.json.error.code,
      one.json.error.retry_after,
      one.headers.get('retry-after'),
    ]).toEqual([...[500, 'INTERNAL', undefined, null]]);
    const alarms = (await o.get('/audit-log?action=integrity.alarm')).json.data;
    expect(alarms.map(({ resource, reason }: Record<string, string>) => [resource, reason])).toEqual(
      Array.from({ length: 2 }, () => [ids.B, 'versions_missing_or_altered']),
    );
    vi.restoreAllMocks();
  });
});
