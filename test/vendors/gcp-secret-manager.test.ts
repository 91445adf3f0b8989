import { expect, it } from 'vitest';
import { gcpSecretManager } from '../../src/adapters/sync/gcp-secret-manager';
import { type GcpSecretManagerFake, startGcpSecretManager } from './fakes/gcp-secret-manager.ts';
import type { FakeRequest } from './fakes/server.ts';
import { keepsTheContract, running, short, sync } from './sync';

const configOf = (fake: GcpSecretManagerFake) => ({ serviceAccountJson: fake.key });
const adds = ({ path }: FakeRequest) => path.endsWith(':addVersion');

it('sync: gcp-secret-manager keeps the contract of all platforms', async () => {
  const fake = await running(startGcpSecretManager());
  await keepsTheContract(gcpSecretManager, { serviceAccountJson: JSON.stringify(fake.key) }, fake, {
    read: (name) => fake.text(name),
    foreign: () => fake.seed('FOREIGN', 'theirs'),
    hasForeign: () => fake.text('FOREIGN') === 'theirs',
    wrong: {
      serviceAccountJson: { ...fake.key, client_email: 'another@demo-project.iam.gserviceaccount.com' },
    },
  });
});

it('sync: gcp-secret-manager accepts the key file as text or as an object, and uses its project by default', async () => {
  const fake = await running(startGcpSecretManager());
  const parse = (config: object) => gcpSecretManager.config.safeParse(config);
  expect(parse({ serviceAccountJson: fake.key }).data?.projectId).toBe('demo-project');
  expect(parse({ serviceAccountJson: JSON.stringify(fake.key), projectId: 'other' }).data?.projectId).toBe(
    'other',
  );
  for (const wrong of [
    '{',
    '[]',
    'null',
    '',
    {},
    { ...fake.key, private_key: 'none' },
    { ...fake.key, token_uri: 'file:///etc/passwd' },
    { ...fake.key, token_uri: 'https://a\tb.example' },
  ]) {
    const { success, error } = parse({ serviceAccountJson: wrong });
    expect(success).toBe(false);
    expect(JSON.stringify(error)).not.toContain('BEGIN');
  }
  expect(gcpSecretManager.urls?.(parse({ serviceAccountJson: fake.key }).data as never)).toEqual([
    { field: 'serviceAccountJson', url: 'https://oauth2.googleapis.com/token' },
  ]);
});

it('sync: gcp-secret-manager names the clock where Google refuses the time of an assertion', async () => {
  const fake = await running(startGcpSecretManager());
  const description =
    'Invalid JWT: Token must be a short-lived token. Check your iat and exp values in the JWT claim.';
  for (const [error_description, isClock] of [
    [description, true],
    ['Invalid JWT Signature.', false],
  ] as const) {
    fake.interrupt = ({ path }) =>
      path === '/token' ? { status: 400, body: { error: 'invalid_grant', error_description } } : null;
    const [result] = (await sync(gcpSecretManager, configOf(fake), fake, { A: 'a' })).results;
    expect([result?.code, result?.message?.includes('clock')]).toEqual(['TARGET_AUTH', isClock]);
  }
});

it('sync: gcp-secret-manager reads secrets of a project called `secrets`', async () => {
  const fake = await running(startGcpSecretManager());
  fake.interrupt = ({ method, path }) =>
    method === 'GET' && /\/secrets(\?|$)/.test(path)
      ? {
          status: 200,
          body: {
            secrets: [{ name: 'projects/secrets/secrets/secrets' }, { name: 'projects/secrets/secrets/A' }],
          },
        }
      : null;
  const result = await sync(
    gcpSecretManager,
    configOf(fake),
    fake,
    { A: 'a', secrets: 's', B: 'b' },
    { dryRun: true },
  );
  expect(short(result)).toEqual(['A updated', 'B created', 'secrets updated']);
});

it('sync: gcp-secret-manager asks for one access token a sync', async () => {
  const fake = await running(startGcpSecretManager());
  const secrets = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(gcpSecretManager, configOf(fake), fake, secrets);
  expect(fake.tokens.size).toBe(1);
  expect(fake.secrets.size).toBe(20);
});

it('sync: gcp-secret-manager maps names, and secrets that would share one fail', async () => {
  const fake = await running(startGcpSecretManager());
  const result = await sync(gcpSecretManager, configOf(fake), fake, { 'a/b': '1', 'a.b': '2', 'c/d-e': '3' });
  expect(short(result)).toEqual(['a.b failed NAME_COLLISION', 'a/b failed NAME_COLLISION', 'c/d-e created']);
  expect([...fake.secrets.keys()]).toEqual(['c_d-e']);
});

it('sync: gcp-secret-manager makes no version of an equal value, whose age does not matter', async () => {
  const fake = await running(startGcpSecretManager());
  for (let i = 0; i < 8; i++) fake.seed(`NAME_${i}`, 'old', `value ${i}`);
  const result = await sync(gcpSecretManager, configOf(fake), fake, { NAME_6: 'value 6', NAME_7: 'old' });
  expect(short(result)).toEqual(['NAME_6 unchanged', 'NAME_7 updated']);
  expect(fake.secrets.get('NAME_6')?.versions).toHaveLength(2);
  expect(fake.secrets.get('NAME_7')).toMatchObject({ labels: { team: 'theirs' } });
  expect(fake.text('NAME_7')).toBe('old');
  expect(
    short(
      await sync(gcpSecretManager, configOf(fake), fake, { NAME_6: 'value 6', NEW: 'x' }, { dryRun: true }),
    ),
  ).toEqual(['NAME_6 unchanged', 'NEW created']);
});

it('sync: gcp-secret-manager adds a version to a secret without one, and if the newest is disabled or not text', async () => {
  const fake = await running(startGcpSecretManager());
  fake.seed('NONE');
  fake.seed('DISABLED', 'same');
  fake.seed('BYTES', 'x');
  Object.assign(fake.secrets.get('DISABLED')?.versions[0] ?? {}, { state: 'DISABLED' });
  Object.assign(fake.secrets.get('BYTES')?.versions[0] ?? {}, { data: Buffer.from([0xff, 0xfe]) });
  const result = await sync(gcpSecretManager, configOf(fake), fake, {
    NONE: 'n',
    DISABLED: 'same',
    BYTES: 'b',
  });
  expect(short(result)).toEqual(['BYTES updated', 'DISABLED updated', 'NONE updated']);
  expect([fake.text('NONE'), fake.text('DISABLED'), fake.text('BYTES')]).toEqual(['n', 'same', 'b']);
});

it('sync: gcp-secret-manager holds sizes before it writes, counted in bytes', async () => {
  const fake = await running(startGcpSecretManager());
  const result = await sync(gcpSecretManager, configOf(fake), fake, {
    EMPTY: '',
    MOST: 'é'.repeat(32_768),
    MORE: `${'é'.repeat(32_768)}x`,
  });
  expect(short(result)).toEqual([
    'EMPTY failed VALUE_NOT_ALLOWED',
    'MORE failed VALUE_TOO_LARGE',
    'MOST created',
  ]);
});

it('sync: gcp-secret-manager makes one version of a write whose answer was lost', async () => {
  const fake = await running(startGcpSecretManager());
  fake.seed('B', 'before');
  let lost = 0;
  fake.interrupt = (request) => (adds(request) && lost++ < 2 ? 'after' : null);
  expect(short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'a', B: 'b' }))).toEqual([
    'A created',
    'B updated',
  ]);
  expect([...fake.secrets].map(([id, { versions }]) => [id, versions.length])).toEqual([
    ['B', 2],
    ['A', 1],
  ]);
});

it('sync: gcp-secret-manager carries on a creation that was cut off', async () => {
  const fake = await running(startGcpSecretManager());
  let lost = 0;
  fake.interrupt = (request) =>
    request.method === 'POST' && request.query.has('secretId') && lost++ < 1 ? 'after' : null;
  await sync(gcpSecretManager, configOf(fake), fake, { A: 'a' });
  expect(fake.text('A')).toBe('a');
  fake.seed('B', 'b');
  fake.interrupt = (request) =>
    request.method === 'GET' && request.path.endsWith('/secrets') ? { status: 200, body: {} } : null;
  expect(
    short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'a', B: 'b' }, { begun: ['A', 'B'] })),
  ).toEqual(['A created', 'B created']);
  expect(fake.secrets.get('B')?.versions).toHaveLength(1);
});

it('sync: gcp-secret-manager updates if a create is refused as existing, and creates if an update finds nothing', async () => {
  const fake = await running(startGcpSecretManager());
  fake.seed('B', 'before');
  fake.interrupt = (request) => {
    if (request.query.has('secretId') && !fake.secrets.has('A')) fake.seed('A', 'meanwhile');
    if (adds(request) && request.path.includes('/B:') && fake.text('B') === 'before')
      fake.secrets.delete('B');
    return null;
  };
  expect(short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'a', B: 'b' }))).toEqual([
    'A updated',
    'B created',
  ]);
  expect([fake.text('A'), fake.text('B')]).toEqual(['a', 'b']);
});

it('sync: gcp-secret-manager fails as a whole if the token is refused, or the project does not exist', async () => {
  const fake = await running(startGcpSecretManager());
  const other = { ...configOf(fake), projectId: 'other-project' };
  expect(short(await sync(gcpSecretManager, other, fake, { A: 'a', B: 'b' }))).toEqual([
    'A failed TARGET_AUTH',
    'B failed TARGET_AUTH',
  ]);
  fake.interrupt = ({ path }) =>
    path === '/token'
      ? { status: 400, body: { error: 'invalid_grant', error_description: 'no such account' } }
      : null;
  const refused = await sync(gcpSecretManager, configOf(fake), fake, { A: 'a' });
  expect(refused.results).toEqual([
    {
      name: 'A',
      targetName: 'A',
      action: 'failed',
      code: 'TARGET_AUTH',
      message: 'The target answered with status 400 (invalid_grant).',
    },
  ]);
  fake.interrupt = null;
  const broken = {
    serviceAccountJson: {
      ...fake.key,
      private_key: '-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n',
    },
  };
  expect(short(await sync(gcpSecretManager, broken, fake, { A: 'a' }))).toEqual(['A failed TARGET_AUTH']);
});

it('sync: gcp-secret-manager takes a listing of another shape for no empty one, and a broken checksum for no value', async () => {
  const fake = await running(startGcpSecretManager());
  for (const body of [{ items: [] }, { secrets: {} }, { secrets: [{}] }, { error: {} }, [], 'text']) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'a' }))).toEqual([
      'A failed TARGET_REJECTED',
    ]);
  }
  fake.seed('A', 'a');
  fake.interrupt = ({ path }) =>
    path.endsWith(':access') ? { status: 200, body: { payload: { data: 'YQ==', dataCrc32c: '1' } } } : null;
  expect(short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'b' }))).toEqual([
    'A failed TARGET_REJECTED',
  ]);
  expect(fake.writes()).toEqual([]);
});

it('sync: gcp-secret-manager waits if Google returns RESOURCE_EXHAUSTED', async () => {
  const fake = await running(startGcpSecretManager());
  let n = 0;
  fake.interrupt = (request) =>
    adds(request) && n++ < 2
      ? { status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } }
      : null;
  expect(short(await sync(gcpSecretManager, configOf(fake), fake, { A: 'a', B: 'b' }))).toEqual([
    'A created',
    'B created',
  ]);
});

it('sync: the fake gcp-secret-manager refuses what the vendor would', async () => {
  const fake = await running(startGcpSecretManager());
  const status = async (path: string, init: RequestInit = {}) => (await fetch(fake.url + path, init)).status;
  expect(await status('/v1/projects/demo-project/secrets')).toBe(401);
  expect(
    await status('/token', { method: 'POST', body: new URLSearchParams({ grant_type: 'password' }) }),
  ).toBe(400);
  fake.tokens.add('t');
  const headers = { Authorization: 'Bearer t', 'Content-Type': 'application/json' };
  const post = (path: string, body: object) =>
    status(path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(
    await post('/v1/projects/demo-project/secrets?secretId=A.B', { replication: { automatic: {} } }),
  ).toBe(400);
  expect(await post('/v1/projects/demo-project/secrets?secretId=A', { replication: { automatic: {} } })).toBe(
    200,
  );
  expect(await post('/v1/projects/demo-project/secrets?secretId=A', { replication: { automatic: {} } })).toBe(
    409,
  );
  expect(
    await post('/v1/projects/demo-project/secrets/A:addVersion', {
      payload: { data: 'YQ==', dataCrc32c: '1' },
    }),
  ).toBe(400);
  expect(
    await post('/v1/projects/demo-project/secrets/A:addVersion', { payload: { data: '', dataCrc32c: '0' } }),
  ).toBe(400);
});

it('sync: gcp-secret-manager does not prune what somebody else has replaced with bytes', async () => {
  const fake = await running(startGcpSecretManager());
  const first = await sync(gcpSecretManager, configOf(fake), fake, { A: 'a' });
  fake.secrets.get('A')?.versions.push({ data: Buffer.from([0xff, 0xfe]), state: 'ENABLED' });
  const pruned = await sync(gcpSecretManager, configOf(fake), fake, {}, { owned: first.owned, gone: ['A'] });
  expect([pruned.results, pruned.owned]).toEqual([[], []]);
  expect(fake.secrets.has('A')).toBe(true);
});
