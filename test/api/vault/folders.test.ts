// KV version 2 on a mount of folders: one folder a path, whose secrets are the keys of its map.
import { describe, expect, it } from 'vitest';
import { newBreakGlass, newKey } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { seen, vaultOf } from '../../support/integrations/vault';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const CAS = [400, { errors: ['check-and-set parameter did not match the current version'] }];
const DENIED = [403, { errors: ['permission denied'] }];
const ABSENT = [404, { errors: [] }];
const metadata = (version: unknown) => ({
  version,
  created_time: TIME,
  deletion_time: '',
  destroyed: false,
  custom_metadata: null,
});

/** An organisation with some folders in production. */
async function newFolders() {
  const o = await newOrg();
  for (const [name, value] of Object.entries({
    top: 't',
    'app/db/user': 'app',
    'app/db/password': 's3cret',
    'app/db/replica/user': 'ro',
    'app/login': 'l',
    'other/deep/er/key': 'd',
  }))
    await newSecret(o, { name, value });
  return { o, vault: vaultOf(o) };
}

const mapAt = async (vault: ReturnType<typeof vaultOf>, path: string) =>
  (await vault.get(`production.folders/data/${path}`)).json.data?.data;

const storedAt = async (o: Caller, name: string) =>
  (await o.get(`/secrets/by-name/${name}?environment=production`)).json.value;

describe('Vault folders: read', () => {
  slow(
    'map: the secrets directly below are the keys, as texts, with the revision as the version',
    async () => {
      const { o, vault } = await newFolders();
      await newSecret(o, { name: 'app/db/json', type: 'json', value: '{"a":1}' });
      const { json } = await vault.get('production.folders/data/app/db');
      expect(json).toMatchObject({
        lease_duration: 60,
        warnings: null,
        data: {
          data: { json: '{"a":1}', password: 's3cret', user: 'app' },
          metadata: metadata(expect.any(Number)),
        },
      });
      const { version } = json.data.metadata;
      const at = (n: number) => vault.get(`production.folders/data/app/db?version=${n}`);
      expect((await at(version)).json.data).toEqual(json.data);
      expect((await at(0)).json.data).toEqual(json.data);
      expect(seen(await at(version - 1))).toEqual(ABSENT);
      await newSecret(o, { name: 'elsewhere' });
      expect(seen(await at(version))).toEqual(ABSENT);
    },
  );

  slow('root: no path is the folder of the environment itself', async () => {
    const { vault } = await newFolders();
    for (const path of ['data', 'data/'])
      expect((await vault.get(`production.folders/${path}`)).json.data.data).toEqual({ top: 't' });
  });

  slow('absent: a folder without secrets of its own is 404, an unknown mount has no handler', async () => {
    const { vault } = await newFolders();
    for (const path of ['other', 'other/deep', 'no', 'app/db/user'])
      expect(seen(await vault.get(`production.folders/data/${path}`))).toEqual(ABSENT);
    for (const path of ['data/x', 'metadata/x', 'metadata?list=true', 'x/y'])
      expect(seen(await vault.get(`nowhere.folders/${path}`))).toEqual([
        404,
        { errors: [`no handler for route "nowhere.folders/${path.split('?')[0]}". route entry not found.`] },
      ]);
    expect((await vault.get('sys.folders/data/x')).status).toBe(404);
  });

  slow('mounts: each environment has one, and a client finds it before its first call', async () => {
    const { vault } = await newFolders();
    const found = await vault.get('sys/internal/ui/mounts/production.folders/app/db');
    expect(found.json.data).toMatchObject({ path: 'production.folders/', options: { version: '2' } });
    expect(Object.keys((await vault.get('sys/mounts')).json.data)).toEqual(
      expect.arrayContaining(['production/', 'production.folders/']),
    );
    expect((await vault.get('production.folders/config')).json.data).toMatchObject({ max_versions: 1000 });
  });

  slow('permission: leaves out secrets that the key may not read, or that need approval', async () => {
    const { o } = await newFolders();
    const key = await newKey(o, { scopes: ['secrets:read'], secrets: ['app/db/u*'] });
    expect(await mapAt(vaultOf(key), 'app/db')).toEqual({ user: 'app' });
    expect(seen(await vaultOf(key).get('production.folders/data/app'))).toEqual(ABSENT);
    const outside = await newKey(o, { scopes: ['secrets:read'], environments: ['staging'] });
    expect(seen(await vaultOf(outside).get('production.folders/data/app/db'))).toEqual(DENIED);
    expect(seen(await vaultOf(outside).get('nowhere.folders/data/app/db'))).toEqual(DENIED);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['app/db/password'] } });
    const { json } = await vaultOf(o).get('production.folders/data/app/db');
    expect(json.data.data).toEqual({ user: 'app' });
    expect(json.warnings).toEqual(['app/db/password is left out: its read needs approval']);
  });

  it('audit: one entry names the keys that were read', async () => {
    const { o, vault } = await newFolders();
    await vault.get('production.folders/data/app/db');
    const [entry] = (await o.get('/audit-log?action=secret.read_all')).json.data;
    expect(entry).toMatchObject({
      environment: 'production',
      prefix: 'app/db/',
      names: ['app/db/password', 'app/db/user'],
      outcome: 'success',
    });
  });

  slow('keys: metadata and subkeys show names and times, without values', async () => {
    const { o } = await newFolders();
    const vault = vaultOf(await newKey(o, { scopes: ['secrets:list'] }));
    const { subkeys, metadata: shown } = (await vault.get('production.folders/subkeys/app/db')).json.data;
    expect([subkeys, shown]).toEqual([{ password: null, user: null }, metadata(expect.any(Number))]);
    expect((await vault.get('production.folders/metadata/app/db')).json.data).toMatchObject({
      current_version: shown.version,
      versions: { [shown.version]: { deletion_time: '', destroyed: false } },
      max_versions: 0,
    });
    expect(seen(await vault.get('production.folders/metadata/other'))).toEqual(ABSENT);
  });
});

describe('Vault folders: list', () => {
  const listOf = async (vault: ReturnType<typeof vaultOf>, path: string, more = '') =>
    (await vault.get(`production.folders/metadata/${path}?list=true${more}`)).json.data?.keys;

  slow('keys: only folders; one that has secrets and folders is two keys', async () => {
    const { vault } = await newFolders();
    expect(await listOf(vault, '')).toEqual(['app', 'app/', 'other/']);
    expect(await listOf(vault, 'app')).toEqual(['db', 'db/']);
    expect(await listOf(vault, 'app/db')).toEqual(['replica']);
    expect(await listOf(vault, 'other/deep')).toEqual(['er']);
    expect(await listOf(vault, '', '&after=app&limit=1')).toEqual(['app/']);
    expect((await vault.get('production.folders/metadata/app/db/replica?list=true')).status).toBe(404);
  });

  slow('permission: a folder is listed for what the key may list there', async () => {
    const { o } = await newFolders();
    const deep = vaultOf(await newKey(o, { scopes: ['secrets:list'], secrets: ['app/db/replica/*'] }));
    expect(await listOf(deep, '')).toEqual(['app/']);
    expect(await listOf(deep, 'app')).toEqual(['db/']);
    const shallow = vaultOf(await newKey(o, { scopes: ['secrets:list'], secrets: ['app/login'] }));
    expect(await listOf(shallow, '')).toEqual(['app']);
  });

  slow('pages: more folders than one page looks into', async () => {
    const { o, vault } = await newFolders();
    const values = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`many/f${n}/key`, 'v']));
    const body = { source: 'svc', data: { values }, environmentId: 'production', onConflict: 'skip' };
    expect((await o.post('/integrations/import', body)).status).toBe(200);
    expect(await listOf(vault, 'many')).toHaveLength(120);
  });
});

describe('Vault folders: write', () => {
  it('PUT: creates and changes keys in one commit, and a key that stays the same gets no version', async () => {
    const { o, vault } = await newFolders();
    const { json } = await vault.put('production.folders/data/app/db', {
      data: { user: 'app', password: 'new', port: '5432' },
    });
    expect(json.data).toEqual(metadata(expect.any(Number)));
    const read = await vault.get('production.folders/data/app/db');
    expect(read.json.data).toEqual({
      data: { user: 'app', password: 'new', port: '5432' },
      metadata: metadata(json.data.version),
    });
    const versions = await Promise.all(
      ['user', 'password', 'port'].map(
        async (key) => (await o.get(`/secrets/by-name/app/db/${key}`)).json.version,
      ),
    );
    expect(versions).toEqual([1, 2, 1]);
    expect(await storedAt(o, 'app/db/replica/user')).toBe('ro');
    const again = await vault.put('production.folders/data/app/db', {
      data: { user: 'app', password: 'new', port: '5432' },
    });
    expect(again.json.data.version).toBe(json.data.version);
  });

  it('PUT: refuses to remove keys, naming those that the caller may see', async () => {
    const { o, vault } = await newFolders();
    const put = (token: Pick<Caller, 'token'>) =>
      vaultOf(token).put('production.folders/data/app/db', { data: { user: 'x' } });
    expect(seen(await put(o))).toEqual([
      400,
      { errors: ['keys password would be removed: use PATCH with null'] },
    ]);
    const key = await newKey(o, { scopes: ['secrets:*'], secrets: ['app/db/user'] });
    expect(seen(await put(key))).toEqual(DENIED);
    expect(await mapAt(vault, 'app/db')).toEqual({ user: 'app', password: 's3cret' });
  });

  slow('PATCH: sets keys and deletes those with null; a folder that is absent is 404', async () => {
    const { o, vault } = await newFolders();
    const { status } = await vault.patch('production.folders/data/app/db', {
      data: { password: null, port: '1', gone: null },
    });
    expect(status).toBe(200);
    expect(await mapAt(vault, 'app/db')).toEqual({ user: 'app', port: '1' });
    expect((await o.get('/secrets?status=deleted')).json.data).toMatchObject([{ name: 'app/db/password' }]);
    expect(seen(await vault.patch('production.folders/data/no', { data: { a: 'b' } }))).toEqual(ABSENT);
  });

  it('check-and-set: the revision of the environment, or 0 for a folder that is not there', async () => {
    const { vault } = await newFolders();
    const put = (path: string, cas: number) =>
      vault.put(`production.folders/data/${path}`, {
        data: { user: 'x', password: 'y' },
        options: { cas },
      });
    const { version } = (await vault.get('production.folders/data/app/db')).json.data.metadata;
    expect(seen(await put('app/db', version - 1))).toEqual(CAS);
    expect(seen(await put('app/db', 0))).toEqual(CAS);
    expect((await put('app/db', version)).status).toBe(200);
    expect(seen(await put('app/db', version))).toEqual(CAS);
    expect((await put('app/new', 0)).status).toBe(200);
    expect(seen(await put('app/new', 0))).toEqual(CAS);
    expect(
      seen(
        await vault.patch('production.folders/data/app/db', { data: { user: null }, options: { cas: 1 } }),
      ),
    ).toEqual(CAS);
  });

  it('all or nothing: one key that is refused leaves every other as it was', async () => {
    const { o, vault } = await newFolders();
    const before = await mapAt(vault, 'app/db');
    const refused = async (token: Pick<Caller, 'token'>, data: object, status: number) => {
      const answer = await vaultOf(token).patch('production.folders/data/app/db', { data });
      expect([answer.status, await mapAt(vault, 'app/db')]).toEqual([status, before]);
    };
    const writer = await newKey(o, { scopes: ['secrets:read', 'secrets:write'] });
    await refused(writer, { user: 'x', password: null }, 403);
    const named = await newKey(o, { scopes: ['secrets:*'], secrets: ['app/db/user'] });
    await refused(named, { user: 'x', password: 'y' }, 403);
    await refused(named, { user: 'x', password: null }, 403);
    for (const data of [
      { user: 'x', port: 5432 },
      { user: 'x', more: { a: 1 } },
      { user: 'x', 'a/b': 'c' },
      { user: 'x', 'a b': 'c' },
      { user: 'x', big: 'x'.repeat(65_537) },
    ])
      await refused(o, data, 400);
    await newPolicy(o, 'naming', { pattern: '^app/db/[a-z]+$' }, { name: 'lower' });
    const upper = await vault.patch('production.folders/data/app/db', { data: { user: 'z', UPPER: 'x' } });
    expect(upper.status).toBe(400);
    expect(await mapAt(vault, 'app/db')).toEqual(before);
  });

  it('limits: the encrypted bytes and the number of secrets are counted for all keys together', async () => {
    const { o, vault } = await newFolders();
    await inCore(o, ({ rows }) => {
      const count = rows.count;
      rows.count = (kind) => (kind === 'secret' ? 99_998 : count(kind));
    });
    const patch = (data: object) => vault.patch('production.folders/data/app', { data });
    expect((await patch({ a: '1', b: '2', c: '3' })).status).toBe(400);
    expect(await mapAt(vault, 'app')).toEqual({ login: 'l' });
    expect((await patch({ a: '1', b: '2' })).status).toBe(200);
  });

  it('permission: comparing many long names with many patterns is refused before it takes long', async () => {
    const { o } = await newFolders();
    const patterns = Array.from({ length: 99 }, (_, n) => `${n}*a*b*c*d*${'x'.repeat(25)}`);
    const secrets = ['app/*', ...patterns];
    const key = await newKey(o, { scopes: ['secrets:write'], secrets });
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`${'n'.repeat(200)}${n}`, 'v']));
    expect((await vaultOf(key).patch('production.folders/data/app', { data })).status).toBe(413);
    data.more = 'v';
    expect((await vaultOf(o).patch('production.folders/data/app', { data })).status).toBe(400);
  });

  slow('approval: one key whose change is held holds the whole, and changes nothing', async () => {
    const { o, vault } = await newFolders();
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['app/db/password'] } });
    const { status, json } = await vault.patch('production.folders/data/app/db', {
      data: { user: 'x', password: 'y' },
    });
    expect([status, json.errors[0]]).toEqual([403, expect.stringContaining('The approval is apr_')]);
    expect(await mapAt(vault, 'app/db')).toEqual({ user: 'app', password: 's3cret' });
    expect((await vault.patch('production.folders/data/app/db', { data: { user: 'x' } })).status).toBe(200);
  });

  slow('audit: one entry has all versions, and those of deleted secrets', async () => {
    const { o, vault } = await newFolders();
    const id = (await o.get('/secrets/by-name/app/db/password')).json.id as string;
    await vault.patch('production.folders/data/app/db', { data: { user: 'x', password: null, port: '1' } });
    const [entry] = (await o.get('/audit-log?action=secret.write_folder')).json.data;
    expect(entry).toMatchObject({
      environment: 'production',
      prefix: 'app/db/',
      imported: {
        source: 'vault',
        created: 1,
        updated: 1,
        names: ['app/db/port', 'app/db/user', 'app/db/password'],
        deleted: { [id]: 1 },
      },
    });
    expect(Object.values(entry.imported.versions).sort()).toEqual([1, 2]);
    const [ofSecret] = (await o.get(`/audit-log?resource=${id}`)).json.data;
    expect(ofSecret.id).toBe(entry.id);
  });

  slow('contain: what a leaked credential read, wrote and deleted in folders is reported', async () => {
    const { o } = await newFolders();
    const id = async (name: string) => (await o.get(`/secrets/by-name/${name}`)).json.id as string;
    const user = await id('app/db/user');
    const password = await id('app/db/password');
    const login = await id('app/login');
    const key = await newKey(o, { scopes: ['secrets:*'] });
    await vaultOf(key).get('production.folders/data/app/db');
    await vaultOf(key).patch('production.folders/data/app/db', { data: { user: 'x', password: null } });
    await vaultOf(key).del('production.folders/data/app');
    const report = (await o.post(`/credentials/${key.id}/contain`, {})).json;
    const shown = (list: { secret_id: string; version: number; action?: string }[]) =>
      list.map(({ secret_id, version, action }) => [secret_id, version, action]).sort();
    expect(shown(report.read)).toEqual(
      [
        [user, 1, undefined],
        [password, 1, undefined],
      ].sort(),
    );
    expect(shown(report.written)).toEqual(
      [
        [user, 2, 'secret.update'],
        [password, 1, 'secret.delete'],
        [login, 1, 'secret.delete'],
      ].sort(),
    );
  });

  slow('race: two writes with one check-and-set, and one wins', async () => {
    const { vault } = await newFolders();
    const { version } = (await vault.get('production.folders/data/app/db')).json.data.metadata;
    const put = (user: string) =>
      vault.put('production.folders/data/app/db', {
        data: { user, password: user },
        options: { cas: version },
      });
    const answers = await Promise.all(['a', 'b', 'c'].map(put));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    const { user, password } = await mapAt(vault, 'app/db');
    expect(user).toBe(password);
  });
});

describe('Vault folders: delete', () => {
  slow('folder: all its secrets go together, not those in folders below, and can be restored', async () => {
    const { o, vault } = await newFolders();
    expect((await vault.del('production.folders/data/app/db')).status).toBe(204);
    expect(seen(await vault.get('production.folders/data/app/db'))).toEqual(ABSENT);
    expect(await mapAt(vault, 'app/db/replica')).toEqual({ user: 'ro' });
    const deleted = (await o.get('/secrets?status=deleted')).json.data as { id: string; name: string }[];
    expect(deleted.map(({ name }) => name).sort()).toEqual(['app/db/password', 'app/db/user']);
    expect((await vault.del('production.folders/data/app/db')).status).toBe(204);
    expect((await vault.del('production.folders/metadata/app/db/replica')).status).toBe(204);
    expect((await o.get('/secrets?status=deleted')).json.data).toHaveLength(2);
  });

  it('permission: one secret that the key may not delete keeps all, and is not named', async () => {
    const { o, vault } = await newFolders();
    for (const secrets of [['app/db/user'], ['app/*/u*']]) {
      const key = await newKey(o, { scopes: ['secrets:*'], secrets });
      for (const kind of ['data', 'metadata'])
        expect(seen(await vaultOf(key).del(`production.folders/${kind}/app/db`))).toEqual(DENIED);
    }
    const { o: breaker } = await newBreakGlass(o);
    expect(seen(await vaultOf(breaker).del('production.folders/metadata/app/db'))).toEqual(DENIED);
    expect(await mapAt(vault, 'app/db')).toEqual({ user: 'app', password: 's3cret' });
  });

  it('root: it cannot be deleted, and versions cannot', async () => {
    const { vault } = await newFolders();
    for (const path of ['data', 'data/.', 'metadata'])
      expect((await vault.del(`production.folders/${path}`)).status).toBe(400);
    for (const kind of ['delete', 'undelete', 'destroy'])
      expect(seen(await vault.put(`production.folders/${kind}/app/db`, { versions: [1] }))).toEqual([
        405,
        { errors: ['unsupported operation'] },
      ]);
    expect((await vault.put('production.folders/metadata/app/db', {})).status).toBe(405);
  });
});
