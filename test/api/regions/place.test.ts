// Where the gate of an organisation is, as far as the service knows, and how that joins the choice of a
// region.
import { describe, expect, it } from 'vitest';
import type { Region } from '../../../src/db/regions';
import { loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { from, regionOf, warm } from '../../support/storage/replicas';
import { BOOTSTRAP, type Caller, callerOf, db, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** Creates an organisation with a location hint, from a region that is played. */
async function created(fields: object, headers: Record<string, string> = {}): Promise<Caller> {
  const { status, json } = await send('POST', '/api/v1/orgs', {
    token: BOOTSTRAP,
    headers,
    body: { name: 'Acme', owner: { email: 'ann@example.com', name: 'Ann' }, ...fields },
  });
  expect(status).toBe(201);
  return callerOf(json.org.id, json.api_key.token);
}
const placeOf = async (o: Caller) => (await o.get('')).json.location_hint;

describe('regions: the place of the gate', () => {
  it('is the hint of its creation, or else where that came from, or not known', async () => {
    expect(await placeOf(await created({ location_hint: 'apac-ne' }))).toBe('apac-ne');
    expect(await placeOf(await created({ location_hint: 'apac-ne' }, from('oc')))).toBe('apac-ne');
    expect(await placeOf(await created({}, from('oc')))).toBe('oc');
    expect(await placeOf(await created({}))).toBeNull();
  });

  slow('stays when the gate begins again from D1, and is changed by nothing', async () => {
    const o = await created({ location_hint: 'weur' });
    await o.patch('', { name: 'Initech', regions: ['oc'] }, from('oc'));
    const stored = db.prepare('SELECT regions FROM orgs WHERE id = ?').bind(o.id);
    await expect.poll(() => stored.first('regions')).toBe('["oc"]');
    await loseStorage(o);
    expect(await placeOf(o)).toBe('weur');
  });

  it.each<[gate: Region | undefined, replica: Region, caller: Region, answers: Region | 'gate']>([
    ['oc', 'apac-se', 'oc', 'gate'],
    [undefined, 'apac-se', 'oc', 'apac-se'],
    ['weur', 'wnam', 'oc', 'wnam'],
    ['weur', 'wnam', 'me', 'gate'],
    [undefined, 'wnam', 'oc', 'gate'],
  ])('gate in %s, replica in %s: a caller in %s asks %s', async (gate, replica, caller, answers) => {
    const o = await created({ regions: [replica], ...(gate && { location_hint: gate }) });
    const { id } = await newSecret(o);
    await warm(o, `/secrets/${id}`, replica);
    expect(regionOf(await o.get(`/secrets/${id}`, from(caller)))).toBe(answers);
    // The answer of a replica names the place of the gate too.
    await warm(o, `/secrets/${id}`, replica);
    expect(regionOf(await o.get(`/secrets/${id}`, from(caller)))).toBe(answers);
  });
});
