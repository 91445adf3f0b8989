// The regions of an organisation: what the setting takes, who changes it, and what of it is recorded.
import { describe, expect, it } from 'vitest';
import { MOST_REGIONS, REGIONS } from '../../../src/db/regions';
import { newKey } from '../../support/credentials';
import { loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { BOOTSTRAP, type Caller, callerOf, codeOf, db, newOrg, send, useWorld } from '../../support/world';

useWorld();

const create = (regions?: unknown) =>
  send('POST', '/api/v1/orgs', {
    token: BOOTSTRAP,
    body: { name: 'Acme', owner: { email: 'ann@example.com', name: 'Ann' }, regions },
  });
const set = (o: Caller, regions: unknown, headers?: Record<string, string>) =>
  o.patch('', { regions }, headers);
const regionsOf = async (o: Caller) => (await o.get('')).json.regions;
const reasons = async (o: Caller) =>
  ((await o.get('/audit-log?action=org.update')).json.data as { reason: string | null }[]).map(
    ({ reason }) => reason,
  );

describe('regions: the setting', () => {
  slow('is none for a new organisation, and what its creation says otherwise', async () => {
    expect(await regionsOf(await newOrg())).toEqual([]);
    for (const regions of [[], ['weur', 'oc'], 'auto']) {
      const { status, json } = await create(regions);
      expect([status, json.org.regions]).toEqual([201, regions]);
      expect(await regionsOf(callerOf(json.org.id, json.api_key.token))).toEqual(regions);
    }
  });

  slow('changes alone, and only where it is sent', async () => {
    const o = await newOrg();
    for (const regions of [['apac-ne', 'apac-se', 'me'], 'auto', REGIONS.slice(0, MOST_REGIONS), []]) {
      const { status, json } = await set(o, regions);
      expect([status, json.regions]).toEqual([200, regions]);
      expect(await regionsOf(o)).toEqual(regions);
    }
    await set(o, ['sam']);
    const { json } = await o.patch('', { name: 'Initech' });
    expect([json.name, json.regions, json.audit_retention_days]).toEqual(['Initech', ['sam'], null]);
  });

  it.each([
    ['no region', ['mars']],
    ['one region without a list', 'weur'],
    ['auto in a list', ['auto']],
    ['other letter case', ['WEUR']],
    ['null', null],
    ['a region of an object', [{ region: 'weur' }]],
    ['more than nine', REGIONS.slice(0, MOST_REGIONS + 1)],
  ])('refuses %s, and lists the regions', async (_what, regions) => {
    const o = await newOrg();
    const message = `must be auto, or a list of at most 9 of: ${REGIONS.join(', ')}`;
    for (const answer of [await create(regions), await set(o, regions)]) {
      expect(codeOf(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.error.details).toEqual([{ path: 'regions', message }]);
    }
  });

  it('refuses duplicates', async () => {
    const o = await newOrg();
    expect((await set(o, ['weur', 'oc', 'weur'])).json.error.details).toEqual([
      { path: 'regions', message: 'must not contain duplicates' },
    ]);
    expect(await regionsOf(o)).toEqual([]);
  });

  slow('stays when the gate begins again from D1', async () => {
    const o = await newOrg();
    await set(o, ['weur', 'oc']);
    await expect
      .poll(() => db.prepare('SELECT regions FROM orgs WHERE id = ?').bind(o.id).first('regions'))
      .toBe('["weur","oc"]');
    await loseStorage(o);
    expect(await regionsOf(o)).toEqual(['weur', 'oc']);
    await set(o, 'auto');
    await expect
      .poll(() => db.prepare('SELECT regions FROM orgs WHERE id = ?').bind(o.id).first('regions'))
      .toBe('"auto"');
    await loseStorage(o);
    expect(await regionsOf(o)).toBe('auto');
  });
});

describe('permission: regions', () => {
  slow('take org:write, without limits', async () => {
    const o = await newOrg();
    const status = async (fields: Record<string, unknown>) =>
      codeOf(await set((await newKey(o, fields)).o, ['weur']));
    expect(await status({ scopes: ['org:read'] })).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(await status({ scopes: ['org:write'], environments: ['production'] })).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(await regionsOf(o)).toEqual([]);
    expect(await status({ scopes: ['org:write'] })).toEqual([200, undefined]);
    expect(await regionsOf(o)).toEqual(['weur']);
  });
});

describe('audit: regions', () => {
  it('an entry says from where to where, and what the caller gave as the reason', async () => {
    const o = await newOrg();
    await set(o, ['weur', 'oc']);
    await set(o, 'auto', { 'X-Access-Reason': 'readers everywhere' });
    await o.patch('', { regions: [], audit_retention_days: 365 });
    await o.patch('', { name: 'Initech' }, { 'X-Access-Reason': 'renamed' });
    expect(await reasons(o)).toEqual([
      'renamed',
      'audit_retention_days: null to 365. regions: auto to none',
      'regions: weur, oc to auto. readers everywhere',
      'regions: none to weur, oc',
    ]);
  });
});
