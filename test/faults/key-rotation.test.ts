// A new master key: keys are re-wrapped while the service goes on, whatever fails in between, until the old
// one can be taken away.
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { wrap } from '../../src/keys/keyring';
import { type Faults, faults, reset } from '../support/faults';
import { slow } from '../support/slow';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const OLD = (env as unknown as { MASTER_KEYS: string }).MASTER_KEYS;
const NEW = `k2:${Buffer.alloc(32, 9).toString('base64')}`;
const BOTH = `${NEW},${OLD}`;

/** From here on the Worker is another isolate, with these master keys. */
function deploy(keys: string) {
  faults.isolate++;
  faults.variables = { MASTER_KEYS: keys };
}

// Each test begins with an empty vault under the old key.
beforeEach(async () => {
  await db.batch(['deployment_keys', 'org_keys', 'orgs'].map((table) => db.prepare(`delete from ${table}`)));
  deploy(OLD);
});

const rewrap = (cursor?: string) =>
  send('POST', '/api/v1/deployment/keys/rewrap', {
    token: BOOTSTRAP,
    ...(cursor !== undefined && { body: { cursor } }),
  });

/** One walk over all keys, from the first; what each call said. */
async function walk() {
  const said: { done: number; total: number; next: string | null }[] = [];
  for (let cursor: string | undefined; ; ) {
    const { status, json, text } = await rewrap(cursor);
    expect(status, text).toBe(200);
    said.push(json);
    if (json.next === null) return said;
    expect(said.length, 'a walk that does not end').toBeLessThan(10);
    cursor = json.next;
  }
}

/** More orgs than one call re-wraps: wraps of keys that nobody uses, made by the old key's own service. */
async function many(count: number) {
  const master = { id: 'k1', key: new Uint8Array(32).fill(7) };
  const rows = Array.from({ length: count }, (_, i) => {
    const org_id = `org_${String(i).padStart(22, '0')}`;
    return { org_id, ...wrap([master], 'org key', org_id, crypto.getRandomValues(new Uint8Array(32))) };
  });
  await db
    .prepare(
      "insert into org_keys select value ->> 'org_id', value ->> 'master_id', value ->> 'key_sealed', 1 from json_each(?)",
    )
    .bind(JSON.stringify(rows))
    .run();
}

const wraps = async () =>
  (
    await db
      .prepare(
        'select id owner, master_id, key_sealed from deployment_keys union all select org_id, master_id, key_sealed from org_keys',
      )
      .all<{ owner: string; master_id: string; key_sealed: string }>()
  ).results;
const under = async (id: string) => (await wraps()).filter(({ master_id }) => master_id === id).length;

async function expectReadable(o: Caller, secrets: { id: string; value: string }[]) {
  for (const { id, value } of secrets) {
    const { status, json } = await o.get(`/secrets/${id}`);
    expect([status, json.value]).toEqual([200, value]);
  }
}

describe('key rotation: re-wrapping', () => {
  slow('reports that nothing is left to do, and changes nothing', async () => {
    await newOrg();
    const before = await wraps();
    expect((await rewrap()).json).toEqual({ done: 2, total: 2, next: null });
    expect(await wraps()).toEqual(before);
  });

  slow(
    'wraps every key with the new master key during reads, writes and new organisations; then the new one alone unwraps all',
    async () => {
      const first = await newOrg();
      const kept = [await newSecret(first), await newSecret(first)];
      await many(250);
      deploy(BOTH);
      faults.delay = 5;
      let going = true;
      const written: { id: string; value: string }[] = [];
      const busy = (async () => {
        while (going) {
          await expectReadable(first, kept);
          written.push(await newSecret(first));
        }
      })();
      const founding = (async () => {
        const second = await newOrg();
        return { second, secret: await newSecret(second) };
      })();
      const said = await walk();
      const { second, secret } = await founding;
      going = false;
      await busy;
      expect(said.length).toBeGreaterThanOrEqual(3);
      expect(said.map(({ done }) => done)).toEqual([...said.map(({ done }) => done)].sort((a, b) => a - b));
      expect(await under('k2')).toBe(253);
      expect(await under('k1')).toBe(0);

      reset();
      deploy(NEW);
      await expectReadable(first, [...kept, ...written]);
      await expectReadable(second, [secret]);
      expect((await newSecret(await newOrg())).version).toBe(1);
      deploy(OLD);
      const refused = await first.get(`/secrets/${kept[0]?.id}`);
      expect([refused.status, refused.json.error.code]).toEqual([503, 'MISCONFIGURED']);
      expect(refused.json.error.message).toMatch(/MASTER_KEYS.*\bk2\b/);
    },
  );

  slow('continues after an interruption, in another isolate too', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    await many(150);
    deploy(BOTH);
    const first = (await rewrap()).json;
    expect(first).toMatchObject({ done: 100, total: 152 });
    deploy(BOTH);
    expect((await rewrap(first.next)).json).toEqual({ done: 152, total: 152, next: null });
    deploy(NEW);
    await expectReadable(o, [secret]);
  });

  slow('after an interruption, a new run does what is left and keeps what is done', async () => {
    await newOrg();
    await many(150);
    deploy(BOTH);
    await rewrap();
    const done = (await wraps()).filter(({ master_id }) => master_id === 'k2');
    expect((await walk()).at(-1)).toEqual({ done: 152, total: 152, next: null });
    expect(await wraps()).toEqual(expect.arrayContaining(done));
  });

  slow('concurrency: wraps each key once', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    await many(120);
    deploy(BOTH);
    faults.delay = 10;
    for (const said of await Promise.all([walk(), walk(), walk()]))
      expect(said.at(-1)).toEqual({ done: 122, total: 122, next: null });
    reset();
    deploy(NEW);
    await expectReadable(o, [secret]);
  });

  it('replaces a wrapped key only if it is still the one that was read', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    deploy(BOTH);
    await o.get('/environments');
    const at = (await wraps()).find(({ owner }) => owner === o.id);
    const other = wrap([{ id: 'k1', key: new Uint8Array(32).fill(7) }], 'org key', o.id, new Uint8Array(32));
    faults.before = async (kind) => {
      if (kind === 'batch')
        await db
          .prepare('update org_keys set key_sealed = ? where org_id = ?')
          .bind(other.key_sealed, o.id)
          .run();
    };
    expect((await rewrap()).json).toMatchObject({ done: 1, total: 2 });
    reset();
    expect((await wraps()).find(({ owner }) => owner === o.id)).toEqual({
      ...at,
      key_sealed: other.key_sealed,
    });
    await db.prepare('update org_keys set key_sealed = ? where org_id = ?').bind(at?.key_sealed, o.id).run();
    expect((await rewrap()).json).toMatchObject({ done: 2, total: 2 });
    deploy(NEW);
    await expectReadable(o, [secret]);
  });

  slow('the next walk finds keys that an isolate with the old list created in the meantime', async () => {
    await newOrg();
    deploy(BOTH);
    expect((await walk()).at(-1)).toEqual({ done: 2, total: 2, next: null });
    deploy(`${OLD},${NEW}`);
    const late = await newOrg();
    const secret = await newSecret(late);
    deploy(BOTH);
    expect(await under('k1')).toBe(1);
    expect((await walk()).at(-1)).toEqual({ done: 3, total: 3, next: null });
    deploy(NEW);
    await expectReadable(late, [secret]);
  });

  it('does not bring back a key that was destroyed in the meantime', async () => {
    const o = await newOrg();
    deploy(BOTH);
    await o.get('/environments');
    let ended: Promise<unknown> | undefined;
    faults.before = async (kind) => {
      if (kind !== 'batch' || ended) return;
      ended = db.prepare('delete from org_keys where org_id = ?').bind(o.id).run();
      await ended;
    };
    expect((await rewrap()).json).toEqual({ done: 1, total: 1, next: null });
    expect((await wraps()).map(({ owner }) => owner)).toEqual(['deployment']);
  });

  it.each<['before' | 'after', 'read' | 'batch', number]>([
    ['before', 'read', 0],
    ['before', 'batch', 0],
    ['after', 'batch', 2],
  ])(
    'that fails %s D1 takes a %s is 503, leaves every key usable, and can be repeated',
    async (how, what, changed) => {
      const o = await newOrg();
      const secret = await newSecret(o);
      deploy(BOTH);
      await o.get(`/secrets/${secret.id}`);
      const failing: Faults['fail'] = (kind) => (kind === what ? how : null);
      faults.fail = failing;
      const refused = await rewrap();
      expect([refused.status, refused.json.error.code]).toEqual([503, 'UNAVAILABLE']);
      reset();
      expect(await under('k2')).toBe(changed);
      deploy(BOTH);
      await expectReadable(o, [secret]);
      expect((await walk()).at(-1)).toEqual({ done: 2, total: 2, next: null });
      deploy(NEW);
      await expectReadable(o, [secret]);
    },
  );
});

describe('key rotation: a key whose master key is missing', () => {
  it('is reported with the id of that master key and left as it is; the others are re-wrapped', async () => {
    const o = await newOrg();
    const lost = await newOrg();
    const secret = await newSecret(o);
    await db.prepare("update org_keys set master_id = 'k0' where org_id = ?").bind(lost.id).run();
    const before = (await wraps()).find(({ owner }) => owner === lost.id);
    deploy(BOTH);
    const refused = await rewrap();
    expect([refused.status, refused.json.error.code]).toEqual([503, 'MISCONFIGURED']);
    expect(refused.json.error.message).toMatch(/MASTER_KEYS.*\bk0\b/);
    expect((await wraps()).find(({ owner }) => owner === lost.id)).toEqual(before);
    expect(await under('k2')).toBe(2);
    deploy(NEW);
    await expectReadable(o, [secret]);
  });

  it('is found although it names the current id: another master key of that id unwraps nothing', async () => {
    await newOrg();
    deploy(BOTH);
    await walk();
    const o = await newOrg();
    deploy(BOTH);
    await o.get('/environments');
    const at = (await wraps()).find(({ owner }) => owner === o.id);
    await db.prepare('update org_keys set key_sealed = ? where org_id <> ?').bind(at?.key_sealed, o.id).run();
    expect((await rewrap()).json.error.code).toBe('MISCONFIGURED');
  });
});

describe('deployment key: missing from a vault that has organisations', () => {
  const refusalOf = ({ status, json }: Awaited<ReturnType<typeof send>>) => [
    status,
    json.error?.code,
    json.error?.message,
  ];
  const missing = [503, 'MISCONFIGURED', expect.stringContaining('not the deployment key')];
  const found = () =>
    send('POST', '/api/v1/orgs', {
      token: BOOTSTRAP,
      body: { name: 'new', owner: { email: 'ann@example.com', name: 'Ann' } },
    });

  it.each<[string, string[]]>([
    ['its row', ['deployment_keys']],
    ['its row and those of the organisations', ['deployment_keys', 'org_keys']],
    ['its row and the organisations, of which keys are left', ['deployment_keys', 'orgs']],
  ])(
    'is not replaced after the loss of %s, by no request; with the row back, everything works',
    async (_what, lost) => {
      const o = await newOrg();
      const secret = await newSecret(o);
      const tables = await Promise.all(
        lost.map(async (name) => ({ name, rows: (await db.prepare(`select * from ${name}`).all()).results })),
      );
      await db.batch(lost.map((name) => db.prepare(`delete from ${name}`)));
      deploy(OLD);
      const logged: string[] = [];
      vi.spyOn(console, 'error').mockImplementation((line) => void logged.push(line));
      const answers = [
        await found(),
        await o.get('/secrets'),
        await send('GET', '/api/v1/orgs', { token: BOOTSTRAP }),
        await rewrap(),
      ];
      const raced = await Promise.all([found(), found(), o.get('/secrets')]);
      vi.restoreAllMocks();
      for (const answer of [...answers, ...raced]) expect(refusalOf(answer)).toEqual(missing);
      expect(logged.map((line) => JSON.parse(line).event)).toContain('deployment_key_missing');
      expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
      for (const { name, rows } of tables)
        for (const row of rows)
          await db
            .prepare(`insert into ${name} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`)
            .bind(...Object.values(row))
            .run();
      await expectReadable(o, [secret]);
      expect((await found()).status).toBe(201);
    },
  );

  it.each([
    ['is lost', 'delete from deployment_keys', 'not the deployment key'],
    ['does not open', "update deployment_keys set key_sealed = 'altered'", 'does not decrypt'],
    ['is that of another vault', '', 'of another vault'],
  ])(
    'no organisation is made by an isolate that knows the key, once its row %s',
    async (_what, damage, why) => {
      await newOrg();
      const row = (await wraps()).find(({ owner }) => owner === 'deployment');
      const master = { id: 'k1', key: new Uint8Array(32).fill(7) };
      const other = wrap(
        [master],
        'deployment key',
        'deployment',
        crypto.getRandomValues(new Uint8Array(32)),
      );
      await (damage
        ? db.prepare(damage)
        : db.prepare('update deployment_keys set key_sealed = ?').bind(other.key_sealed)
      ).run();
      const logged = vi.spyOn(console, 'error').mockReturnValue();
      expect(refusalOf(await found())).toEqual([503, 'MISCONFIGURED', expect.stringContaining(why)]);
      expect(logged).toHaveBeenCalled();
      vi.restoreAllMocks();
      expect((await db.prepare('select id from orgs').all()).results).toHaveLength(1);
      await db
        .prepare('insert or replace into deployment_keys values (?, ?, ?, 1)')
        .bind('deployment', row?.master_id, row?.key_sealed)
        .run();
      expect((await found()).status).toBe(201);
    },
  );

  it('is made once in an empty vault, by the first of many requests', async () => {
    const answers = await Promise.all([found(), found(), found()]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await under('k1')).toBe(4);
  });
});

describe('key rotation: a master key with other bytes under the same id', () => {
  it('is told from one that is missing', async () => {
    const o = await newOrg();
    deploy(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
    const { status, json } = await o.get('/secrets');
    expect([status, json.error.code]).toEqual([503, 'MISCONFIGURED']);
    expect(json.error.message).toContain('k1');
    expect(json.error.message).toContain('other bytes');
    expect(json.error.message).not.toContain('does not contain');
  });

  const ALIEN = `k2:${Buffer.alloc(32, 1).toString('base64')}`;
  const refusal = ({ status, json }: Awaited<ReturnType<typeof send>>) => [status, json.error?.code];

  /** Of two organisations, one is under the new key of this vault. */
  async function halfRotated() {
    const first = await newOrg();
    deploy(BOTH);
    const second = await newOrg();
    return { first, second, wrapped: await wraps() };
  }

  it('wraps nothing: the right key still opens everything', async () => {
    const { first, second, wrapped } = await halfRotated();
    deploy(`${ALIEN},${OLD}`);
    const refused = await rewrap();
    expect(refusal(refused)).toEqual([503, 'MISCONFIGURED']);
    expect(refused.json.error.message).toMatch(/\bk2\b.*other bytes/);
    expect(await wraps()).toEqual(wrapped);
    deploy(BOTH);
    const kept = [await newSecret(first)];
    expect((await walk()).at(-1)).toEqual({ done: 3, total: 3, next: null });
    deploy(NEW);
    await expectReadable(first, kept);
    expect((await second.get('/secrets')).status).toBe(200);
  });

  it('makes no organisation, whose key the right one would not open', async () => {
    const { wrapped } = await halfRotated();
    const found = () =>
      send('POST', '/api/v1/orgs', {
        token: BOOTSTRAP,
        body: { name: 'new', owner: { email: 'ann@example.com', name: 'Ann' } },
      });
    deploy(`${ALIEN},${OLD}`);
    for (const answer of [await found(), await found()])
      expect(refusal(answer)).toEqual([503, 'MISCONFIGURED']);
    expect(await wraps()).toEqual(wrapped);
    deploy(BOTH);
    expect((await found()).status).toBe(201);
  });

  slow('is not taken for one because a single row was altered', async () => {
    const { first, second } = await halfRotated();
    const third = await newOrg();
    const mine = (await wraps()).find(({ owner }) => owner === second.id);
    await db
      .prepare('update org_keys set key_sealed = ? where org_id = ?')
      .bind(mine?.key_sealed, third.id)
      .run();
    deploy(BOTH);
    expect(refusal(await rewrap())).toEqual([503, 'MISCONFIGURED']);
    expect(await under('k1')).toBe(0);
    expect((await first.get('/secrets')).status).toBe(200);
  });
});

describe('key rotation: cursor', () => {
  it('that was altered, or is from another list, is refused', async () => {
    await newOrg();
    await newOrg();
    const foreign = (await send('GET', '/api/v1/orgs?limit=1', { token: BOOTSTRAP })).json.next_cursor;
    for (const cursor of [foreign, 'x', ''])
      expect((await rewrap(cursor)).json.error.code).toBe('INVALID_CURSOR');
  });
});

describe('key rotation: log', () => {
  it('has one line a call, with counts and without a key', async () => {
    await newOrg();
    deploy(BOTH);
    const logged: string[] = [];
    for (const level of ['log', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((...args) => void logged.push(args.join(' ')));
    await rewrap();
    vi.restoreAllMocks();
    const lines = logged.filter((line) => line.includes('keys_rewrapped'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toMatchObject({ changed: 2, done: 2, total: 2, whole: true });
    for (const secret of [NEW.slice(3), OLD.slice(3), ...(await wraps()).map(({ key_sealed }) => key_sealed)])
      expect(logged.join('\n')).not.toContain(secret);
  });
});
