// /healthz over a database that has lost or altered rows which the gates have, or the row of an organisation.

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { wrap } from '../../src/keys/keyring';
import { faults } from '../support/faults';
import { inCore, inGate, loseStorage, runTasksLater } from '../support/gate';
import { slow } from '../support/slow';
import { healthz, lines, schedule, useHealth, verdict } from '../support/storage/health';
import { HOUR } from '../support/time';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send } from '../support/world';

useHealth();

describe('health: the row of an organisation', () => {
  slow('is degraded while the database lacks the row of an organisation that has a key', async () => {
    const o = await newOrg();
    const row = await db
      .prepare('select * from orgs where id = ?')
      .bind(o.id)
      .first<Record<string, unknown>>();
    await db.prepare('delete from orgs where id = ?').bind(o.id).run();
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['organisation_rows']]);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'org_row_missing', org: o.id }));
    const columns = Object.keys(row as object);
    const put = `insert into orgs (${columns}) values (${columns.map(() => '?')})`;
    await db
      .prepare(put)
      .bind(...Object.values(row as object))
      .run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

describe('health: organisations that the database had', () => {
  const adopt = (o: Caller) =>
    send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'it is this one' } });
  const ALL = ['orgs', 'org_keys', 'fences', 'environments', 'members', 'credentials', 'commits'];
  /** Takes what D1 has of an organisation away. Returns how to put it back. */
  async function takeAway(o: Caller, tables = ALL) {
    const owner = (table: string) => (table === 'orgs' ? 'id' : 'org_id');
    const taken = await Promise.all(
      tables.map((table) =>
        db
          .prepare(`select * from ${table} where ${owner(table)} = ?`)
          .bind(o.id)
          .all(),
      ),
    );
    await db.batch(
      tables.map((table) => db.prepare(`delete from ${table} where ${owner(table)} = ?`).bind(o.id)),
    );
    const puts = taken.flatMap(({ results }, at) =>
      results.map((row) =>
        db
          .prepare(
            `insert into ${tables[at]} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
          )
          .bind(...Object.values(row)),
      ),
    );
    return () => db.batch(puts);
  }

  slow(
    'is down with the database of another vault that has the same master keys, until the right one is back',
    async () => {
      const mine = [await newOrg(), await newOrg()];
      await schedule();
      // An organisation of the other vault: no gate of this one knows it.
      const other = await newOrg();
      await loseStorage(other);
      const putBack = await Promise.all(mine.map((o) => takeAway(o)));
      await schedule();
      const { text, ...found } = await healthz();
      expect([found.status, found.failing]).toEqual([503, ['organisation_rows']]);
      expect(text).toContain('2 organisations that it had');
      for (const o of mine) {
        expect(text).not.toContain(o.id);
        expect(lines()).toContainEqual(expect.objectContaining({ event: 'org_row_missing', org: o.id }));
      }
      // It is still told after a restart, and in later runs.
      await schedule(2);
      expect(await verdict()).toEqual([503, 'down', ['organisation_rows']]);
      for (const put of putBack) await put();
      await schedule();
      expect(await verdict()).toEqual([200, 'ok', []]);
    },
  );

  it('is down with the deployment key of another vault, until the right one is back or the database is adopted', async () => {
    const o = await newOrg();
    await schedule();
    const put = ({ master_id, key_sealed }: { master_id: string; key_sealed: string }) =>
      db
        .prepare('update deployment_keys set master_id = ?, key_sealed = ?')
        .bind(master_id, key_sealed)
        .run();
    const own = (await db.prepare('select * from deployment_keys').first()) as Parameters<typeof put>[0];
    const { MASTER_KEYS } = env as unknown as { MASTER_KEYS: string };
    const [id = '', key = ''] = MASTER_KEYS.split(',')[0]?.split(':') ?? [];
    const master = { id, key: new Uint8Array(Buffer.from(key, 'base64')) };
    const other = wrap([master], 'deployment key', 'deployment', new Uint8Array(32).fill(7));
    for (const after of ['before', 'after'] as const) {
      await put(other);
      if (after === 'after') await schedule();
      const { text, ...found } = await healthz();
      expect([after, found.status, found.failing]).toEqual([after, 503, ['organisations']]);
      expect(text).toContain('that of another vault');
      await put(own);
      expect(await verdict()).toEqual([200, 'ok', []]);
    }
    await put(other);
    faults.isolate++;
    expect((await adopt(o)).status).toBe(200);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    await put(own);
  });

  it('is down without any organisation, although the deployment key is there', async () => {
    const o = await newOrg();
    await schedule();
    await takeAway(o);
    await schedule();
    expect(await verdict()).toEqual([503, 'down', ['organisation_rows']]);
  });

  slow('is degraded without one, until the database is adopted', async () => {
    const o = await newOrg();
    const stays = await newOrg();
    await schedule();
    await takeAway(o);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['organisation_rows']]);
    expect((await adopt(stays)).status).toBe(200);
    expect(await verdict()).toEqual([200, 'ok', []]);
    await schedule(2);
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  slow('is ok after one was deleted, and after its gate was lost too', async () => {
    const deleted = await newOrg();
    const lost = await newOrg();
    await newOrg();
    await schedule();
    expect((await deleted.del('', { confirm: (await deleted.get('')).json.name })).status).toBe(204);
    await takeAway(lost);
    await loseStorage(lost);
    await schedule(2);
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  slow('has its row written back by its gate when it adopts the database', async () => {
    const o = await newOrg();
    await schedule();
    await takeAway(o, ['orgs']);
    await schedule();
    const { text } = await healthz();
    expect(text).toContain('npm run restore -- --adopt --only ORG');
    expect((await adopt(o)).status).toBe(200);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

it('health: the gate tells each hour of an organisation that D1 has lost with its key', async () => {
  const o = await newOrg();
  await runTasksLater(o, 2 * HOUR);
  expect(lines().map(({ event }) => event)).not.toContain('org_row_missing');
  await db.batch([
    db.prepare('delete from orgs where id = ?').bind(o.id),
    db.prepare('delete from org_keys where org_id = ?').bind(o.id),
  ]);
  await runTasksLater(o, 4 * HOUR);
  expect(lines()).toContainEqual(expect.objectContaining({ event: 'org_row_missing', org: o.id }));
});

describe('health: rows that D1 and a gate do not both have', () => {
  const told = (o: Caller) =>
    lines().filter(({ event, org }) => event === 'rows_differ' && org === o.id) as unknown as {
      rows: string[];
    }[];
  const key = (o: Caller, name: string) => o.post('/api-keys', { name, scopes: ['secrets:read'] });
  /** A row of a table, and how to put it back. */
  async function take(table: string, where: string, ...values: string[]) {
    const row = (await db
      .prepare(`select * from ${table} where ${where}`)
      .bind(...values)
      .first()) as Record<string, unknown>;
    await db
      .prepare(`delete from ${table} where ${where}`)
      .bind(...values)
      .run();
    const columns = Object.keys(row);
    return () =>
      db
        .prepare(`insert into ${table} (${columns}) values (${columns.map(() => '?')})`)
        .bind(...Object.values(row))
        .run();
  }
  /**
   * What the gate holds last is a change of something else, so that the adoption check has nothing to tell.
   */
  const settle = (o: Caller) => o.patch('', { name: `Renamed ${Math.random()}` });

  it.each<[string, (o: Caller) => Promise<() => unknown>]>([
    ['a secret that D1 lost', async (o) => take('secrets', 'id = ?', (await newSecret(o)).id)],
    [
      'the current version of a secret',
      async (o) => take('secret_versions', 'secret_id = ?', (await newSecret(o)).id),
    ],
    ['a key that D1 lost', async (o) => take('credentials', 'id = ?', (await key(o, 'ci')).json.id)],
    [
      'a key that was deleted, and put back in D1',
      async (o) => {
        const { id } = (await key(o, 'ci')).json;
        const { results } = await db
          .prepare('select * from credentials where id = ?')
          .bind(id)
          .all<Record<string, unknown>>();
        await o.del(`/api-keys/${id}`);
        const revoked = await db
          .prepare('select revoked_at, revision, mac from credentials where id = ?')
          .bind(id)
          .first();
        const put = (row: Record<string, unknown>) =>
          db
            .prepare('update credentials set revoked_at = ?, revision = ?, mac = ? where id = ?')
            .bind(row.revoked_at, row.revision, row.mac, id)
            .run();
        await put(results[0] as Record<string, unknown>);
        return () => put(revoked as Record<string, unknown>);
      },
    ],
    [
      'an environment of another organisation that was moved in D1',
      async (o) => {
        const other = await newOrg();
        const { id, slug } = (await other.get('/environments')).json.data[0];
        const move = (org: string, name: string) =>
          db.prepare('update environments set org_id = ?, slug = ? where id = ?').bind(org, name, id).run();
        await move(o.id, 'moved');
        return () => move(other.id, slug);
      },
    ],
  ])('is degraded with %s, until it is mended', async (_what, damage_) => {
    const o = await newOrg();
    const mend = await damage_(o);
    await settle(o);
    await schedule();
    const { text, ...found } = await healthz();
    expect(found.failing).toContain('rows');
    expect(found.is).toBe('degraded');
    expect(text).not.toContain(o.id);
    expect(text).toContain('npm run restore -- FILE --rows');
    expect(told(o)).toHaveLength(1);
    await mend();
    await schedule();
    expect((await healthz()).failing).not.toContain('rows');
  });

  it.each([
    ['the newest', 'max'],
    ['the oldest', 'min'],
  ])('is degraded without %s segment of the audit log, until it is mended or told', async (_what, which) => {
    const o = await newOrg();
    const archive = () => send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    for (let n = 0; n < 3; n++) {
      await newSecret(o);
      expect((await archive()).status).toBe(200);
    }
    await schedule();
    expect((await healthz()).failing).toEqual([]);
    const lose = () =>
      take(
        'audit_segments',
        `org_id = ?1 and first_sequence = (select ${which}(first_sequence) from audit_segments where org_id = ?1)`,
        o.id,
      );
    const mend = await lose();
    await schedule();
    const { text, ...found } = await healthz();
    expect([found.is, found.failing]).toEqual(['degraded', ['rows']]);
    expect(text).toContain('npm run restore -- FILE --rows');
    expect(told(o)[0]?.rows).toEqual([expect.stringMatching(/^audit_segments \d+$/)]);
    await mend();
    await schedule();
    expect((await healthz()).failing).toEqual([]);
    await lose();
    await schedule();
    expect((await healthz()).failing).toEqual(['rows']);
    const reason = 'no backup has them';
    await send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason } });
    await schedule();
    expect((await healthz()).failing).toEqual([]);
  });

  slow('is found beyond the first page, a page in each run', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await inCore(o, ({ rows }) => {
      const secret = rows.get('secret', id);
      for (let n = 0; secret && n < 1100; n++)
        rows.put('secret', { ...secret, id: `sec_${n}`, name: `S${n}` });
    });
    const before = await inGate(o, (gate) => gate.agreement(null));
    let at = before.next;
    let pages = 1;
    let last = before.differ;
    for (; at; pages++) {
      const page = await inGate(o, (gate) => gate.agreement(at));
      [at, last] = [page.next, page.differ.length ? page.differ : last];
    }
    expect(pages).toBeGreaterThan(3);
    expect(last.length).toBe(20);
  });

  slow('is not taken from changes that are under way, or in doubt', async () => {
    const o = await newOrg();
    faults.delay = 30;
    let going = true;
    const busy = (async () => {
      while (going) await o.patch(`/secrets/${(await newSecret(o)).id}`, { value: 'later' });
    })();
    for (let n = 0; n < 5; n++) expect((await inGate(o, (gate) => gate.agreement(null))).differ).toEqual([]);
    going = false;
    await busy;
  });
});
