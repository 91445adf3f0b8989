// Checkpoints of the audit log: what is signed and when, who can check it, and that what was signed cannot be
// taken back unnoticed.
import canonicalize from 'canonicalize';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/crypto/digest';
import { checkpoints } from '../../../src/gate/archive/checkpoints';
import { runTasks } from '../../../src/gate/tasks/run';
import { newKey } from '../../support/credentials';
import { faults, until } from '../../support/faults';
import { askOf, inCore, inGate } from '../../support/gate';
import { append, checkpoint, rowsOf, signWaiting, verify } from '../../support/governance/audit';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, newOrg, send, useWorld } from '../../support/world';

useWorld();

const list = async (o: Caller, query = '') => (await o.get(`/audit-log/checkpoints${query}`)).json;

/** Whether a checkpoint is genuine, as an outsider finds out: with the public key alone. */
async function isGenuine(
  o: Caller,
  { org, sequence, hash, time, signature }: Record<string, string | number>,
) {
  const { jwk } = (await o.get('/audit-log/key')).json;
  const key = await crypto.subtle.importKey(
    'jwk',
    { kty: jwk.kty, crv: jwk.crv, x: jwk.x },
    'Ed25519',
    false,
    ['verify'],
  );
  const message = new TextEncoder().encode(canonicalize({ org, sequence, hash, time }));
  return crypto.subtle.verify('Ed25519', key, Uint8Array.fromBase64(signature as string), message);
}

/** Runs what is due at a time; answers how many checkpoint jobs went on the queue. */
async function tick(o: Caller, now: number) {
  faults.clock = now;
  faults.queued = [];
  await inCore(o, (core) => runTasks(core, now));
  return faults.queued.filter((message) => (message as { job?: string }).job === 'checkpoint').length;
}

describe('audit checkpoints', () => {
  slow(
    'are signed with the Ed25519 key of the organisation, over canonical JSON, and are listed in pages',
    async () => {
      const o = await newOrg();
      await checkpoint(o);
      await o.get('/environments');
      await checkpoint(o);
      const { data } = await list(o);
      expect(data.map(({ org }: { org: string }) => org)).toEqual([o.id, o.id]);
      expect(data[0].sequence).toBeGreaterThan(data[1].sequence);
      for (const one of data) expect(await isGenuine(o, one)).toBe(true);
      expect(await isGenuine(o, { ...data[0], sequence: 1 })).toBe(false);
      const first = await list(o, '?limit=1');
      expect([first.data, first.has_more]).toEqual([[data[0]], true]);
      expect((await list(o, `?limit=1&cursor=${encodeURIComponent(first.next_cursor)}`)).data).toEqual([
        data[1],
      ]);
      const lines = (await o.get('/audit-log/checkpoints?format=ndjson')).text.trim().split('\n');
      expect(lines.map((line) => JSON.parse(line))).toEqual(data);
    },
  );

  slow('key: a JWK, its thumbprint and PEM; another organisation has another one, and it stays', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { key_id, jwk, pem } = (await o.get('/audit-log/key')).json;
    expect(jwk).toEqual({
      kty: 'OKP',
      crv: 'Ed25519',
      x: expect.stringMatching(/^[\w-]{43}$/),
      kid: key_id,
      use: 'sig',
      alg: 'EdDSA',
    });
    expect(pem).toMatch(/^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=]{60}\n-----END PUBLIC KEY-----\n$/);
    faults.isolate++;
    expect((await o.get('/audit-log/key')).json.key_id).toBe(key_id);
    expect((await other.get('/audit-log/key')).json.key_id).not.toBe(key_id);
  });

  it('need audit:read', async () => {
    const o = await newOrg();
    const { o: low } = await newKey(o, { scopes: ['secrets:list'] });
    for (const path of ['/audit-log/checkpoints', '/audit-log/key'])
      expect(codeOf(await low.get(path))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('are signed ten minutes after activity, not for an idle organisation, and signing is not activity', async () => {
    const o = await newOrg();
    const start = Date.now();
    expect(await tick(o, start + 9 * MINUTE)).toBe(0);
    expect(await tick(o, start + 11 * MINUTE)).toBe(1);
    await until(async () => (await rowsOf('audit_checkpoints', o)).length > 0);
    const head = await inCore(o, ({ auditLog }) => auditLog.head().sequence);
    expect((await rowsOf('audit_checkpoints', o)).map(({ sequence }) => sequence)).toEqual([head]);
    for (const minutes of [22, 33, 44, 1000]) expect(await tick(o, start + minutes * MINUTE)).toBe(0);
    expect(await inCore(o, ({ schedule }) => schedule.now(start + 1e9).includes('checkpoint'))).toBe(false);
    await o.get('/environments');
    expect(await tick(o, start + 1005 * MINUTE)).toBe(0);
    expect(await tick(o, start + 1011 * MINUTE)).toBe(1);
  });

  it('are made when a segment closes, at its end', async () => {
    const o = await newOrg();
    await append(o, 20);
    const { json } = await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    await signWaiting(o);
    expect((await rowsOf('audit_checkpoints', o)).map(({ sequence }) => sequence)).toEqual([json.head]);
    expect((await rowsOf('audit_segments', o))[0]?.last_hash).toBe(
      (await rowsOf('audit_checkpoints', o))[0]?.hash,
    );
  });

  it('are an event once a day', async () => {
    const o = await newOrg();
    const told = () =>
      inCore(o, ({ outbox }) =>
        outbox
          .oldest(100)
          .filter(({ type }) => type === 'AUDIT_CHECKPOINT')
          .map(({ data }) => data),
      );
    await checkpoint(o);
    await o.get('/environments');
    await checkpoint(o);
    const first = (await list(o)).data.at(-1);
    const { org: _, ...data } = first;
    expect(await told()).toEqual([data]);
    faults.clock = Date.now() + 86_400_000;
    await o.get('/environments');
    await checkpoint(o);
    expect((await told()).length).toBe(2);
  });

  it('a job delivered twice, or twice concurrently, leaves one checkpoint per sequence and no audit entry', async () => {
    const o = await newOrg();
    await inCore(o, (core) => checkpoints(core).want({ ...core.auditLog.head(), time: core.now() }));
    const head = await inCore(o, ({ auditLog }) => auditLog.head().sequence);
    await Promise.all([signWaiting(o), signWaiting(o), signWaiting(o)]);
    const rows = await rowsOf('audit_checkpoints', o);
    await signWaiting(o);
    expect(await rowsOf('audit_checkpoints', o)).toEqual(rows);
    expect(rows.length).toBe(1);
    expect(await inCore(o, ({ auditLog }) => auditLog.head().sequence)).toBe(head);
  });

  it('the gate stores its own statement, and a signature of none that waits is dropped', async () => {
    const o = await newOrg();
    await inCore(o, (core) => checkpoints(core).want({ ...core.auditLog.head(), time: core.now() }));
    const [statement] = await inCore(o, (core) => checkpoints(core).waiting(1));
    const { sequence, hash } = statement as { sequence: number; hash: string };
    const forged = { sequence, hash: 'f'.repeat(64), time: 1, key_id: 'k', signature: 's' };
    const ask = await askOf(o, 'audit.checkpoint', 'system', {
      operation: 'audit.checkpoint_store',
      path_org: null,
      input: { signed: [forged, { ...forged, sequence: sequence - 1 }] },
    });
    expect((await inGate(o, (gate) => gate.call(ask))).outcome.kind).toBe('ok');
    expect((await rowsOf('audit_checkpoints', o)).map((row) => [row.sequence, row.hash])).toEqual([
      [sequence, hash],
    ]);
  });

  it('permission: no credential can sign or store one', async () => {
    const o = await newOrg();
    const ask = await askOf(
      o,
      'audit.checkpoint',
      { kind: 'api_key', org: o.id, hash: sha256(o.token) },
      { path_org: null },
    );
    const { outcome } = await inGate(o, (gate) => gate.call(ask));
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { code: 'CREDENTIAL_KIND_NOT_ALLOWED' } });
  });

  it('a job that is cut off between signing and storing, or while D1 is away, is done again with the same statement', async () => {
    const o = await newOrg();
    await append(o, 3);
    await inCore(o, (core) => checkpoints(core).want({ ...core.auditLog.head(), time: core.now() }));
    const wanted = await inCore(o, (core) => checkpoints(core).waiting(10));
    for (const fate of ['before', 'after'] as const) {
      Object.assign(faults, { d1: 0, fail: (kind: string) => (kind === 'batch' ? fate : null) });
      await expect(signWaiting(o)).rejects.toThrow();
      faults.fail = null;
      expect(await inCore(o, (core) => checkpoints(core).waiting(10))).toEqual(wanted);
      await append(o, 1);
    }
    await signWaiting(o);
    const rows = await rowsOf('audit_checkpoints', o);
    expect(rows).toMatchObject(wanted);
    expect((await verify(o)).ok).toBe(true);
  });

  it('a message that is lost altogether is sent again', async () => {
    const o = await newOrg();
    const start = Date.now();
    await inCore(o, async (core) => {
      const { enqueue } = core;
      core.enqueue = async () => {};
      await runTasks(core, start + 11 * MINUTE);
      core.enqueue = enqueue;
    });
    expect(await rowsOf('audit_checkpoints', o)).toEqual([]);
    expect(await tick(o, start + 22 * MINUTE)).toBe(1);
  });

  it('of an organisation that has ended are neither wanted nor signed', async () => {
    const o = await newOrg();
    const { name } = (await o.get('')).json;
    expect((await o.del('', { confirm: name })).status).toBe(204);
    await inCore(o, ({ schedule }) => schedule.at('checkpoint', 1));
    expect(await tick(o, Date.now() + 20 * MINUTE)).toBe(0);
    await signWaiting(o);
  });
});
