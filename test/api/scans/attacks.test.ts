// Attacks on scans: as an oracle for values, as a way of leaving text behind, and as work for the gate.
import { describe, expect, it, vi } from 'vitest';
import * as engine from '../../../src/domains/scans/engine/scan';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { PATTERNS } from '../../support/limits/largest';
import { plant } from '../../support/limits/work';
import { slow } from '../../support/slow';
import { codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const VALUE = 'the-value-of-a-secret-0123456789';
const TEXT = 'a-line-that-nobody-may-see-0123456789';
const AWS = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');

describe('scan: secrecy', () => {
  slow(
    'neither the text nor its path is in D1, in the gate, on the queue, in the log or in an error',
    async () => {
      const logged: string[] = [];
      for (const level of ['log', 'warn', 'error', 'info'] as const)
        vi.spyOn(console, level).mockImplementation((...args) => void logged.push(args.join(' ')));
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'A', value: VALUE });
      const content = `${TEXT}\nkey = "${VALUE}"\n${AWS}\n`;
      const path = 'a-folder-that-nobody-may-see/a.txt';
      const answer = await o.post('/scans', { files: [{ path, content }] }, { 'Idempotency-Key': 'scan' });
      expect(answer.json.findings.map(({ secret_id }: { secret_id?: string }) => secret_id)).toEqual([
        id,
        undefined,
      ]);
      await o.post('/scans?format=sarif', { text: content, revoke_live: true });
      const refused = await o.post('/scans', {
        text: content,
        files: [{ path, content }],
        [TEXT.slice(0, 30)]: 1,
      });
      expect(codeOf(refused)).toEqual([400, 'VALIDATION_FAILED']);
      const audit = (await o.get('/audit-log')).text;
      vi.restoreAllMocks();
      const tables =
        "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name not like 'sqlite%'";
      const stored = await inGate(o, (_gate, { storage }) =>
        JSON.stringify(
          storage.sql
            .exec<{ name: string }>(tables)
            .toArray()
            .map(({ name }) => storage.sql.exec(`select * from "${name}"`).toArray()),
        ),
      );
      const names = (await db.prepare(tables).all<{ name: string }>()).results;
      const inDatabase = JSON.stringify(
        await Promise.all(names.map(({ name }) => db.prepare(`select * from "${name}"`).all())),
      );
      expect(stored).toContain('SECRET_LEAKED');
      expect(logged.join('\n')).toContain(o.id);
      const everywhere = {
        stored,
        inDatabase,
        audit,
        logged: logged.join('\n'),
        queued: JSON.stringify(faults.queued),
        answer: answer.text,
      };
      for (const [where, text] of Object.entries(everywhere))
        for (const needle of [VALUE, VALUE.slice(0, 12), TEXT, AWS, AWS.slice(4)])
          expect(text.includes(needle), `${needle} in ${where}`).toBe(false);
      for (const where of ['stored', 'inDatabase', 'audit', 'logged', 'queued'] as const)
        expect(everywhere[where]).not.toContain('a-folder-that');
    },
  );
});

describe('scan: oracle', () => {
  it('a guess gets the same response whether or not a secret out of reach has that value', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'prod/A', value: VALUE });
    const limited = await newKey(o, { scopes: ['scans:write', 'secrets:read'], secrets: ['dev/*'] });
    const right = await limited.o.post('/scans', { text: VALUE });
    const wrong = await limited.o.post('/scans', { text: VALUE.replace('9', '8') });
    expect({ ...right.json, id: '' }).toEqual({ ...wrong.json, id: '' });
    expect({ ...right.json, id: '' }).toEqual({ id: '', findings: [], truncated: false });
    const entries = (await o.get('/audit-log?action=scan.create')).json.data;
    expect(entries.map(({ findings }: { findings: object }) => findings)).toEqual(
      Array(2).fill({ known: 0, secrets: 0, tokens: 0 }),
    );
  });

  slow('comparing names with patterns takes bounded steps, and ends silently', async () => {
    const o = await newOrg();
    const name = (n: number) => `${'n'.repeat(250)}${1000 + n}`;
    for (let n = 0; n < 150; n += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, more) => newSecret(o, { name: name(n + more), value: VALUE })),
      );
    const { id } = await newSecret(o, { name: 'zz/A', value: VALUE });
    const fields = { scopes: ['scans:write', 'secrets:read'] };
    const few = await newKey(o, { ...fields, secrets: ['zz/*'] });
    expect((await few.o.post('/scans', { text: VALUE })).json.findings).toMatchObject([{ secret_id: id }]);
    const many = await newKey(o, { ...fields, secrets: [...PATTERNS.slice(1), 'zz/*'] });
    const { json } = await many.o.post('/scans', { text: VALUE });
    expect([json.findings, json.truncated]).toEqual([[], false]);
  });
});

describe('scan: cost', () => {
  const gateCalls = async (run: () => Promise<{ status: number }>) => {
    Object.assign(faults, { gate: 0, d1: 0 });
    const { status } = await run();
    return { status, gate: faults.gate, d1: faults.d1 };
  };

  it('a scan: two gate calls and no D1; a third if a stored value is found', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: VALUE });
    expect(await gateCalls(() => o.post('/scans', { text: TEXT }))).toEqual({ status: 201, gate: 2, d1: 0 });
    expect(await gateCalls(() => o.post('/scans', { text: VALUE }))).toEqual({ status: 201, gate: 3, d1: 0 });
    // All calls of the gate count once against the rate limit.
    const left = async () =>
      Number((await o.post('/scans', { text: VALUE })).headers.get('x-ratelimit-remaining'));
    expect((await left()) - (await left())).toBe(1);
  });

  it('who may not scan, is over the rate limit or has ended causes no scan', async () => {
    const o = await newOrg();
    const scans = vi.spyOn(engine, 'scanFiles');
    const reader = await newKey(o, { scopes: ['secrets:read'] });
    expect((await reader.o.post('/scans', { text: VALUE })).status).toBe(403);
    const ended = await newKey(o, { scopes: ['scans:write'] });
    await o.del(`/api-keys/${ended.id}`);
    expect((await ended.o.post('/scans', { text: VALUE })).status).toBe(401);
    const agent = await newAgent(o, { scopes: ['scans:write'], rate_limit: 1 });
    expect((await agent.o.post('/scans', { text: VALUE })).status).toBe(201);
    expect((await agent.o.post('/scans', { text: VALUE })).status).toBe(429);
    expect(scans).toHaveBeenCalledTimes(1);
    vi.restoreAllMocks();
  });

  slow(
    '1 MiB of different words: 20,000 candidates are compared, and the rest is said to be left out',
    async () => {
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'A', value: VALUE });
      const words = Array.from({ length: 80_000 }, (_, n) => `w-${n}-xyz`).join(' ');
      const { json } = await o.post('/scans', { text: `${words.slice(0, 1_000_000)}\nKEY=${VALUE}` });
      expect(json).toMatchObject({ findings: [{ secret_id: id, line: 2 }], truncated: true });
    },
  );

  slow('more findings than are listed: the first 1,000, and that there are more', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: VALUE });
    const { json } = await o.post('/scans', { text: `${`${AWS}\n`.repeat(1200)}${VALUE}` });
    expect([json.findings.length, json.truncated]).toEqual([1000, true]);
  });

  it('more secrets than are listed have a value: the first 1,000, and that there are more', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: VALUE });
    const ask = async () => {
      const { json } = await o.post('/scans', { text: VALUE });
      return [json.findings.length, json.truncated];
    };
    await plant(o, id, 999);
    expect(await ask()).toEqual([1000, false]);
    await plant(o, id, 1000);
    expect(await ask()).toEqual([1000, true]);
  });
});
