// Imports: what becomes of the items of an export, for every way of meeting existing secrets.
import { describe, expect, it } from 'vitest';
import { type Caller as Asking, nobody } from '../../../src/auth/authorize';
import { importOperations } from '../../../src/domains/imports/gate/operations';
import { journal } from '../../../src/gate/journal/records';
import { lastUsed } from '../../../src/gate/limits/last-used';
import { problemOf } from '../../model/invariants';
import { newAgent, newBreakGlass, newKey, newProvider } from '../../support/credentials';
import { faults, holdNext, reset, until } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  approvalIn,
  newApprovalPolicy,
  newOffice,
  plantApproval,
  under,
} from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { awsOf, newAwsKey } from '../../support/integrations/aws';
import { vaultOf } from '../../support/integrations/vault';
import { few, slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const importing = (
  o: Caller,
  data: unknown,
  fields: Record<string, unknown> = {},
  headers?: Record<string, string>,
) => o.post('/integrations/import', { source: 'svc', onConflict: 'skip', data, ...fields }, headers);

const valuesOf = async (o: Caller, environment = 'production') =>
  (await o.get(`/environments/${environment}/values`)).json.values;

const result = (fields: Record<string, unknown>) => ({
  created: [],
  updated: [],
  skipped: [],
  failed: [],
  ...fields,
});

describe('import', () => {
  slow('creates secrets of type generic, in the default environment or another', async () => {
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
    expect((await importing(o, { A: 'three' }, { environmentId: 'staging', prefix: 'x/' })).json).toEqual(
      result({ created: ['x/A'] }),
    );
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
    expect((await o.get('/secrets/by-name/A')).json).toMatchObject({
      value: 'new',
      version: 2,
      type: 'password',
      tags: { team: 'core' },
    });
    expect((await importing(o, { A: 'again', B: 'b' })).json).toEqual(
      result({ created: ['B'], skipped: ['A'] }),
    );
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
      expect([dry.status, dry.json.error?.code ?? dry.json]).toEqual([
        real.status,
        real.json.error?.code ?? real.json,
      ]);
    }
    expect(codeOf(await importing(o, '{', { dryRun: true }))).toEqual([422, 'IMPORT_UNREADABLE']);
  });

  slow('5,000 secrets are one transaction, one audit entry and an event each', async () => {
    const o = await newOrg();
    const data = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`NAME_${n}`, `value ${n}`]));
    const answer = await importing(o, data, { onConflict: 'fail' });
    expect(answer.status).toBe(200);
    expect(answer.json.created).toHaveLength(5000);
    const [entry, ...others] = (await o.get('/audit-log?action=integration.import')).json.data;
    expect(others).toEqual([]);
    expect(entry.imported).toMatchObject({
      source: 'svc',
      created: 5000,
      updated: 0,
      skipped: 0,
      failed: 0,
      dry_run: false,
    });
    expect(entry.imported.names.length + entry.imported.unnamed).toBe(5000);
    expect(Object.keys(entry.imported.versions)).toHaveLength(5000);
    expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: true });
    expect((await o.get('/secrets/by-name/NAME_4999')).json.value).toBe('value 4999');
    const events = (await o.get('/events?limit=100&types=SECRET_CREATED')).json.data;
    expect(events).toHaveLength(100);
    const again = await importing(o, Object.fromEntries(Object.keys(data).map((name) => [name, 'other'])), {
      onConflict: 'overwrite',
    });
    expect(again.json.updated).toHaveLength(5000);
    expect((await o.get('/secrets/by-name/NAME_17')).json).toMatchObject({ value: 'other', version: 2 });
    expect((await importing(o, { ...data, MORE: 'x' })).status).toBe(413);
  });

  slow('items: null and empty values, mapped names, and failures of single items', async () => {
    const o = await newOrg();
    const data = '{"A":"a","B":null,"C":"","my key":"k","n":12345678901234567890,"__proto__":"p","a//b":"x"}';
    for (const given of [data, JSON.parse('{"marker":0}')]) {
      const target = await newOrg();
      const body = `{"source":"svc","onConflict":"fail","data":${typeof given === 'string' ? JSON.stringify(data) : data}}`;
      const answer = await target.call('POST', '/integrations/import', body);
      expect(answer.json).toEqual(
        result({
          created: ['A', 'C', 'my_key', 'n', '__proto__'],
          failed: [
            { name: 'B', reason: 'VALUE_NULL' },
            { name: 'a//b', reason: 'NAME_INVALID' },
          ],
        }),
      );
      expect((await target.get('/secrets/by-name/C')).json).toMatchObject({ value: '', version: 1 });
      expect((await target.get('/secrets/by-name/n')).json.value).toBe('12345678901234567890');
      expect((await target.get('/secrets/by-name/__proto__')).json.value).toBe('p');
    }
    expect(await valuesOf(o)).toEqual({});
  });

  it('refuseEmpty: items with an empty value fail, and the others are imported', async () => {
    const o = await newOrg();
    const answer = await importing(o, 'A=\nB=b\nC=""\n', { source: 'dotenv', refuseEmpty: true });
    const failed = ['A', 'C'].map((name) => ({ name, reason: 'VALUE_EMPTY' }));
    expect(answer.json).toEqual(result({ created: ['B'], failed }));
  });

  it('bytes that are not text are base64 with a tag, which is removed when a text replaces them', async () => {
    const o = await newOrg();
    const aws = (fields: object, onConflict = 'overwrite') =>
      importing(o, { Name: 'bin', ...fields }, { source: 'aws-secrets-manager', onConflict });
    expect((await aws({ SecretBinary: '/wAB' })).json.created).toEqual(['bin']);
    expect((await o.get('/secrets/by-name/bin')).json).toMatchObject({
      value: '/wAB',
      tags: { encoding: 'base64' },
    });
    expect((await aws({ SecretBinary: '/wAB' })).json.skipped).toEqual(['bin']);
    // The same characters, but as a text: the tag would be wrong.
    expect((await aws({ SecretString: '/wAB' })).json.updated).toEqual(['bin']);
    expect((await o.get('/secrets/by-name/bin')).json).toMatchObject({ value: '/wAB', version: 1, tags: {} });
    expect((await aws({ SecretBinary: '/wAC' })).json.updated).toEqual(['bin']);
    expect((await o.get('/secrets/by-name/bin')).json).toMatchObject({
      value: '/wAC',
      version: 2,
      tags: { encoding: 'base64' },
    });
  });

  slow('round trip: an export of one organisation can be imported by another, and is equal', async () => {
    const from = await newOrg();
    const to = await newOrg();
    const values: Record<string, string> = Object.create(null);
    for (const [n, value] of [
      ' spaced ',
      'line\r\nbreak\n',
      '\0\u0001',
      'é😀\u2028',
      '{"a":1}',
      '12',
      '"',
      '\\n',
      '\uFEFFbom',
      'x'.repeat(65_536),
    ].entries())
      values[`V_${n}`] = value;
    Object.assign(values, { constructor: 'c' });
    for (const [name, value] of Object.entries(values)) await newSecret(from, { name, value });
    const exported = await from.get('/environments/production/values');
    expect((await importing(to, exported.text, { onConflict: 'fail' })).json.failed).toEqual([]);
    expect(await valuesOf(to)).toEqual(exported.json.values);
    expect(await valuesOf(to)).toEqual({ ...values });
  });

  slow('an expired or revoked secret is not overwritten; a deleted one leaves its name free', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'OLD', ttlSeconds: 5 });
    const gone = await newSecret(o, { name: 'GONE' });
    await o.del(`/secrets/${gone.id}`);
    const provider = await newProvider(o);
    const issued = { secretName: 'REVOKED', environment: 'production', value: 'v', ttlSeconds: 60 };
    await send('POST', '/api/v1/provider/issue', { token: provider.token, body: issued });
    await send('POST', '/api/v1/provider/revoke', {
      token: provider.token,
      body: { secretName: 'REVOKED', environment: 'production' },
    });
    faults.clock = Date.now() + 6000;
    const answer = await importing(o, { OLD: 'x', GONE: 'y', REVOKED: 'z' }, { onConflict: 'overwrite' });
    expect(answer.json).toMatchObject({ created: ['GONE'], updated: [] });
    expect(
      answer.json.failed.map(({ name, reason }: Record<string, string>) => [name, reason?.split(':')[0]]),
    ).toEqual([
      ['OLD', 'EXPIRED'],
      ['REVOKED', 'DISABLED'],
    ]);
    expect((await importing(o, { OLD: 'x', REVOKED: 'z' })).json.skipped).toEqual(['OLD', 'REVOKED']);
  });

  slow(
    'bodies: unknown fields, sources and modes are 400; data may be larger than other bodies, but does not bypass their shape',
    async () => {
      const o = await newOrg();
      for (const fields of [
        ...[
          { source: 'lastpass' },
          { source: undefined },
          { onConflict: 'replace' },
          { onConflict: undefined },
          { data: 5 },
          { data: null },
          { data: undefined },
        ],
        ...[
          { prefix: '/x' },
          { prefix: 'a b' },
          { dryRun: 'yes' },
          { environmentId: '' },
          { unknown: 1 },
          { names: ['A'] },
        ],
      ])
        expect(codeOf(await importing(o, { A: 'a' }, fields)), JSON.stringify(fields)).toEqual([
          400,
          'VALIDATION_FAILED',
        ]);
      const wide = {
        ...Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`W${n}`, 'v'])),
        deep: JSON.parse('[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]'),
      };
      expect((await importing(o, wide, { dryRun: true })).json.created).toHaveLength(3001);
      expect(codeOf(await importing(o, {}, { prefix: wide }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await importing(o, 'x'.repeat(1_048_576)))).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    },
  );
});

describe('import: permission', () => {
  it('permission: integrations:import first, then secrets:write, both of one permission set', async () => {
    const o = await newOrg();
    const messageOf = async (scopes: string[]) => {
      const { status, json } = await importing((await newKey(o, { scopes })).o, { A: 'a' });
      return [status, json.error?.code, /[a-z]+:[a-z]+/.exec(json.error?.message ?? '')?.[0]];
    };
    expect(await messageOf(['org:read'])).toEqual([403, 'INSUFFICIENT_SCOPE', 'integrations:import']);
    expect(await messageOf(['secrets:*'])).toEqual([403, 'INSUFFICIENT_SCOPE', 'integrations:import']);
    expect(await messageOf(['integrations:*'])).toEqual([403, 'INSUFFICIENT_SCOPE', 'secrets:write']);
    expect((await messageOf(['integrations:import', 'secrets:write']))[0]).toBe(200);
    // Before the body is looked at.
    const reader = await newKey(o, { scopes: ['integrations:import'] });
    expect(codeOf(await reader.o.post('/integrations/import', { nonsense: 1 }))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
  });

  it('permission: role and grant of a member do not add up to an import: both scopes come from one permission set', async () => {
    // No role or grant of today has one scope in one place and the other elsewhere; permission sets could.
    const o = await newOrg();
    const place = { environments: null, secrets: null, expires_at: null };
    const two = [
      { scopes: ['integrations:import'], ...place },
      { scopes: ['secrets:write'], ...place },
    ];
    const caller = { ...nobody, kind: 'member', permissions: two } as unknown as Asking;
    const call = {
      core: { rows: { get: () => null, find: () => ({ id: 'env_1' }) } },
      ask: { org: o.id },
      caller,
      input: { environment: 'x' },
    };
    const authorize = importOperations['integration.import'].authorize as (
      call: unknown,
    ) => { code: string } | null;
    expect(authorize(call)?.code).toBe('NOT_FOUND');
    expect(
      authorize({
        ...call,
        caller: { ...caller, permissions: [{ scopes: ['integrations:import', 'secrets:write'], ...place }] },
      }),
    ).toBe(null);
  });

  slow('permission: an environment outside the reach of a credential is 404, to an agent 403', async () => {
    const o = await newOrg();
    const limits = { scopes: ['integrations:import', 'secrets:write'], environments: ['staging'] };
    const key = await newKey(o, limits);
    expect(codeOf(await importing(key.o, { A: 'a' }))).toEqual([404, 'NOT_FOUND']);
    expect((await importing(key.o, { A: 'a' }, { environmentId: 'staging' })).status).toBe(200);
    const agent = await newAgent(o, limits);
    expect(codeOf(await importing(agent.o, { A: 'a' }))).toEqual([403, 'SECRET_ACCESS_DENIED']);
    expect(codeOf(await importing(agent.o, { A: 'a' }, { environmentId: 'none' }))).toEqual([
      403,
      'SECRET_ACCESS_DENIED',
    ]);
    expect(codeOf(await importing((await newOrg()).as(o.token), { A: 'a' }))).toEqual([404, 'NOT_FOUND']);
    for (const kind of [await newProvider(o), await newBreakGlass(o)])
      expect(codeOf(await importing(kind.o, { A: 'a' }))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
  });

  it('permission: items outside the name patterns fail, indistinguishable from unused names', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'other/TAKEN', value: 'v' });
    const key = await newKey(o, { scopes: ['integrations:import', 'secrets:write'], secrets: ['app/*'] });
    const data = { 'app/A': 'a', 'other/TAKEN': 'v', 'other/FREE': 'v' };
    for (const onConflict of ['skip', 'overwrite', 'fail']) {
      const answer = await importing(key.o, data, { onConflict, dryRun: onConflict !== 'skip' });
      if (onConflict === 'fail')
        expect(answer.json.error.details).toEqual([{ path: 'app/A', message: 'exists' }]);
      else
        expect(answer.json.failed).toEqual([
          { name: 'other/TAKEN', reason: 'NOT_ALLOWED' },
          { name: 'other/FREE', reason: 'NOT_ALLOWED' },
        ]);
      if (onConflict === 'skip') expect(answer.json.created).toEqual(['app/A']);
    }
    expect(await valuesOf(o)).toEqual({ 'app/A': 'a', 'other/TAKEN': 'v' });
  });

  it('permission: comparing many long names with many patterns is refused before it takes long', async () => {
    const o = await newOrg();
    const secrets = Array.from({ length: 100 }, (_, n) => `${n}*a*b*c*d*${'x'.repeat(25)}`);
    const key = await newKey(o, { scopes: ['integrations:import', 'secrets:write'], secrets });
    const data = Object.fromEntries(Array.from({ length: 4000 }, (_, n) => [`${'n'.repeat(200)}${n}`, 'v']));
    const answer = await importing(key.o, data);
    expect([answer.status, answer.json.error.code, answer.json.error.message]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      expect.stringContaining('patterns'),
    ]);
  });

  it('permission: only readers are told that a value is equal', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'same' });
    const writer = await newKey(o, { scopes: ['integrations:import', 'secrets:write'] });
    const dry = { onConflict: 'overwrite', dryRun: true };
    expect((await importing(writer.o, { A: 'same' }, dry)).json.updated).toEqual(['A']);
    expect((await importing(writer.o, { A: 'guess' }, dry)).json.updated).toEqual(['A']);
    expect((await importing(o, { A: 'same' }, dry)).json.skipped).toEqual(['A']);
    expect((await importing(writer.o, { A: 'same' }, { onConflict: 'overwrite' })).json.updated).toEqual([
      'A',
    ]);
    expect((await o.get('/secrets/by-name/A')).json.version).toBe(2);
  });
});

describe('import: secrets of AWS as they are', () => {
  const keep = { source: 'aws-secrets-manager', whole: true };

  slow('whole: clients of AWS read the same text and the same bytes by the same name', async () => {
    const o = await newOrg();
    const data = [
      { Name: 'app/db', SecretString: '{"user": "app", "port": 5432.10}' },
      { Name: '/app/key', SecretBinary: 'AP8B' },
      { Name: 'app/text', SecretBinary: 'YWJj' },
    ];
    const created = ['app/db', 'app/key', 'app/text'];
    expect((await importing(o, data, keep)).json).toEqual(result({ created }));
    const aws = awsOf(o, (await newAwsKey(o)).pair);
    const read = async (SecretId: string) => {
      const { SecretString, SecretBinary } = (await aws('GetSecretValue', { SecretId })).json;
      return SecretString ?? { bytes: SecretBinary };
    };
    expect(await read('app/db')).toBe('{"user": "app", "port": 5432.10}');
    expect(await read('app/key')).toEqual({ bytes: 'AP8B' });
    expect(await read('app/text')).toEqual({ bytes: 'YWJj' });
    expect((await o.get('/secrets/by-name/app/db')).json).toMatchObject({ type: 'json', tags: {} });
    // The same text is another value where it is that of bytes.
    await aws('PutSecretValue', { SecretId: 'app/text', SecretString: 'YWJj' });
    const again = (await importing(o, data, { ...keep, onConflict: 'overwrite' })).json;
    expect([again.updated, again.skipped]).toEqual([['app/text'], ['app/db', 'app/key']]);
    expect(await read('app/text')).toEqual({ bytes: 'YWJj' });
  });

  it('validation: it is for this source alone', async () => {
    const o = await newOrg();
    expect(codeOf(await importing(o, { a: 'b' }, { whole: true }))).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('import: paths of Vault', () => {
  const answer = (map: object) => ({
    data: { data: map, metadata: { version: 1, created_time: '2026-01-01T00:00:00Z' } },
  });
  const keep = { source: 'vault', keepPaths: true };

  slow('names begin with the path, so that clients of Vault find the same map at the same path', async () => {
    const o = await newOrg();
    const data = {
      'app/db': answer({ user: 'app', 'pass/word': 's3cret', port: 5432 }),
      '/app/': answer({ user: 'other' }),
    };
    const created = ['app/db/user', 'app/db/pass_word', 'app/db/port', 'app/user'];
    expect((await importing(o, data, keep)).json).toEqual(result({ created }));
    const read = await vaultOf(o).get('production.folders/data/app/db');
    expect(read.json.data.data).toEqual({ user: 'app', pass_word: 's3cret', port: '5432' });
    const prefixed = await importing(o, data, { ...keep, prefix: 'old/' });
    expect(prefixed.json.created).toEqual(created.map((name) => `old/${name}`));
  });

  slow('validation: an answer without its path, and another source, are refused', async () => {
    const o = await newOrg();
    expect(codeOf(await importing(o, answer({ a: 'b' }), keep))).toEqual([422, 'IMPORT_UNREADABLE']);
    expect(codeOf(await importing(o, { a: 'b' }, { keepPaths: true }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(await valuesOf(o)).toEqual({});
  });
});

describe('import: policies', () => {
  it('naming policy: an item that breaks one fails, with an event, and stops no other', async () => {
    const o = await newOrg();
    await newPolicy(o, 'naming', { pattern: '^[A-Z_]+$' });
    const answer = await importing(o, { GOOD: 'a', bad: 'b' });
    expect(answer.json.created).toEqual(['GOOD']);
    expect(answer.json.failed).toEqual([
      { name: 'bad', reason: expect.stringMatching(/^POLICY_VIOLATED: The naming policy "naming policy"/) },
    ]);
    expect(await valuesOf(o)).toEqual({ GOOD: 'a' });
    const events = (await o.get('/events?types=POLICY_VIOLATED')).json.data;
    expect(events).toMatchObject([
      { data: { name: 'bad', action: 'integration.import', environment: 'production' } },
    ]);
    // None is written, and the refusals are told all the same.
    expect((await importing(o, { worse: 'b' })).json).toMatchObject({
      created: [],
      failed: [{ name: 'worse' }],
    });
    expect((await o.get('/events?types=POLICY_VIOLATED')).json.data).toHaveLength(2);
    expect((await importing(o, { worse: 'b' }, { dryRun: true })).json.failed).toHaveLength(1);
  });

  slow('approval: one on secret.update holds an import that would overwrite, and no other', async () => {
    const { o, asked } = await newOffice();
    const key = await newKey(o, { scopes: ['integrations:import', 'secrets:*', 'approvals:read'] });
    await newSecret(o, { name: 'prod/A', value: 'old' });
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['prod/*'] } });
    const body = { 'prod/A': 'new', 'prod/B': 'b' };
    expect((await importing(key.o, body, { onConflict: 'overwrite', dryRun: true })).json).toMatchObject({
      created: ['prod/B'],
      updated: ['prod/A'],
    });
    const held = approvalIn(await importing(key.o, body, { onConflict: 'overwrite' }));
    expect(await valuesOf(o)).toEqual({ 'prod/A': 'old' });
    expect(held.operation).toBe('secret.update');
    const shown = (await asked.get(`/approvals/${held.id}`)).json;
    expect(shown.summary).toMatch(/asks to import 2 secrets into production, of which 1 exist/);
    expect(
      (await importing(key.o, { ...body, 'prod/B': 'other' }, { onConflict: 'skip' })).json,
    ).toMatchObject({
      created: ['prod/B'],
      skipped: ['prod/A'],
    });
    await plantApproval(o, held.id);
    const done = await importing(key.o, body, { onConflict: 'overwrite' }, under(held.id));
    // prod/B exists by now, with another value: this is another change than the one that was approved.
    expect(codeOf(done)).toEqual([409, 'APPROVAL_MISMATCH']);
  });

  slow('approval: an approved import is done once, as it was asked for', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'old' });
    await newApprovalPolicy(o, ['secret.update']);
    const held = approvalIn(await importing(o, { A: 'new' }, { onConflict: 'overwrite' }));
    await plantApproval(o, held.id);
    expect(codeOf(await importing(o, { A: 'other' }, { onConflict: 'overwrite' }, under(held.id)))).toEqual([
      409,
      'APPROVAL_MISMATCH',
    ]);
    expect(
      (await importing(o, { A: 'new' }, { onConflict: 'overwrite' }, under(held.id))).json.updated,
    ).toEqual(['A']);
    expect(codeOf(await importing(o, { A: 'new' }, { onConflict: 'overwrite' }, under(held.id)))[0]).not.toBe(
      500,
    );
    expect((await o.get('/secrets/by-name/A')).json).toMatchObject({ value: 'new', version: 2 });
  });
});

describe('import: repeats, races and faults', () => {
  slow('idempotency: the same key answers the same, failures included, and imports once', async () => {
    const o = await newOrg();
    const ask = (data: object, fields = {}) =>
      importing(o, data, { onConflict: 'fail', ...fields }, { 'Idempotency-Key': 'import-1' });
    const first = await ask({ A: 'a', B: null });
    const again = await ask({ A: 'a', B: null });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      200,
      first.text,
      'true',
    ]);
    expect(codeOf(await ask({ A: 'b', B: null }))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    // A dry run changes nothing, and so is not kept: it runs again.
    const dry = () => importing(o, { C: 'c' }, { dryRun: true }, { 'Idempotency-Key': 'dry' });
    expect((await dry()).json.created).toEqual(['C']);
    await newSecret(o, { name: 'C' });
    expect((await dry()).json.skipped).toEqual(['C']);
    const conflict = () =>
      importing(o, { A: 'x' }, { onConflict: 'fail' }, { 'Idempotency-Key': 'conflict' });
    expect((await conflict()).text).toBe((await conflict()).text);
  });

  slow(
    'concurrency: imports and creates of the same names: each name is made once, and nothing is lost',
    async () => {
      const o = await newOrg();
      faults.delay = 10;
      const names = ['A', 'B', 'C', 'D'];
      const data = Object.fromEntries(names.map((name) => [name, 'imported']));
      const answers = await Promise.all([
        ...[1, 2, 3].map(() => importing(o, data, { onConflict: 'skip' })),
        ...names.map((name) => o.post('/secrets', { name, type: 'generic', value: 'created' })),
        importing(o, data, { onConflict: 'overwrite' }),
      ]);
      faults.delay = 0;
      for (const { status, json } of answers) expect([200, 201, 409], JSON.stringify(json)).toContain(status);
      const made = answers.flatMap(({ json, status }) =>
        status === 201 ? [json.name] : (json.created ?? []),
      );
      expect(made.sort()).toEqual(names);
      expect(await problemOf(o)).toBe(null);
    },
  );

  slow(
    'concurrency: one of two concurrent imports with fail writes everything, and the other nothing',
    async () => {
      const o = await newOrg();
      faults.delay = 10;
      const answers = await Promise.all([
        importing(o, { A: '1', B: '1', X: '1' }, { onConflict: 'fail' }),
        importing(o, { Y: '2', B: '2', A: '2' }, { onConflict: 'fail' }),
      ]);
      faults.delay = 0;
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const won = answers[0]?.status === 200;
      expect(await valuesOf(o)).toEqual(won ? { A: '1', B: '1', X: '1' } : { A: '2', B: '2', Y: '2' });
    },
  );

  slow('revocation: a caller who is revoked while the import waits writes nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'old' });
    const key = await newKey(o);
    const { held, release } = holdNext();
    const first = o.call('PUT', '/secrets/by-name/A', { value: 'one' });
    await held();
    const answer = importing(key.o, { A: 'new', B: 'b' }, { onConflict: 'overwrite' });
    await until(() => inCore(o, (core) => lastUsed(core).of(key.id) !== null));
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    release();
    expect(codeOf(await answer)).toEqual([401, 'TOKEN_REVOKED']);
    expect((await first).status).toBe(200);
    expect(await valuesOf(o)).toEqual({ A: 'one' });
  });

  it.each(few(['reset after', 'before', 'after', 'late', 'reset before', 'reset late'] as const, 1))(
    'fault: a long import of several parts is done once or not at all, when the batch ends %s',
    async (fate) => {
      const o = await newOrg();
      const data = Object.fromEntries(
        Array.from({ length: 1200 }, (_, n) => [`${'LONG_NAME_'.repeat(15)}${n}`, `v${n}`]),
      );
      const ask = () => importing(o, data, { onConflict: 'fail' }, { 'Idempotency-Key': 'k' });
      faults.d1 = 0;
      faults.fail = (kind) => (kind === 'batch' ? fate : null);
      let answer = await ask();
      const { orphans } = faults;
      reset();
      // The gate has started anew, from a record that takes several rows.
      if (answer.status === 503) answer = await ask();
      for (const land of orphans) await land().catch(() => {});
      faults.clock = Date.now() + 61_000;
      for (let i = 0; i < 3 && answer.status !== 200; i++) answer = await ask();
      expect(answer.json.created).toHaveLength(1200);
      faults.clock = null;
      expect(await inCore(o, ({ rows }) => rows.count('secret'))).toBe(1200);
      expect(await problemOf(o)).toBe(null);
      const { n } = (await db
        .prepare('select count(*) n from secret_versions where org_id = ?')
        .bind(o.id)
        .first<{ n: number }>()) as {
        n: number;
      };
      expect(n).toBe(1200);
      expect(await inCore(o, (core) => journal(core).extent().records)).toBe(0);
    },
  );

  slow('limits: the largest answers are kept, and replayed', async () => {
    const o = await newOrg();
    const prefix = 'p'.repeat(240);
    const data = Object.fromEntries(
      Array.from({ length: 5000 }, (_, n) => [`NAME_${n}`.padEnd(15, '_'), 'v']),
    );
    const ask = (onConflict: string) =>
      importing(o, data, { onConflict, prefix }, { 'Idempotency-Key': onConflict });
    for (const onConflict of ['skip', 'fail']) {
      const first = await ask(onConflict);
      expect(first.text.length).toBeGreaterThan(1_250_000);
      const again = await ask(onConflict);
      expect([again.status, again.text === first.text, again.headers.get('idempotency-replayed')]).toEqual([
        first.status,
        true,
        'true',
      ]);
    }
    expect(await problemOf(o)).toBe(null);
  });

  it('refusals: an unreadable export is refused after the permission and existence checks', async () => {
    const o = await newOrg();
    expect(codeOf(await importing(o, '{', { environmentId: 'none' }))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await importing(o, '{', { unknown: 1 }))).toEqual([400, 'VALIDATION_FAILED']);
    const key = { 'Idempotency-Key': 'k' };
    const first = await importing(o, '{', {}, key);
    expect(codeOf(first)).toEqual([422, 'IMPORT_UNREADABLE']);
    expect((await importing(o, '{', {}, key)).text).toBe(first.text);
    expect(codeOf(await importing(o, '[', {}, key))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    const limited = await newKey(o, {
      scopes: ['integrations:import', 'secrets:write'],
      environments: ['staging'],
    });
    expect(codeOf(await importing(limited.o, '{'))).toEqual([404, 'NOT_FOUND']);
    const [entry] = (await o.get('/audit-log?action=integration.import')).json.data;
    expect(entry).toMatchObject({ status: 404 });
  });

  slow('limits: parameters of D1 stay below its limit, regardless of the size of an import', async () => {
    const o = await newOrg();
    const data = Object.fromEntries(
      Array.from({ length: 3000 }, (_, n) => [`${'LONG_NAME_'.repeat(8)}${n}`, 'v'.repeat(200)]),
    );
    expect((await importing(o, data)).status).toBe(200);
    const longest = Math.max(
      ...[...faults.asked.values()].flat().map((parameter) => String(parameter).length),
    );
    expect(longest).toBeGreaterThan(200_000);
    expect(longest).toBeLessThan(1_300_000);
  });

  it('limits: the encrypted bytes and the number of secrets are counted for all items together', async () => {
    const o = await newOrg();
    await inCore(o, ({ rows }) => {
      const count = rows.count;
      rows.count = (kind) => (kind === 'secret' ? 99_998 : count(kind));
    });
    expect(codeOf(await importing(o, { A: 'a', B: 'b', C: 'c' }))).toEqual([409, 'LIMIT_REACHED']);
    expect(codeOf(await importing(o, { A: 'a', B: 'b', C: 'c' }, { dryRun: true }))).toEqual([
      409,
      'LIMIT_REACHED',
    ]);
    expect((await importing(o, { A: 'a', B: 'b' }, { dryRun: true })).status).toBe(200);
    await inCore(o, ({ rows }) => {
      rows.sealedBytes = () => 4 * 1024 ** 3 - 100;
    });
    // One more would fit, two do not.
    expect((await importing(o, { A: 'a' }, { dryRun: true })).status).toBe(200);
    expect(codeOf(await importing(o, { A: 'a', B: 'b' }))).toEqual([409, 'LIMIT_REACHED']);
  });

  it('overwrite: a secret with 1,000 versions loses its oldest, and the bytes that remain are counted', async () => {
    const o = await newOrg();
    const long = [await newLongSecret(o), await newLongSecret(o)];
    const names = await Promise.all(
      long.map(async ({ id }) => (await o.get(`/secrets/${id}`)).json.name as string),
    );
    const answer = await importing(o, Object.fromEntries(names.map((name) => [name, 'one more'])), {
      onConflict: 'overwrite',
    });
    expect(answer.json.updated.sort()).toEqual(names.sort());
    expect(await problemOf(o)).toBe(null);
  });

  it.each(['in the gate', 'in D1'])(
    'contain: the imports and bulk reads of a leaked credential are reported, with the log %s',
    async (place) => {
      const o = await newOrg();
      const mine = await newSecret(o, { name: 'A', value: 'one' });
      const key = await newKey(o);
      await key.o.get('/environments/production/values');
      await importing(key.o, { A: 'two', B: 'b' }, { onConflict: 'overwrite' });
      await importing(o, { A: 'three', C: 'c' }, { onConflict: 'overwrite' });
      await key.o.get('/environments/production/values');
      await importing(o, { A: 'four', B: 'changed' }, { onConflict: 'overwrite' });
      if (place === 'in D1')
        expect(
          (await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP })).status,
        ).toBe(200);
      const b = (await o.get('/secrets/by-name/B')).json.id;
      const c = (await o.get('/secrets/by-name/C')).json.id;
      const report = (await o.post(`/credentials/${key.id}/contain`, {})).json;
      const versions = (list: { secret_id: string; version: number }[]) =>
        list.map((one) => [one.secret_id, one.version]).sort();
      expect(versions(report.read)).toEqual(
        [
          [mine.id, 1],
          [mine.id, 3],
          [b, 1],
          [c, 1],
        ].sort(),
      );
      expect(versions(report.written)).toEqual(
        [
          [mine.id, 2],
          [b, 1],
        ].sort(),
      );
    },
  );

  slow('secrecy: no value is in the audit log, in events, in refusals or in the database', async () => {
    const o = await newOrg();
    const value = 'hunter2-correct-horse-battery';
    await importing(o, { A: value, B: value, 'a//b': value });
    await importing(o, { A: value }, { onConflict: 'fail' });
    await importing(o, `{"A":"${value}"`, { onConflict: 'fail' });
    await importing(o, [[value]], { source: 'conjur' });
    const log = (await o.get('/audit-log')).text + (await o.get('/events')).text;
    expect(log).toContain('"imported"');
    expect(log).not.toContain('hunter2');
    for (const table of ['secrets', 'secret_versions', 'commits'])
      expect(JSON.stringify((await db.prepare(`select * from ${table}`).all()).results)).not.toContain(
        'hunter2',
      );
  });
});
