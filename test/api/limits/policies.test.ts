// The work of policies: bounded for an organisation, and done in turns, so that no request holds up the
// others.

import { describe, expect, it } from 'vitest';
import { newKey } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

/**
 * Naming policies with the largest patterns, which every name below matches: as many as an organisation can
 * have.
 */
async function widePolicies(o: Caller) {
  const pattern = '^[A-Z0-9_]{1,110}[A-Z0-9_]*$';
  for (let n = 0; n < 100; n++) {
    const { status, json } = await o.post('/policies', {
      name: `wide ${n}`,
      kind: 'naming',
      config: { pattern: `${pattern}|^${n}` },
    });
    if (status === 201) continue;
    expect([status, json.error.code]).toEqual([409, 'LIMIT_REACHED']);
    return n;
  }
  throw new Error('no bound');
}

const LONG = 'N'.repeat(200);
const dotenv = (count: number) =>
  Array.from({ length: count }, (_, n) => `${LONG}${String(n).padStart(4, '0')}=x`).join('\n');

describe('limits: patterns of policies', () => {
  it('are bounded for the organisation; a change may narrow them', async () => {
    const o = await newOrg();
    expect(await widePolicies(o)).toBeGreaterThan(1);
    const names = Array.from({ length: 60 }, (_, n) => `team-${n}/*`);
    const small = await newPolicy(o, 'naming', { pattern: '^[A-Z]' }, { applies_to: { names: ['x*'] } });
    const { data } = (await o.get('/policies')).json;
    const wide = data.find(({ name }: { name: string }) => name === 'wide 0');
    expect((await o.patch(`/policies/${small.id}`, { config: wide.config })).json.error.code).toBe(
      'LIMIT_REACHED',
    );
    expect((await o.patch(`/policies/${wide.id}`, { config: { pattern: '^[A-Z]' } })).status).toBe(200);
    expect((await o.patch(`/policies/${small.id}`, { applies_to: { names } })).status).toBe(200);
  });
});

/** Rotation policies with wide patterns of names, as many as an organisation can have. */
async function wideRotations(o: Caller) {
  const names = Array.from({ length: 8 }, (_, n) => `${'N'.repeat(90)}*${n}*x`);
  for (let n = 0; n < 200; n++) {
    const { status } = await o.post('/policies', {
      name: `r ${n}`,
      kind: 'rotation',
      applies_to: { names },
      config: { max_age_days: 30 },
    });
    if (status !== 201) return;
  }
  throw new Error('no bound');
}

describe('limits: reports that compare names with policies', () => {
  slow(
    'of compliance work in slices: other requests are answered in between, and a root has few',
    { timeout: 60_000 },
    async () => {
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'KEPT' });
      expect(
        (await o.post('/integrations/import', { source: 'dotenv', onConflict: 'skip', data: dotenv(400) }))
          .json.created,
      ).toHaveLength(400);
      await wideRotations(o);
      const other = (await newKey(o, { scopes: ['compliance:read'] })).o;
      const under = { running: 0 };
      const report = (by: Caller) => {
        under.running++;
        return by.get('/compliance/report?format=json').finally(() => {
          under.running--;
        });
      };
      const reports = [1, 2, 3, 4, 5].map(() => report(o));
      let reads = 0;
      for (; under.running > 1 && reads < 10; reads++)
        expect((await o.get(`/secrets/${id}`)).status).toBe(200);
      expect(reads).toBe(10);
      const done = await Promise.all(reports);
      const refused = done.filter(({ status }) => status === 429);
      expect(refused.map(({ json }) => json.error.code)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
      const made = done.filter(({ status }) => status === 200);
      expect(made).toHaveLength(3);
      // The work of a report is bounded, and it says where it ended.
      const { findings } = (made[0] as (typeof made)[0]).json;
      const { tested } = findings.find((one: { id: string }) => one.id === 'secrets-rotation-overdue');
      expect(tested).toMatch(/Only \d+ secrets could be compared with the policies/);
      // Whoever has finished counts no more.
      expect((await report(other)).status).toBe(200);
    },
  );
});

describe('limits: exposure reports', () => {
  /** An organisation with many secrets, and keys with wide patterns that have read in bulk. */
  async function newReaders(count: number) {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'KEPT' });
    expect(
      (await o.post('/integrations/import', { source: 'dotenv', onConflict: 'skip', data: dotenv(400) })).json
        .created,
    ).toHaveLength(400);
    const secrets = Array.from({ length: 16 }, (_, n) => `${'N'.repeat(240)}*${n}*x`);
    const keys = [];
    for (let n = 0; n < count; n++) {
      const key = await newKey(o, { scopes: ['secrets:read'], secrets });
      for (const prefix of ['', 'N', 'NN', 'NNN'])
        expect((await key.o.get(`/environments/production/values?prefix=${prefix}`)).status).toBe(200);
      keys.push(key.id);
    }
    return { o, id, keys };
  }

  slow(
    'of incidents work in slices: other requests are answered in between, and a root has few',
    { timeout: 60_000 },
    async () => {
      const { o, id, keys } = await newReaders(1);
      const { incident_id } = (await o.post(`/credentials/${keys[0]}/contain`, {})).json;
      let running = 5;
      const reports = [1, 2, 3, 4, 5].map(() =>
        o.get(`/incidents/${incident_id}`).finally(() => {
          running--;
        }),
      );
      let reads = 0;
      for (; running > 0 && reads < 10; reads++) expect((await o.get(`/secrets/${id}`)).status).toBe(200);
      expect(reads).toBe(10);
      const done = (await Promise.all(reports)).map(({ status, json }) => [status, json.error?.code]);
      expect(done.filter(([status]) => status === 200)).toHaveLength(3);
      expect(done.filter(([, code]) => code === 'RATE_LIMITED')).toHaveLength(2);
    },
  );

  slow(
    'of containments wait for others of their root: what has taken effect is not refused',
    { timeout: 60_000 },
    async () => {
      const { o, keys } = await newReaders(5);
      const contain = (key: string) =>
        o.post(`/credentials/${key}/contain`, {}, { 'Idempotency-Key': `contain ${key}` });
      const previews = [1, 2, 3, 4].map(() => o.post(`/credentials/${keys[0]}/contain`, { dry_run: true }));
      const done = await Promise.all(keys.map(contain));
      expect(done.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      // A preview changes nothing, so it is refused like any other report.
      expect((await Promise.all(previews)).map(codeOf)).toContainEqual([429, 'RATE_LIMITED']);
      // A repeat has the same report, also with the key of the request.
      for (const [n, { json }] of done.entries()) {
        const key = keys[n] as string;
        const { read } = json;
        expect((await contain(key)).json).toEqual(json);
        expect((await o.post(`/credentials/${key}/contain`, {})).json.read).toEqual(read);
      }
    },
  );
});

describe('limits: the work of policies', () => {
  slow('of an import is done in turns: another request is answered in between', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'KEPT' });
    await widePolicies(o);
    const body = { source: 'dotenv', onConflict: 'skip', dryRun: true, data: dotenv(400) };
    let isOver = false;
    const imported = o.post('/integrations/import', body).finally(() => {
      isOver = true;
    });
    let reads = 0;
    for (; !isOver && reads < 10; reads++) expect((await o.get(`/secrets/${id}`)).status).toBe(200);
    expect((await imported).json.created).toHaveLength(400);
    expect(reads).toBe(10);
  });

  it('of an import plans each secret once, however many turns its names take', async () => {
    const o = await newOrg();
    await widePolicies(o);
    let planned = 0;
    await inCore(o, ({ rows }) => {
      const { sealedBytes } = rows;
      // Asked for each planned secret, and for all together.
      rows.sealedBytes = () => {
        planned++;
        return sealedBytes();
      };
    });
    const body = { source: 'dotenv', onConflict: 'skip', dryRun: true, data: dotenv(300) };
    expect((await o.post('/integrations/import', body)).json.created).toHaveLength(300);
    expect(planned).toBe(301);
  });

  slow('of a promotion is done in turns', async () => {
    const o = await newOrg();
    const body = { source: 'dotenv', onConflict: 'skip', environmentId: 'staging', data: dotenv(200) };
    expect((await o.post('/integrations/import', body)).json.created).toHaveLength(200);
    await widePolicies(o);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    const { status, json, text } = await o.post('/environments/production/promote', { from: 'staging' });
    expect([status, json.created?.length], text).toEqual([200, 200]);
  });

  it('a bulk read judges policies in turns, and withholds what a policy holds', async () => {
    const o = await newOrg();
    await widePolicies(o);
    const data = `${dotenv(60)}\nHELD=x`;
    expect(
      (await o.post('/integrations/import', { source: 'dotenv', onConflict: 'skip', data })).json.created,
    ).toHaveLength(61);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD', `${LONG}9*`] } });
    const { status, json } = await o.get('/environments/production/values');
    expect([status, Object.keys(json.values).length, json.withheld]).toEqual([200, 60, ['HELD']]);
  });
});
