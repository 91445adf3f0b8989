// Imports: what becomes of the items of an export, for every way of meeting existing secrets.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey } from '../../support/credentials';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const importing = (o: Caller, data: unknown, fields: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  o.post('/integrations/import', { source: 'svc', onConflict: 'skip', data, ...fields }, headers);

const valuesOf = async (o: Caller, environment = 'production') => (await o.get(`/environments/${environment}/values`)).json.values;

const result = (fields: Record<string, unknown>) => ({ created: [], updated: [], skipped: [], failed: [], ...fields });

describe('import', () => {
  it('creates secrets of type generic, in the default environment or another', async () => {
    const o = await newOrg();
    const answer = await importing(o, { A: 'one', 'app/b': 'two' });
    expect([answer.status, answer.json]).toEqual([200, result({ created: ['A', 'app/b'] })]);
    expect((await o.get('/secrets/by-name/A')).json).toMatchObject({
      value: 'one',
      type: 'generic',
      version: 1,
      tags: {},
      generated: false,
    });
    expect((await importing(o, { A: 'three' }, { environmentId: 'staging', prefix: 'x/' })).json).toEqual(result({ created: ['x/A'] }));
    expect(await valuesOf(o, 'staging')).toEqual({ 'x/A': 'three' });
    expect(codeOf(await importing(o, { A: 'a' }, { environmentId: 'none' }))).toEqual([404, 'NOT_FOUND']);
  });

  it('skip leaves existing secrets, overwrite gives them new versions, fail changes nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'old', type: 'password', tags: { team: 'core' } });
    await newSecret(o, { name: 'SAME', value: 'same' });
    const data = { A: 'new', SAME: 'same', NEW: 'value' };
    const failed = await importing(o, data, { onConflict: 'fail' });
    expect(codeOf(failed)).toEqual([409, 'IMPORT_CONFLICT']);
    expect(failed.json.error.details.map(({ path }: { path: string }) => path)).toEqual(['A', 'SAME']);
    expect(await valuesOf(o)).toEqual({ A: 'old', SAME: 'same' });
    expect((await importing(o, data, { onConflict: 'overwrite' })).json).toEqual(
      result({ created: ['NEW'], updated: ['A'], skipped: ['SAME'] }),
    );
    expect((await o.get('/secrets/by-name/A')).json).toMatchObject({ value: 'new', version: 2, type: 'password', tags: { team: 'core' } });
    expect((await importing(o, { A: 'again', B: 'b' })).json).toEqual(result({ created: ['B'], skipped: ['A'] }));
    expect((await o.get('/secrets/by-name/A')).json.value).toBe('new');
  });

  it('a dry run gives the same answer, refusals included, and writes nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'old' });
    for (const onConflict of ['skip', 'overwrite', 'fail']) {
      const body = { A: 'new', B: 'b', C: '' };
      const dry = await importing(o, body, { onConflict, dryRun: true });
      expect(await valuesOf(o)).toEqual({ A: 'old' });
      const target = await newOrg();
      await newSecret(target, { name: 'A', value: 'old' });
      const real = await importing(target, body, { onConflict });
      expect([dry.status, dry.json.error?.code ?? dry.json]).toEqual([real.status, real.json.error?.code ?? real.json]);
    }
    expect(codeOf(await importing(o, '{', { dryRun: true }))).toEqual([422, 'IMPORT_UNREADABLE']);
  });

  it('5,000 secrets are one transaction, one audit entry and an event each', async () => {
    const o = await newOrg();
    const data = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`NAME_${n}`, `value ${n}`]));
    const answer = await importing(o, data, { onConflict: 'fail' });
    expect(answer.status).toBe(200);
    expect(answer.json.created).toHaveLength(5000);
    const [entry, ...others] = (await o.get('/audit-log?action=integration.import')).json.data;
    expect(others).toEqual([]);
    expect(entry.imported).toMatchObject({ source: 'svc', created: 5000, updated: 0, skipped: 0, failed: 0, dry_run: false });
    expect(entry.imported.names.length + entry.imported.unnamed).toBe(5000);
    expect((await o.get('/secrets/by-name/NAME_4999')).json.value).toBe('value 4999');
    const events = (await o.get('/events?limit=100&types=SECRET_CREATED')).json.data;
    expect(events).toHaveLength(100);
    const again = await importing(o, Object.fromEntries(Object.keys(data).map((name) => [name, 'other'])), { onConflict: 'overwrite' });
    expect(again.json.updated).toHaveLength(5000);
    expect((await o.get('/secrets/by-name/NAME_17')).json).toMatchObject({ value: 'other', version: 2 });
    expect((await importing(o, { ...data, MORE: 'x' })).status).toBe(413);
  });
});
