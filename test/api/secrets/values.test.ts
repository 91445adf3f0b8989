// All values of an environment at once: pages from the gate, bounds, and one moment for all that is answered.

import { describe, expect, it } from 'vitest';
import { newApprovalPolicy, newOffice } from '../../support/approvals';
import { faults, holdNext } from '../../support/faults';
import { inCore } from '../../support/gate';
import { type Caller, newOrg, useWorld } from '../../support/world';

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

describe('bulk read: all values of an environment', () => {
  it('takes one gate call for 8 MiB, no D1, and at most 16 MiB', async () => {
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
    expect(Object.keys((await o.get(`${VALUES}?prefix=A0`)).json.values)).toHaveLength(100);
  });

  it('shows one point in time, also if values change between two pages', async () => {
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
      const [a, z] = [Number(json.values.A), Number(json.values.Z)];
      expect(a === z || a === z + 1, `A is ${a} and Z is ${z}`).toBe(true);
      read++;
    }
    await writing;
    expect(read).toBeGreaterThan(0);

    // The second page waits for D1 while the first one's moment passes.
    await inCore(o, ({ ciphertexts }) => ciphertexts.drop(last));
    const { held, release } = holdNext();
    const all = o.get(VALUES);
    await held();
    for (const id of [first, last]) expect((await o.patch(`/secrets/${id}`, { value: '9' })).status).toBe(200);
    release();
    const { A, Z } = (await all).json.values;
    expect([A, Z]).toEqual(['9', '9']);
  });

  it('audit log: the entry of each page says what was withheld, even if the set changed between two pages', async () => {
    const { o } = await newOffice();
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    const held = (await o.post('/secrets', { name: 'HELD', type: 'generic', value: '0' })).json.id;
    const first = (await o.post('/secrets', { name: 'A', type: 'generic', value: '0' })).json.id;
    await fill(o, 100);
    const last = (await o.post('/secrets', { name: 'Z', type: 'generic', value: '0' })).json.id;
    await inCore(o, ({ ciphertexts }) => ciphertexts.drop(last));
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
  });
});
