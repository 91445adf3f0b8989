// KV version 2 on the mount of an environment: one secret a path.
import { describe, expect, it } from 'vitest';
import { newBreakGlass, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { seen, vaultOf } from '../../support/integrations/vault';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const CAS = 'check-and-set parameter did not match the current version';
const metadata = (version: number, more = {}) => ({
  version,
  created_time: TIME,
  deletion_time: '',
  destroyed: false,
  custom_metadata: null,
  ...more,
});

describe('Vault: read', () => {
  it('envelope: a read has all eight keys, the exact type and the lease of the environment', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'app/db', value: 'hunter2', tags: { team: 'core' } });
    const { json, headers } = await vaultOf(o).get('production/data/app/db');
    expect(json).toEqual({
      request_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
      lease_id: '',
      renewable: false,
      lease_duration: 60,
      data: { data: { value: 'hunter2' }, metadata: metadata(1, { custom_metadata: { team: 'core' } }) },
      wrap_info: null,
      warnings: null,
      auth: null,
    });
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
      'application/json',
      'no-store',
    ]);
  });

  slow('versions: ?version reads an earlier one, 0 the newest, and an unknown one is 404', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    for (const n of ['1', '2', '3']) await vault.put('production/data/s', { data: { n } });
    const at = async (query: string) => (await vault.get(`production/data/s${query}`)).json.data;
    expect(await at('?version=1')).toEqual({ data: { n: '1' }, metadata: metadata(1) });
    expect(await at('?version=0')).toMatchObject({ data: { n: '3' } });
    expect(await at('')).toMatchObject({ data: { n: '3' } });
    expect(seen(await vault.get('production/data/s?version=4'))).toEqual([404, { errors: [] }]);
    expect((await vault.get('production/data/s?version=x')).status).toBe(400);
  });

  slow('absent: 404 without a reason; a mount that does not exist is no handler', async () => {
    const vault = vaultOf(await newOrg());
    expect(seen(await vault.get('production/data/no'))).toEqual([404, { errors: [] }]);
    expect(seen(await vault.get('elsewhere/data/no'))).toEqual([
      404,
      { errors: ['no handler for route "elsewhere/data/no". route entry not found.'] },
    ]);
    expect(seen(await vault.get('Not_A_Slug/data/no'))).toEqual([
      404,
      { errors: ['no handler for route "Not_A_Slug/data/no". route entry not found.'] },
    ]);
    expect(seen(await vault.get('production/no'))).toEqual([
      404,
      { errors: ['no handler for route "production/no". route entry not found.'] },
    ]);
  });

  slow('lossless: a map keeps its numbers, the order of its keys and its spelling', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const map = '{"z":12345678901234567,"a":1.10,"2":[1, {"é":"\\u00e9"}],"1":null}';
    const written = await vault.put('production/data/m', `{"options":{},"data": ${map} ,"cas":0}`);
    expect(written.json.data).toEqual(metadata(1));
    const read = await vault.get('production/data/m');
    expect(read.text).toContain(`"data":{"data":${map},"metadata":`);
    expect((await o.get('/secrets/by-name/m')).json).toMatchObject({ type: 'json', value: map });
  });

  slow('lossless: each kind of value reads as a map, and writing that map back changes nothing', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const values = [
      ['generic', 'plain'],
      ['generic', '{"a":1}'],
      ['password', ' spaced '],
      ['json', '{"a":{"b":1}}'],
      ['json', '[1,2]'],
      ['json', '"text"'],
      ['json', 'not json'],
      ['json', '{"value":"x"}'],
    ] as const;
    for (const [n, [type, value]] of values.entries()) {
      await newSecret(o, { name: `v${n}`, type, value });
      const { data } = (await vault.get(`production/data/v${n}`)).json.data;
      expect((await vault.put(`production/data/v${n}`, { data })).json.data).toMatchObject({ version: 2 });
      expect((await o.get(`/secrets/by-name/v${n}`)).json).toMatchObject({ type, value });
    }
  });
});

describe('Vault: write', () => {
  it('type: a new value is generic or json, and an existing secret keeps its type', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await vault.put('production/data/one', { data: { value: 'x' } });
    await vault.put('production/data/many', { data: { a: '1', value: 'x' } });
    await newSecret(o, { name: 'db', type: 'password', value: 'old' });
    await vault.put('production/data/db', { data: { value: 'new' } });
    const types = await Promise.all(
      ['one', 'many', 'db'].map(async (name) => {
        const { type, value } = (await o.get(`/secrets/by-name/${name}`)).json;
        return [type, value];
      }),
    );
    expect(types).toEqual([
      ['generic', 'x'],
      ['json', '{"a":"1","value":"x"}'],
      ['password', 'new'],
    ]);
    for (const name of ['db', 'one'])
      expect(seen(await vault.put(`production/data/${name}`, { data: { a: '1' } }))).toEqual([
        400,
        { errors: ['data: this secret holds one value: write {"value": "…"} or change its type'] },
      ]);
    await newSecret(o, { name: 'list', type: 'json', value: '[1]' });
    expect((await vault.put('production/data/list', { data: { a: '1' } })).status).toBe(400);
    await vault.put('production/data/list', { data: { value: '[2]' } });
    await vault.put('production/data/many', { data: { value: 'only' } });
    expect((await o.get('/secrets/by-name/list')).json.value).toBe('[2]');
    expect((await o.get('/secrets/by-name/many')).json.value).toBe('{"value":"only"}');
  });

  slow('version: an equal map makes a new version', async () => {
    const vault = vaultOf(await newOrg());
    for (const version of [1, 2, 3])
      expect((await vault.put('production/data/s', { data: { value: 'same' } })).json.data).toEqual(
        metadata(version),
      );
  });

  it('check-and-set: 0 creates only, another number must be the current version', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const put = async (cas: unknown) => {
      const { status, json } = await vault.put('production/data/s', {
        data: { value: 'x' },
        options: { cas },
      });
      return status === 200 ? json.data.version : [status, json.errors];
    };
    expect(await put(1)).toEqual([400, [CAS]]);
    expect(await put(0)).toBe(1);
    expect(await put(0)).toEqual([400, [CAS]]);
    expect(await put('1')).toBe(2);
    expect(await put(1)).toEqual([400, [CAS]]);
    // A change of metadata is no new version.
    await vault.put('production/metadata/s', { custom_metadata: { a: 'b' } });
    expect(await put(2)).toBe(3);
    await vault.del('production/data/s');
    expect(await put(0)).toEqual([400, [CAS]]);
    expect(await put(3)).toBe(4);
    expect(await put('x')).toEqual([400, ['cas must be an integer']]);
  });

  slow(
    'concurrency: twenty writes give consecutive versions, and of twenty with one cas one succeeds',
    async () => {
      const vault = vaultOf(await newOrg());
      faults.delay = 5;
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, n) => vault.put('production/data/hot', { data: { n: String(n) } })),
      );
      expect(all.map(({ json }) => json.data.version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, n) => n + 1),
      );
      const body = { data: { n: 'x' }, options: { cas: 20 } };
      const some = await Promise.all(
        Array.from({ length: 20 }, () => vault.put('production/data/hot', body)),
      );
      faults.delay = 0;
      expect(some.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(some.filter(({ status }) => status === 400)).toHaveLength(19);
    },
  );

  slow(
    'body: JSON whatever its type says, a form, unknown fields ignored, and null is an empty map',
    async () => {
      const vault = vaultOf(await newOrg());
      const put = (body: unknown, type = '') =>
        vault.put('production/data/s', body, type ? { 'Content-Type': type } : {});
      expect((await put('{"data":{"a":"b"},"x":1}', 'text/plain')).status).toBe(200);
      expect(
        (await put(JSON.stringify({ data: { a: 'b' } }), 'application/json; charset=utf-8')).status,
      ).toBe(200);
      expect(seen(await put({}))).toEqual([400, { errors: ['no data provided'] }]);
      expect(seen(await put(undefined))).toEqual([400, { errors: ['no data provided'] }]);
      expect((await put('{', 'application/json')).status).toBe(400);
      expect((await put('[]')).status).toBe(400);
      expect((await put({ data: [] })).status).toBe(400);
      expect((await put('{"data":{"a":"b"}}', 'application/x-www-form-urlencoded')).status).toBe(200);
      expect((await put('a=b', 'application/x-www-form-urlencoded')).json.errors).toEqual([
        'no data provided',
      ]);
      expect((await put({ data: null })).status).toBe(200);
      expect((await vault.get('production/data/s')).json.data.data).toEqual({});
      const zipped = await vault.put('production/data/s', '{}', { 'Content-Encoding': 'gzip' });
      expect(zipped.status).toBe(400);
    },
  );

  slow('limits: a value over 64 KiB is 400, a body over 1 MiB 413', async () => {
    const vault = vaultOf(await newOrg());
    const put = (size: number) => vault.put('production/data/s', { data: { value: 'x'.repeat(size) } });
    expect((await put(65_537)).status).toBe(400);
    expect((await put(1_100_000)).status).toBe(413);
    expect((await put(65_000)).status).toBe(200);
  });

  slow('names: an invalid name is 400, after authentication', async () => {
    const o = await newOrg();
    for (const name of ['a%20b', 'a@b', '-a', '%C3%A9'])
      expect((await vaultOf(o).put(`production/data/${name}`, { data: {} })).status).toBe(400);
    expect((await vaultOf({ token: 'no' }).put('production/data/a%20b', { data: {} })).status).toBe(403);
  });
});

describe('Vault: patch', () => {
  slow('merges: sets keys, removes those that are null, keeps the text of the others', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/data/s', '{"data":{"n":1.10,"a":"1","b":"2","o":{"x":1,"y":2}}}');
    const patched = await vault.patch('production/data/s', {
      data: { a: '9', b: null, o: { y: null, z: 3 } },
    });
    expect(seen({ ...patched, json: patched.json.data })).toEqual([200, metadata(2)]);
    expect((await vault.get('production/data/s')).text).toContain('{"n":1.10,"a":"9","o":{"x":1,"z":3}}');
    expect(
      (await vault.patch('production/data/s', { data: { c: '1' }, options: { cas: 1 } })).json.errors,
    ).toEqual([CAS]);
  });

  slow('one value: a patch of a secret that holds one value can only replace it', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await newSecret(o, { name: 'db', type: 'password', value: 'old' });
    expect((await vault.patch('production/data/db', { data: { a: '1' } })).status).toBe(400);
    expect((await vault.patch('production/data/db', { data: { value: 'new' } })).status).toBe(200);
    expect((await o.get('/secrets/by-name/db')).json).toMatchObject({ type: 'password', value: 'new' });
  });

  it('secrecy: a writer who may not read is refused, whatever the length of the value', async () => {
    const o = await newOrg();
    await vaultOf(o).put('production/data/short', { data: { a: '1' } });
    await vaultOf(o).put('production/data/long', { data: { a: 'x'.repeat(65_000) } });
    const { o: writer } = await newKey(o, { scopes: ['secrets:write', 'secrets:list'] });
    const { o: reader } = await newKey(o, { scopes: ['secrets:write', 'secrets:read'] });
    const patch = (by: Caller, path: string) =>
      vaultOf(by).patch(`production/data/${path}`, { data: { b: 'y'.repeat(1000) } });
    for (const path of ['short', 'long'])
      expect(seen(await patch(writer, path))).toEqual([403, { errors: ['permission denied'] }]);
    expect([(await patch(reader, 'short')).status, (await patch(reader, 'long')).status]).toEqual([200, 400]);
    const path = 'production/data/short';
    const held = async (by: Caller) =>
      (await vaultOf(by).put('sys/capabilities-self', { path })).json.data.capabilities;
    expect([await held(writer), await held(reader)]).toEqual([
      ['create', 'update'],
      ['create', 'patch', 'read', 'update'],
    ]);
  });

  it('secrecy: a value whose reads need approval is not merged, whatever its length', async () => {
    const { o, asked } = await newOffice();
    await vaultOf(o).put('production/data/short', { data: { a: '1' } });
    await vaultOf(o).put('production/data/long', { data: { a: 'x'.repeat(65_000) } });
    await newApprovalPolicy(o, ['secret.read'], { config: { allow_break_glass: true } });
    const answers = await Promise.all(
      ['short', 'long'].map((path) =>
        vaultOf(asked).patch(`production/data/${path}`, { data: { b: 'y'.repeat(1000) } }),
      ),
    );
    const refusal = answers[0]?.json.errors[0];
    expect(refusal).toMatch(/^Reading this secret needs approval/);
    expect(answers.map(seen)).toEqual([1, 2].map(() => [403, { errors: [refusal] }]));
    const breaker = vaultOf((await newBreakGlass(o)).o);
    expect((await breaker.patch('production/data/short', { data: { b: '2' } })).status).toBe(200);
    const { json } = await o.get('/audit-log?action=secret.update&limit=1');
    expect(json.data[0].bypassed_policies).toHaveLength(1);
  });

  slow('concurrency: merges of one path at a time all succeed, and none is lost', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/data/hot', { data: { first: '0' } });
    faults.delay = 5;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => vault.patch('production/data/hot', { data: { [`k${n}`]: '1' } })),
    );
    faults.delay = 0;
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expect(Object.keys((await vault.get('production/data/hot')).json.data.data)).toHaveLength(13);
  });

  slow('refusals: another type is 415, an absent path 404, a deleted one shows its metadata', async () => {
    const vault = vaultOf(await newOrg());
    expect((await vault.call('PATCH', 'production/data/s', { data: {} })).status).toBe(415);
    expect(seen(await vault.patch('production/data/s', { data: {} }))).toEqual([404, { errors: [] }]);
    await vault.put('production/data/s', { data: { a: '1' } });
    await vault.del('production/data/s');
    const { status, json } = await vault.patch('production/data/s', { data: {} });
    expect([status, json.data]).toEqual([404, metadata(1, { deletion_time: TIME })]);
  });
});

describe('Vault: delete', () => {
  slow('soft: reads are 404 with the metadata; a write revives with the next version', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await vault.put('production/data/s', { data: { value: 'one' } });
    expect((await vault.del('production/data/s')).status).toBe(204);
    expect((await vault.del('production/data/s')).status).toBe(204);
    expect((await vault.del('production/data/none')).status).toBe(204);
    const { status, json } = await vault.get('production/data/s');
    expect([status, json.data, Object.keys(json)]).toEqual([
      404,
      { data: null, metadata: metadata(1, { deletion_time: TIME }) },
      ['request_id', 'lease_id', 'renewable', 'lease_duration', 'data', 'wrap_info', 'warnings', 'auth'],
    ]);
    const [{ id }] = (await o.get('/secrets?status=deleted')).json.data;
    expect((await vault.put('production/data/s', { data: { value: 'two' } })).json.data).toEqual(metadata(2));
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 2, value: 'two' });
  });

  slow('versions: delete and undelete take the newest, as numbers or texts', async () => {
    const vault = vaultOf(await newOrg());
    for (const n of ['1', '2']) await vault.put('production/data/s', { data: { n } });
    const act = async (verb: string, versions: unknown, path = 's') => {
      const { status, json } = await vault.put(`production/${verb}/${path}`, { versions });
      return status === 204 ? status : [status, json.errors];
    };
    const older = [400, ['versions: only the newest version can be deleted or restored']];
    expect(await act('delete', [])).toEqual([400, ['No version number provided']]);
    expect(await act('delete', undefined)).toEqual([400, ['No version number provided']]);
    expect(await act('delete', [1])).toEqual(older);
    expect(await act('delete', ['2'])).toBe(204);
    expect((await vault.get('production/data/s')).status).toBe(404);
    expect((await vault.get('production/data/s?version=1')).status).toBe(404);
    expect(await act('undelete', '1')).toEqual(older);
    expect(await act('undelete', '2')).toBe(204);
    expect((await vault.get('production/data/s')).json.data.data).toEqual({ n: '2' });
    expect(await act('destroy', [2])).toEqual([
      400,
      ['versions: all versions are destroyed together: name all of them'],
    ]);
    for (const verb of ['delete', 'undelete', 'destroy']) expect(await act(verb, [1], 'none')).toBe(204);
    expect(await act('destroy', '1,2')).toBe(204);
    expect(seen(await vault.get('production/data/s'))).toEqual([404, { errors: [] }]);
    expect(seen(await vault.get('production/metadata/s'))).toEqual([404, { errors: [] }]);
  });

  slow('metadata: DELETE takes everything of the path, also after a soft delete', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await vault.put('production/data/s', { data: { value: 'x' } });
    await vault.del('production/data/s');
    expect((await vault.del('production/metadata/s')).status).toBe(204);
    expect((await vault.del('production/metadata/s')).status).toBe(204);
    expect((await o.get('/secrets?status=deleted')).json.data).toEqual([]);
    expect((await vault.put('production/data/s', { data: { value: 'y' } })).json.data.version).toBe(1);
  });

  slow('restore period: after seven days a deleted path is absent, and a write begins anew', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/data/s', { data: { value: 'x' } });
    await vault.del('production/data/s');
    faults.clock = Date.now() + 7 * 86_400_000 + 1000;
    expect(seen(await vault.get('production/data/s'))).toEqual([404, { errors: [] }]);
    expect((await vault.put('production/data/s', { data: { value: 'y' } })).json.data.version).toBe(1);
  });

  it('permission: reviving needs secrets:delete, as restoring does', async () => {
    const o = await newOrg();
    await vaultOf(o).put('production/data/s', { data: { value: 'x' } });
    await vaultOf(o).del('production/data/s');
    const writer = vaultOf(await newKey(o, { scopes: ['secrets:write', 'secrets:read'] }));
    expect(seen(await writer.put('production/data/s', { data: { value: 'y' } }))).toEqual([
      403,
      { errors: ['permission denied'] },
    ]);
    expect((await writer.put('production/undelete/s', { versions: [1] })).status).toBe(403);
  });
});

describe('Vault: metadata', () => {
  slow('shows versions, settings that cannot be changed, and tags as custom metadata', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    for (const n of ['1', '2']) await vault.put('production/data/s', { data: { n } });
    await vault.put('production/metadata/s', { custom_metadata: { 'app.kubernetes.io/name': 'web' } });
    const one = { created_time: TIME, deletion_time: '', destroyed: false };
    expect((await vault.get('production/metadata/s')).json.data).toEqual({
      versions: { 1: one, 2: one },
      current_version: 2,
      oldest_version: 0,
      created_time: TIME,
      updated_time: TIME,
      max_versions: 0,
      cas_required: false,
      delete_version_after: '0s',
      custom_metadata: { 'app.kubernetes.io/name': 'web' },
    });
    await vault.del('production/data/s');
    expect((await vault.get('production/metadata/s')).json.data.versions[2].deletion_time).toEqual(TIME);
  });

  it('before the value: tags on an absent path stay when the value arrives, and no list shows them', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const tags = { 'managed-by': 'external-secrets' };
    expect((await vault.put('production/metadata/app/db', { custom_metadata: tags })).status).toBe(204);
    expect((await vault.get('production/metadata/app/db')).json.data).toMatchObject({
      versions: {},
      current_version: 0,
      custom_metadata: tags,
    });
    expect(seen(await vault.get('production/data/app/db'))).toEqual([404, { errors: [] }]);
    expect((await vault.get('production/metadata?list=true')).status).toBe(404);
    expect((await o.get('/secrets')).json.data).toEqual([]);
    await vault.patch('production/metadata/app/db', { custom_metadata: { b: '2' } });
    await vault.put('production/data/app/db', { data: { value: 'x' }, options: { cas: 0 } });
    expect((await vault.get('production/data/app/db')).json.data.metadata.custom_metadata).toEqual({
      ...tags,
      b: '2',
    });
  });

  it('before the value: after an hour without one, the path is absent', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/metadata/s', { custom_metadata: { a: '1' } });
    faults.clock = Date.now() + 3_600_000 + 1000;
    expect(seen(await vault.get('production/metadata/s'))).toEqual([404, { errors: [] }]);
    expect((await vault.put('production/metadata/s', { custom_metadata: { b: '1' } })).status).toBe(204);
    await vault.put('production/data/s', { data: { value: 'x' } });
    expect((await vault.get('production/metadata/s')).json.data.custom_metadata).toEqual({ b: '1' });
  });

  it('before the value: DELETE takes it away', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/metadata/s', { custom_metadata: { a: '1' } });
    expect((await vault.del('production/metadata/s')).status).toBe(204);
    expect((await vault.get('production/metadata/s')).status).toBe(404);
  });

  it('limits: 64 keys of 128 bytes with 512 bytes each; a merge cannot exceed them', async () => {
    const vault = vaultOf(await newOrg());
    const put = async (custom_metadata: unknown) =>
      (await vault.put('production/metadata/s', { custom_metadata })).status;
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));
    expect(await put({ ['k'.repeat(128)]: 'v'.repeat(512) })).toBe(204);
    expect(await put({ ['k'.repeat(129)]: 'v' })).toBe(400);
    expect(await put({ ['é'.repeat(65)]: 'v' })).toBe(400);
    expect(await put({ k: 'v'.repeat(513) })).toBe(400);
    expect(await put({ k: 1 })).toBe(400);
    expect(await put('text')).toBe(400);
    expect(await put(many(65))).toBe(400);
    expect(await put(many(64))).toBe(204);
    expect((await vault.patch('production/metadata/s', { custom_metadata: { more: 'v' } })).status).toBe(400);
    expect(
      (await vault.patch('production/metadata/s', { custom_metadata: { more: 'v', k0: null } })).status,
    ).toBe(204);
    expect(await put({ code: 'a tag of this name' })).toBe(204);
  });

  slow('settings: what cannot be changed is refused, and never taken silently', async () => {
    const vault = vaultOf(await newOrg());
    const put = async (body: object) => (await vault.put('production/metadata/s', body)).status;
    expect(await put({ max_versions: 5 })).toBe(400);
    expect(await put({ cas_required: true })).toBe(400);
    expect(await put({ delete_version_after: '1h' })).toBe(400);
    expect(await put({ max_versions: 0, cas_required: false, delete_version_after: '0s' })).toBe(204);
    expect((await vault.patch('production/metadata/none', { custom_metadata: {} })).status).toBe(404);
  });
});

describe('Vault: lists', () => {
  slow('keys: a folder ends in a slash, a name that is both is two keys; nothing there is 404', async () => {
    const vault = vaultOf(await newOrg());
    for (const name of ['db', 'app/db', 'app', 'app/x/y', 'z'])
      await vault.put(`production/data/${name}`, { data: {} });
    const keys = async (path: string) => (await vault.get(path)).json.data?.keys;
    expect(await keys('production/metadata?list=true')).toEqual(['app', 'app/', 'db', 'z']);
    expect(await keys('production/metadata/?list=1')).toEqual(['app', 'app/', 'db', 'z']);
    expect(await keys('production/metadata/app?list=true')).toEqual(['db', 'x/']);
    expect(await keys('production/metadata/app/?list=true')).toEqual(['db', 'x/']);
    expect(await keys('production/metadata?list=true&after=app/&limit=1')).toEqual(['db']);
    expect(seen(await vault.get('production/metadata/none?list=true'))).toEqual([404, { errors: [] }]);
    expect((await vault.get('production/metadata?scan=true')).status).toBe(405);
    await vault.del('production/data/z');
    expect(await keys('production/metadata?list=true')).toEqual(['app', 'app/', 'db']);
  });

  slow('permission: a key sees the names that it may list', async () => {
    const o = await newOrg();
    for (const name of ['app/a', 'other/b']) await vaultOf(o).put(`production/data/${name}`, { data: {} });
    const vault = vaultOf(await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] }));
    expect((await vault.get('production/metadata?list=true')).json.data.keys).toEqual(['app/']);
    expect((await vault.get('production/metadata/other?list=true')).status).toBe(404);
  });
});

describe('Vault: further paths', () => {
  slow('config and subkeys', async () => {
    const vault = vaultOf(await newOrg());
    expect((await vault.get('production/config')).json.data).toEqual({
      max_versions: 1000,
      cas_required: false,
      delete_version_after: '0s',
    });
    expect(seen(await vault.put('production/config', {}))).toEqual([
      405,
      { errors: ['unsupported operation'] },
    ]);
    await vault.put('production/data/s', { data: { a: '1', o: { x: { y: 1 } } } });
    const subkeys = async (query = '') => (await vault.get(`production/subkeys/s${query}`)).json.data.subkeys;
    expect(await subkeys()).toEqual({ a: null, o: { x: { y: null } } });
    expect(await subkeys('?depth=1')).toEqual({ a: null, o: null });
  });

  it('methods: another one is 405', async () => {
    const vault = vaultOf(await newOrg());
    for (const [method, path] of [
      ['GET', 'production/delete/s'],
      ['PATCH', 'production/config'],
      ['DELETE', 'production/subkeys/s'],
      ['GET', 'production/data'],
    ] as const)
      expect(seen(await vault.call(method, path))).toEqual([405, { errors: ['unsupported operation'] }]);
  });

  it('paths: // collapses, a slash may be encoded, a write to a folder is refused, dots are too', async () => {
    const vault = vaultOf(await newOrg());
    await vault.put('production/data/app/db', { data: { value: 'x' } });
    for (const path of ['production//data/app//db', 'production/data/app%2Fdb', 'production/data/app/db/'])
      expect((await vault.get(path)).status).toBe(200);
    expect(seen(await vault.put('production/data/app/', { data: {} }))).toEqual([
      400,
      { errors: ["cannot write to a path ending in '/'"] },
    ]);
    expect((await vault.get('production/data/%zz')).status).toBe(400);
  });

  slow('lease: PATCH of the environment sets how long clients wait', async () => {
    const o = await newOrg();
    await vaultOf(o).put('production/data/s', { data: {} });
    for (const lease_seconds of [0, 3600]) {
      const patched = await o.patch('/environments/production', { lease_seconds });
      expect(patched.json).toMatchObject({ slug: 'production', name: 'production', lease_seconds });
      expect((await vaultOf(o).get('production/data/s')).json.lease_duration).toBe(lease_seconds);
    }
    for (const lease_seconds of [-1, 86_401, 1.5, '60'])
      expect((await o.patch('/environments/production', { lease_seconds })).status).toBe(400);
  });

  it('ids: an environment is a mount by its id, too', async () => {
    const o = await newOrg();
    const { id } = (await o.get('/environments/production')).json;
    await vaultOf(o).put(`${id}/data/s`, { data: { value: 'x' } });
    expect((await vaultOf(o).get('production/data/s')).json.data.data).toEqual({ value: 'x' });
  });
});
