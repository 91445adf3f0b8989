// Containing a credential: it and its descendants end, the account of what they did is exact, and what they
// knew is given new values.
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CredentialRow } from '../../../src/db/schema';
import { problemOf } from '../../model/invariants';
import {
  alive,
  contain,
  idsOf,
  newAgent,
  newKey,
  newProvider,
  newSession,
  statusOrCode,
} from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate, leaveRows } from '../../support/gate';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newUpstream } from '../../support/integrations/upstreams';
import { newKeyInput } from '../../support/people';
import { runs, slow } from '../../support/slow';
import { byMember, moveLog, newSignedInMember } from '../../support/storage/planted';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  db,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

interface Deed {
  secret_id: string;
  name: string | null;
  version: number;
  time: string;
}
const setOf = (read: Deed[]) => read.map(({ secret_id, version }) => `${secret_id}.${version}`).sort();
describe('contain', () => {
  slow('revokes the credential, its descendants and what it created, and nothing else', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const agent = await newAgent(session.o);
    const made = await newKey(key.o);
    const below = await newAgent(made.o);
    const beside = await newKey(o);
    const answer = await contain(o, key.id);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ read: [], written: [], shared: [] });
    expect(idsOf(answer.json.revoked)).toEqual([key.id, session.id, agent.id, made.id, below.id].sort());
    expect(answer.json.revoked[0]).toEqual({ kind: 'api_key', id: key.id, name: 'k' });
    expect(idsOf(answer.json.credentials)).toEqual([session.id, agent.id, made.id, below.id].sort());
    for (const one of [key, session, agent, made, below]) expect(await alive(one.o)).toBe('TOKEN_REVOKED');
    for (const one of [o, beside.o]) expect(await alive(one)).toBe(200);
    const rows = await inGate(o, ({ core }) =>
      [key, session, agent, made, below].map(({ id }) => core.rows.get('credential', id) as CredentialRow),
    );
    // What dies with another needs no change of its own.
    expect(rows.map(({ revoked_at }) => revoked_at !== null)).toEqual([true, false, false, true, true]);
    expect((await contain(o, key.id)).json).toEqual(answer.json);
    expect(await problemOf(o)).toBe(null);
  });

  it('revokes only a session token, and not the key that minted it', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const one = await newSession(key.o);
    const other = await newSession(key.o);
    const answer = await contain(o, one.id);
    expect(answer.json.revoked).toEqual([{ kind: 'session', id: one.id, name: 'k' }]);
    for (const caller of [key.o, other.o]) expect(await alive(caller)).toBe(200);
    expect(await alive(one.o)).toBe('TOKEN_REVOKED');
  });

  it('repeats its answer after session tokens expired and left the gate', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const agent = await newAgent(session.o);
    const before = await newSession(key.o, { ttlSeconds: 60 });
    faults.clock = Date.now() + 61_000;
    const { id } = await newSecret(o);
    await agent.o.get(`/secrets/${id}`);
    const second = await newSecret(o);
    await session.o.get(`/secrets/${second.id}`);
    const first = await contain(o, key.id);
    // What had expired before was not ended by it.
    expect(idsOf(first.json.revoked)).toEqual([key.id, session.id, agent.id].sort());
    expect(idsOf(first.json.credentials)).toEqual([session.id, agent.id, before.id].sort());
    expect(setOf(first.json.read)).toEqual([`${id}.1`, `${second.id}.1`].sort());
    for (const one of [session, before]) await leaveRows(o, one.id);
    faults.clock = Date.now() + 7_200_000;
    expect((await contain(o, key.id)).json).toEqual(first.json);
    // Each segment is opened for those who act in it, the ones that only the log knows included.
    await moveLog(o, 1);
    expect((await contain(o, key.id)).json).toEqual(first.json);
  });

  it('revokes a browser session and what it created, and not what another session created', async () => {
    const o = await newOrg();
    const one = await newSignedInMember(o);
    const { id } = await newSecret(o);
    const inside = newKeyInput();
    const outside = newKeyInput();
    const second = await newSignedInMember(o);
    for (const [session, input] of [
      [one.session, inside],
      [second.session, outside],
    ] as const)
      expect((await byMember(o, session, 'api_key.create', { input })).outcome).toMatchObject({ kind: 'ok' });
    await byMember(o, one.session, 'secret.read', {
      named: { secret: id },
      input: { version: null, if_none_match: null },
    });
    await byMember(o, second.session, 'secret.read', {
      named: { secret: id },
      input: { version: null, if_none_match: null },
    });
    const answer = await contain(o, one.session);
    expect(answer.json.revoked).toEqual([
      { kind: 'browser', id: one.session, name: null },
      { kind: 'api_key', id: inside.token.id, name: 'k' },
    ]);
    expect(setOf(answer.json.read)).toEqual([`${id}.1`]);
    expect((await byMember(o, one.session, 'caller.read')).outcome.kind).toBe('refused');
    expect((await byMember(o, second.session, 'caller.read')).outcome.kind).toBe('ok');
    expect(await inGate(o, ({ core }) => core.rows.get('credential', outside.token.id)?.revoked_at)).toBe(
      null,
    );
  });

  it('of an ancestor spares the caller, unless the caller is revoked together with it', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const made = await newKey(key.o);
    const mine = await newAgent(made.o);
    const beside = await newKey(key.o);
    const session = await newSession(key.o);
    for (const one of [key.o, session.o]) expect(statusOrCode(await contain(one, key.id))).toBe('CONFLICT');
    expect(await alive(key.o)).toBe(200);
    const answer = await contain(made.o, key.id);
    expect(idsOf(answer.json.revoked)).toEqual([key.id, beside.id, session.id].sort());
    for (const one of [made.o, mine.o]) expect(await alive(one)).toBe(200);
  });

  slow('revokes more credentials than one commit takes', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const made = [];
    for (let i = 0; i < 30; i++) made.push(await newKey(key.o, { scopes: ['org:read'] }));
    const answer = await contain(o, key.id);
    expect(answer.json.revoked).toHaveLength(31);
    expect(answer.json.remaining).toBe(undefined);
    for (const one of [made[0], made[29]])
      expect(await alive((one as { o: Caller }).o)).toBe('TOKEN_REVOKED');
    expect(await problemOf(o)).toBe(null);
  });

  slow(
    'permission: needs only tokens:write, and names secrets only to callers who may list them',
    async () => {
      const o = await newOrg();
      const key = await newKey(o);
      const { id, name } = await newSecret(o);
      await key.o.get(`/secrets/${id}`);
      expect(
        statusOrCode(await contain((await newKey(o, { scopes: ['tokens:read', 'audit:read'] })).o, key.id)),
      ).toBe('INSUFFICIENT_SCOPE');
      const narrow = await newKey(o, { scopes: ['tokens:write'] });
      expect((await contain(narrow.o, key.id)).json.read).toMatchObject([
        { secret_id: id, name: null, version: 1 },
      ]);
      expect((await contain(o, key.id)).json.read).toMatchObject([{ secret_id: id, name, version: 1 }]);
      expect(statusOrCode(await contain(o, 'key_unknown'))).toBe('NOT_FOUND');
      expect(statusOrCode(await contain(o, key.id, { since: 'yesterday' }))).toBe('VALIDATION_FAILED');
    },
  );

  slow('concurrency: nothing that the credential is creating survives', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const made = await newKey(key.o);
    faults.delay = 10;
    const making = Array.from({ length: 20 }, (_, i) =>
      newKey((i % 2 ? key : made).o, { scopes: ['org:read'] }).catch(() => null),
    );
    const answer = await contain(o, key.id);
    expect(answer.status).toBe(200);
    const born = (await Promise.all(making)).filter((one) => one !== null);
    faults.delay = 0;
    for (const one of born) expect(await alive(one.o)).toBe('TOKEN_REVOKED');
    expect(await problemOf(o)).toBe(null);
  });
});

describe('exposure report', () => {
  slow(
    'lists successful reads by id, by name, of old versions and in bulk, from the given time on',
    async () => {
      const o = await newOrg();
      const key = await newKey(o);
      const session = await newSession(key.o);
      const a = await newSecret(o, { name: 'A' });
      const b = await newSecret(o, { name: 'B' });
      const c = await newSecret(o, { name: 'C' });
      const read = await key.o.get(`/secrets/${a.id}`);
      await key.o.get(`/secrets/${b.id}`, { 'If-None-Match': '"v1"' });
      await key.o.get('/secrets/sec_none');
      await o.patch(`/secrets/${c.id}`, { value: 'second' });
      await session.o.get('/secrets/by-name/C');
      await session.o.get('/secrets/by-name/C?version=1');
      const first = await contain(o, key.id);
      expect(setOf(first.json.read)).toEqual([`${a.id}.1`, `${c.id}.1`, `${c.id}.2`].sort());
      expect(read.status).toBe(200);
      const [one] = first.json.read as Deed[];
      expect(one).toMatchObject({ secret_id: a.id, name: 'A' });
      const later = new Date(Date.parse((one as Deed).time) + 1).toISOString();
      expect(setOf((await contain(o, key.id, { since: later })).json.read)).not.toContain(`${a.id}.1`);
      await o.del(`/secrets/${a.id}?permanent=true`);
      await o.patch(`/secrets/${c.id}`, { name: 'D' });
      expect((await contain(o, key.id)).json.read.map(({ name }: Deed) => name)).toEqual([null, 'D', 'D']);
    },
  );

  slow('lists writes with their action, and no replays', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const { id } = await newSecret(key.o, { type: 'password' });
    await key.o.post(`/secrets/${id}/rotate`, {}, { 'Idempotency-Key': 'r' });
    await key.o.post(`/secrets/${id}/rotate`, {}, { 'Idempotency-Key': 'r' });
    await key.o.del(`/secrets/${id}`);
    const { written } = (await contain(o, key.id)).json;
    expect(
      written.map(({ action, version }: { action: string; version: number }) => [action, version]),
    ).toEqual([
      ['secret.create', 1],
      ['secret.rotate', 2],
      ['secret.delete', 2],
    ]);
  });

  slow(
    'excludes secrets that had expired before a bulk read, and lists those that expired later',
    async () => {
      const o = await newOrg();
      const key = await newKey(o);
      const brief = await newSecret(o, { ttlSeconds: 60 });
      const longer = await newSecret(o, { ttlSeconds: 60 });
      await o.patch(`/secrets/${longer.id}`, { ttlSeconds: 600 });
      faults.clock = Date.now() + 120_000;
      await key.o.get('/environments/production/values');
      for (const { id } of [brief, longer]) await o.patch(`/secrets/${id}`, { ttlSeconds: 60 });
      faults.clock += 120_000;
      expect(setOf((await contain(o, key.id)).json.read)).toEqual([`${longer.id}.1`]);
    },
  );

  slow('excludes secrets that bulk reads withheld for approval, wherever the log is', async () => {
    const { o } = await newOffice();
    const held = await newSecret(o, { name: 'held/a' });
    const open = await newSecret(o, { name: 'open' });
    const early = await newSecret(o, { name: 'held/early' });
    const key = await newKey(o);
    const before = await newKey(o);
    await before.o.get('/environments/production/values');
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['held/*'] } });
    for (const query of ['', '', '?prefix=held/', '?prefix=o', ''])
      await key.o.get(`/environments/production/values${query}`);
    const entries = (await o.get(`/audit-log?action=secret.read_all&actor=${key.id}`)).json.data.reverse();
    const ids = [held.id, early.id];
    expect(entries.map(({ withheld }: { withheld?: string[] }) => withheld)).toEqual([
      ids,
      ...Array(4).fill(undefined),
    ]);
    expect(entries.map((entry: { withheld_digest?: string }) => entry.withheld_digest !== undefined)).toEqual(
      [true, true, true, false, true],
    );
    expect((await contain(o, key.id)).json.read.map(({ name }: Deed) => name)).toEqual(['open']);
    await moveLog(o, 2);
    expect(setOf((await contain(o, key.id)).json.read)).toEqual([`${open.id}.1`]);
    expect(setOf((await contain(o, before.id)).json.read)).toHaveLength(3);
  });

  slow('reads an audit log of any length, page by page', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await inGate(o, ({ core }) => {
      const actor = { kind: 'api_key', id: key.id, parent_id: null, name: 'k' };
      const draft = {
        actor,
        action: 'secret.read',
        environment: 'production',
        reason: null,
        request_id: 'req_x',
        ip: '',
        user_agent: null,
      };
      core.storage.transactionSync(() => {
        for (let i = 0; i < 2500; i++)
          core.auditLog.append({ ...draft, resource: `sec_${i}`, version: 1 }, 200, Date.now());
      });
    });
    expect((await contain(o, key.id)).json.read).toHaveLength(2500);
    await moveLog(o, 100);
    expect((await contain(o, key.id)).json.read).toHaveLength(2500);
  });

  slow('lists what a bulk read returned before a database was adopted', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const kept = await newSecret(o, { name: 'KEPT' });
    await o.patch(`/secrets/${kept.id}`, { value: 'second' });
    await key.o.get('/environments/production/values');
    await send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'a drill' } });
    await o.patch(`/secrets/${kept.id}`, { value: 'third' });
    expect(setOf((await contain(o, key.id)).json.read)).toEqual([`${kept.id}.2`]);
  });

  // Random changes and reads, side by side with what each answer truly held.
  const names = ['A', 'B', 'app/x', 'app/y'];
  const op = fc.record({
    kind: fc.constantFrom(
      ...[
        'create',
        'create',
        'patch',
        'patch',
        'rename',
        'lifetime',
        'tag',
        'rotate',
        'rollback',
        'delete',
        'purge',
        'restore',
      ],
      ...[
        'read',
        'read by name',
        'bulk',
        'bulk',
        'bulk',
        'bulk of an agent',
        'bulk of an agent',
        'prefix',
        'prefix',
        '304',
        'pass',
        'work',
        'issue',
        'issue',
        'prov rotate',
        'prov revoke',
        'prov revoke',
        'tag',
      ],
    ),
    name: fc.constantFrom(...names),
    other: fc.constantFrom(...names),
    target: fc.nat(7),
    together: fc.boolean(),
  });
  it('lists exactly what the responses contained, regardless of later changes and where the log is', {
    timeout: 240_000,
  }, async () => {
    let bulk = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 10, maxLength: 60 }), fc.boolean(), async (ops, moved) => {
        faults.clock = null;
        const o = await newOrg();
        const secrets: string[] = [];
        const truth = new Set<string>();
        const late = new Set<string>();
        /** Whose value it is, whatever it was called when it was given. */
        const owners = new Map<string, string>();
        const given: [string, number][] = [];
        let since: { time: number; given: number } | null = null;
        const write = async (by: Caller, method: string, path: string, fields: Record<string, unknown>) => {
          const value = crypto.randomUUID();
          const answer = await by.call(method, path, { ...fields, value });
          if (answer.status < 300) owners.set(value, answer.json.id);
          return answer;
        };
        let clock = Date.now();
        faults.clock = clock;
        for (const name of names.slice(0, 2))
          secrets.push((await write(o, 'POST', '/secrets', { name, type: 'password' })).json.id);
        if (moved)
          for (let i = 0; i < 3; i++)
            await write(o, 'POST', '/secrets', { name: `more-${i}`, type: 'generic' });
        const key = await newKey(o);
        const agent = await newAgent(key.o, { secrets: ['app/*', '?'] });
        const provider = (
          await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] })
        ).json.token as string;
        const push = async (verb: string, fields: Record<string, unknown>) => {
          const value = crypto.randomUUID();
          const answer = await send('POST', `/api/v1/provider/${verb}`, {
            token: provider,
            body: {
              ...fields,
              ...(verb === 'issue' && { value }),
              ...(verb === 'rotate' && { newValue: value }),
            },
          });
          if (answer.status < 300 && verb !== 'revoke') owners.set(value, answer.json.secretId);
          if (answer.status === 201) secrets.push(answer.json.secretId);
        };
        const running: Promise<unknown>[] = [];
        const values = async (by: Caller, query = '') => {
          const { status, json } = await by.get(`/environments/production/values${query}`);
          if (status !== 200) return;
          bulk++;
          for (const [name, version] of Object.entries(json.versions as Record<string, number>))
            given.push([json.values[name], version]);
        };
        for (const [at, { kind, name, other, target, together }] of ops.entries()) {
          if (at === Math.floor(ops.length / 2)) {
            await Promise.all(running);
            clock += 1000;
            faults.clock = clock;
            since = { time: clock, given: given.length };
          }
          const id = secrets[target % secrets.length] as string;
          const single = (answer: Answer) => {
            if (answer.status !== 200) return;
            for (const set of since ? [truth, late] : [truth])
              set.add(`${answer.json.id}.${answer.json.version}`);
          };
          const run: Record<string, () => Promise<unknown>> = {
            create: async () => {
              const answer = await write(o, 'POST', '/secrets', {
                name,
                type: 'password',
                ...(target > 4 && { ttlSeconds: 100 }),
              });
              if (answer.status === 201) secrets.push(answer.json.id);
            },
            patch: () => write(o, 'PATCH', `/secrets/${id}`, {}),
            issue: () =>
              push('issue', {
                secretName: name,
                environment: 'production',
                ttlSeconds: target % 2 ? 100 : 1000,
              }),
            'prov rotate': () => push('rotate', { secretName: name, environment: 'production' }),
            'prov revoke': () => push('revoke', { secretName: name, environment: 'production' }),
            rename: () => o.patch(`/secrets/${id}`, { name: other }),
            lifetime: () => o.patch(`/secrets/${id}`, { ttlSeconds: [100, 400, null][target % 3] }),
            tag: () => o.patch(`/secrets/${id}`, { description: crypto.randomUUID() }),
            rotate: () => write(target % 2 ? o : key.o, 'POST', `/secrets/${id}/rotate`, {}),
            rollback: () => o.post(`/secrets/${id}/rollback`, { version: 1 + (target % 2) }),
            delete: () => o.del(`/secrets/${id}`),
            purge: () => o.del(`/secrets/${id}?permanent=true`),
            restore: () => o.post(`/secrets/${id}/restore`),
            read: async () => single(await key.o.get(`/secrets/${id}`)),
            'read by name': async () =>
              single(await agent.o.get(`/secrets/by-name/${encodeURIComponent(name)}`)),
            bulk: () => values(key.o),
            'bulk of an agent': () => values(agent.o),
            prefix: () => values(target % 2 ? agent.o : key.o, target % 3 ? '?prefix=app/' : '?prefix=A'),
            '304': async () => {
              const etag = (await o.get(`/secrets/${id}`)).headers.get('etag');
              if (etag) single(await key.o.get(`/secrets/${id}`, { 'If-None-Match': etag }));
            },
            pass: async () => {
              clock += 70_000;
              faults.clock = clock;
            },
            work: async () => {
              if (moved) await moveLog(o, 7);
            },
          };
          const done = (run[kind] as () => Promise<unknown>)();
          if (together && !['pass', 'work', '304'].includes(kind)) running.push(done);
          else await done;
          if (running.length > 3) await Promise.all(running.splice(0));
        }
        await Promise.all(running);
        if (moved) await moveLog(o, 7);
        const { time = 0, given: early = 0 } = since ?? {};
        for (const [i, [value, version]] of given.entries())
          for (const set of i < early ? [truth] : [truth, late]) set.add(`${owners.get(value)}.${version}`);
        const answer = await contain(o, key.id);
        expect(answer.status, answer.text).toBe(200);
        expect(setOf(answer.json.read)).toEqual([...truth].sort());
        expect((await contain(o, key.id)).json).toEqual(answer.json);
        // Asked only from later on, it is what came after.
        const later = await contain(o, key.id, { since: new Date(time).toISOString() });
        expect(setOf(later.json.read)).toEqual([...late].sort());
      }),
      { numRuns: Number((env as unknown as { HISTORIES: string }).HISTORIES || runs(25, 3)) },
    );
    faults.clock = null;
    expect(bulk).toBeGreaterThan(runs(20, 0));
  });
});

describe('contain: rotation of exposed values', () => {
  /**
   * A contained credential that has read a generated password and a URL, and written a generated webhook
   * secret.
   */
  async function known(o: Caller) {
    const key = await newKey(o);
    const read = await newSecret(o, GENERATED);
    const due = await newSecret(o, { type: 'database_url' });
    const other = await newSecret(o, { type: 'password' });
    await key.o.get(`/secrets/${read.id}`);
    await key.o.get(`/secrets/${due.id}`);
    const written = await newSecret(key.o, { ...GENERATED, type: 'webhook_secret' });
    return { key, read, due, other, written };
  }
  const versionsOf = async (o: Caller, ids: string[]) => {
    const all = (await o.get('/secrets')).json.data as { id: string; version: number }[];
    return ids.map((id) => all.find((one) => one.id === id)?.version);
  };

  it('rotates generated values by ordinary rotations, and marks all others as due', async () => {
    const o = await newOrg();
    const { key, read, due, other, written } = await known(o);
    const answer = await contain(o, key.id, { rotate: 'generated' });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json.rotated.map(({ secret_id, version }: Deed) => [secret_id, version]).sort()).toEqual(
      [
        [read.id, 2],
        [written.id, 2],
      ].sort(),
    );
    expect(answer.json.rotation_due).toEqual([
      { secret_id: due.id, name: due.name, environment: due.environment },
    ]);
    const fresh = (await o.get(`/secrets/${read.id}`)).json.value;
    expect(fresh).not.toBe(read.value);
    expect(fresh).toHaveLength(32);
    expect(await versionsOf(o, [due.id, other.id])).toEqual([1, 1]);
    const entries = (await o.get(`/audit-log?action=secret.rotate`)).json.data as {
      actor: { id: string };
      resource: string;
    }[];
    expect(entries.map(({ actor, resource }) => [actor.id, resource]).sort()).toEqual(
      [
        [o.keyId, read.id],
        [o.keyId, written.id],
      ].sort(),
    );
    const told = async () =>
      (await inGate(o, ({ core }) => core.outbox.oldest(100))).filter(
        ({ type }) => type === 'SECRET_ROTATION_DUE',
      );
    expect((await told()).map(({ data }) => data)).toMatchObject([
      { secret_id: due.id, credential_id: key.id, version: 1 },
    ]);
    // Again, with a key or without, it is the same: nothing is rotated or told twice.
    expect((await contain(o, key.id, { rotate: 'generated' })).json).toEqual(answer.json);
    expect(await versionsOf(o, [read.id, written.id])).toEqual([2, 2]);
    expect(await told()).toHaveLength(1);
    expect(await problemOf(o)).toBe(null);
  });

  it('leaves a value that this service did not generate unchanged byte for byte, and marks it as due', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const provider = await newProvider(o);
    const issued = { secretName: 'issued', environment: 'production' };
    const values: Record<string, string> = {};
    const given = async (name: string, type: string, value: string) => {
      values[name] = value;
      return newSecret(o, { name, type, value });
    };
    for (const type of [
      'password',
      'api_key',
      'env_var',
      'generic',
      'webhook_secret',
      'ssh_key',
      'private_key',
      'json',
    ])
      await given(`given-${type}`, type, `  ${type}\u0000é\n`);
    values.issued = 'from the database\n';
    const pushed = await send('POST', '/api/v1/provider/issue', {
      token: provider.token,
      body: { ...issued, value: values.issued, ttlSeconds: 600 },
    });
    expect(pushed.status).toBe(201);
    // Generated, and then replaced: by hand, by a provider, and by a rollback to what was given first.
    const patched = await newSecret(o, { ...GENERATED, name: 'patched' });
    values.patched = 'by hand';
    await o.patch(`/secrets/${patched.id}`, { value: values.patched });
    const replaced = await newSecret(o, { ...GENERATED, name: 'replaced' });
    values.replaced = 'by the provider';
    const body = { secretName: replaced.name, environment: 'production', newValue: values.replaced };
    expect((await send('POST', '/api/v1/provider/rotate', { token: provider.token, body })).status).toBe(200);
    const back = await given('back', 'password', 'the first one');
    await o.post(`/secrets/${back.id}/rotate`);
    await o.post(`/secrets/${back.id}/rollback`, { version: 1 });
    // Given, and then generated: the one that is rotated.
    const made = await given('made', 'generic', 'replaced before');
    await o.post(`/secrets/${made.id}/rotate`, { generate: {} });
    delete values.made;
    await key.o.get('/environments/production/values');

    const before = (await o.get('/environments/production/values')).json;
    const answer = await contain(o, key.id, { rotate: 'generated' });
    expect(answer.status, answer.text).toBe(200);
    const { environment } = made;
    expect(answer.json.rotated).toEqual([{ secret_id: made.id, name: 'made', environment, version: 3 }]);
    expect(answer.json.rotation_due.map(({ name }: Deed) => name).sort()).toEqual(Object.keys(values).sort());
    const after = (await o.get('/environments/production/values')).json;
    expect(after.values).toEqual({ ...values, made: expect.any(String) });
    expect(after.values.made).not.toBe(before.values.made);
    expect(after.versions).toEqual({ ...before.versions, made: 3 });
  });

  slow('keeps a value that is set by hand during the rotations', async () => {
    const o = await newOrg();
    const leaked = await newKey(o);
    const secrets = await Promise.all(Array.from({ length: 12 }, () => newSecret(o, GENERATED)));
    await leaked.o.get('/environments/production/values');
    faults.delay = 2;
    const byHand = async () => {
      for (const { id } of secrets)
        expect((await o.patch(`/secrets/${id}`, { value: `by hand ${id}` })).status).toBe(200);
    };
    const [answer] = await Promise.all([contain(o, leaked.id, { rotate: 'generated' }), byHand()]);
    expect(answer.status, answer.text).toBe(200);
    for (const { id } of secrets)
      expect((await o.get(`/secrets/${id}`)).json).toMatchObject({
        value: `by hand ${id}`,
        generated: false,
      });
  });

  slow('skips values that were replaced since the containment', async () => {
    const o = await newOrg();
    const { key, read, due, written } = await known(o);
    await contain(o, key.id);
    await o.patch(`/secrets/${read.id}`, { value: 'by hand' });
    await o.post(`/secrets/${due.id}/rotate`, { value: 'postgres://new' });
    await o.patch(`/secrets/${written.id}`, { description: 'no new value' });
    const answer = await contain(o, key.id, { rotate: 'generated' });
    expect(answer.json.rotation_due).toEqual([]);
    expect(await versionsOf(o, [read.id, due.id, written.id])).toEqual([2, 2, 2]);
    expect((await o.get(`/secrets/${read.id}`)).json.value).toBe('by hand');
  });

  it('permission: requires secrets:rotate wherever the credential could read, or does nothing at all', async () => {
    const o = await newOrg();
    const { key, read } = await known(o);
    const without = await newKey(o, { scopes: ['tokens:write', 'secrets:read'] });
    const elsewhere = await newKey(o, {
      scopes: ['tokens:write', 'secrets:rotate'],
      environments: ['staging'],
    });
    for (const one of [without, elsewhere])
      expect(statusOrCode(await contain(one.o, key.id, { rotate: 'generated' }))).toBe('INSUFFICIENT_SCOPE');
    expect(await alive(key.o)).toBe(200);
    const bounded = await newKey(o, {
      scopes: ['secrets:read'],
      environments: ['production'],
      secrets: ['x*'],
    });
    const enough = await newKey(o, {
      scopes: ['tokens:write', 'secrets:rotate'],
      environments: ['production'],
      secrets: ['x*', 'y'],
    });
    expect((await contain(enough.o, bounded.id, { rotate: 'generated' })).status).toBe(200);
    expect(await versionsOf(o, [read.id])).toEqual([1]);
  });

  slow('continues where it stopped, however often the request is interrupted', async () => {
    const o = await newOrg();
    const { key, read, due, written } = await known(o);
    const again = () => contain(o, key.id, { rotate: 'generated' }, { 'Idempotency-Key': 'contain' });
    let answer: Answer;
    let cut = 1;
    for (; ; cut++) {
      faults.gate = 0;
      faults.rpc = (n) => (n === cut ? { fate: cut % 2 ? 'after' : 'before', retryable: false } : null);
      answer = await again();
      if (answer.status === 200) break;
      expect(answer.status).toBe(503);
    }
    faults.rpc = null;
    expect(cut).toBeGreaterThan(8);
    expect(await versionsOf(o, [read.id, written.id, due.id])).toEqual([2, 2, 1]);
    expect(answer.json.rotated.map(({ version }: Deed) => version)).toEqual([2, 2]);
    expect(answer.json.rotation_due).toHaveLength(1);
    const events = (await inGate(o, ({ core }) => core.outbox.oldest(100))).filter(
      ({ type }) => type === 'SECRET_ROTATION_DUE',
    );
    expect(events).toHaveLength(1);
    const replayed = await again();
    expect([replayed.json, replayed.headers.get('idempotency-replayed')]).toEqual([answer.json, 'true']);
    expect(await problemOf(o)).toBe(null);
  });
});

describe('exposure report: unreadable parts of the audit log', () => {
  it('are reported as gaps', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const { id } = await newSecret(o);
    await key.o.get(`/secrets/${id}`);
    await moveLog(o, 4);
    await db
      .prepare("update audit_segments set entries = 'AAAA' where org_id = ? and first_sequence = 1")
      .bind(o.id)
      .run();
    const answer = await contain(o, key.id, { since: '2020-01-01T00:00:00Z' });
    expect(answer.json.gaps).toEqual([{ from: 1, to: 4 }]);
  });
});

describe('graph: a credential', () => {
  slow('shows its ancestors, descendants, permissions and reach', async () => {
    const o = await newOrg();
    for (const name of ['app/a', 'app/b', 'db']) await newSecret(o, { name });
    const gone = await newSecret(o, { name: 'app/gone' });
    await o.del(`/secrets/${gone.id}`);
    const key = await newKey(o, {
      scopes: ['secrets:read', 'tokens:write'],
      environments: ['production'],
      secrets: ['app/*'],
    });
    const session = await newSession(key.o);
    const made = await newAgent(key.o, { scopes: ['secrets:read'] });
    const dead = await newAgent(key.o, { scopes: ['secrets:read'] });
    await o.del(`/agent-credentials/${dead.id}`);
    const { status, json } = await o.get(`/credentials/${key.id}/graph`);
    expect(status).toBe(200);
    expect(json).toEqual({
      kind: 'api_key',
      id: key.id,
      name: 'k',
      parent: { kind: 'api_key', id: o.keyId, name: 'first key', relation: 'created_by' },
      children: expect.arrayContaining([
        {
          kind: 'session',
          id: session.id,
          name: 'k',
          relation: 'dies_with',
          dies_with: key.id,
          parent_id: key.id,
          depth: 1,
          ended_by_contain: true,
        },
        {
          kind: 'agent',
          id: made.id,
          name: 'a',
          relation: 'created_by',
          dies_with: null,
          parent_id: key.id,
          depth: 1,
          ended_by_contain: true,
        },
      ]),
      grants: [
        {
          source: 'credential',
          scopes: ['secrets:read', 'tokens:write'],
          environments: ['production'],
          secrets: ['app/*'],
          upstreams: null,
          expires_at: null,
        },
      ],
      reach: {
        alive: true,
        scopes: ['secrets:read', 'tokens:write'],
        environments: [{ environment: 'production', secrets: 2 }],
        upstreams: [],
      },
    });
    expect(json.children).toHaveLength(2);
    expect((await o.get(`/credentials/${session.id}/graph`)).json.parent).toEqual({
      kind: 'api_key',
      id: key.id,
      name: 'k',
      relation: 'dies_with',
    });
    expect((await o.get(`/credentials/${o.keyId}/graph`)).json.parent).toMatchObject({
      kind: 'member',
      name: 'Ann',
      relation: 'created_by',
    });
    await contain(o, key.id);
    expect((await o.get(`/credentials/${session.id}/graph`)).json.reach).toEqual({
      alive: false,
      scopes: [],
      environments: [],
      upstreams: [],
    });
    expect(statusOrCode(await o.get('/credentials/key_none/graph'))).toBe('NOT_FOUND');
  });

  it('exposure: the graph tells what a credential may use beside what it may read', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o, { name: 'stripe' });
    await newUpstream(o, { name: 'openai' });
    const user = await newKey(o, { scopes: ['secrets:use'], upstreams: ['stripe'] });
    const graph = async (by: Pick<typeof o, 'get'> = o) =>
      (await by.get(`/credentials/${user.id}/graph`)).json;
    expect(await graph()).toMatchObject({
      grants: [{ scopes: ['secrets:use'], upstreams: ['stripe'] }],
      reach: { environments: [], upstreams: [{ id, name }] },
    });
    const { o: asker } = await newKey(o, { scopes: ['tokens:read'] });
    expect((await graph(asker)).reach.upstreams).toEqual([]);
  });

  it('shows a browser session with the role of its member', async () => {
    const o = await newOrg();
    await newSecret(o);
    const { member, session } = await newSignedInMember(o, 'developer');
    const { json } = await o.get(`/credentials/${session}/graph`);
    expect(json.parent).toEqual({ kind: 'member', id: member, name: 'Bea', relation: 'dies_with' });
    expect(json.grants).toMatchObject([{ source: 'role', role: 'developer', environments: null }]);
    expect(json.reach.environments).toContainEqual({ environment: 'production', secrets: 1 });
  });
});
