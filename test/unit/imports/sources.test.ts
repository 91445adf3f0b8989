// Each source, by exports of its own tool where it runs in development, else by the shapes that the vendor
// documents.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are what is imported.
import { describe, expect, it } from 'vitest';
import { type SourceName, sources } from '../../../src/adapters/import';
import { joined } from '../../../src/adapters/import/source';
import { nameOf, type Prepared, readExport } from '../../../src/domains/imports/items';
import type { Refusal } from '../../../src/errors';
import awsBatch from '../../support/fixtures/imports/aws-batch.json?raw';
import awsSecret from '../../support/fixtures/imports/aws-secret.json?raw';
import ssmParameter from '../../support/fixtures/imports/ssm-parameter.json?raw';
import ssmParameters from '../../support/fixtures/imports/ssm-parameters.json?raw';
import ssmPath from '../../support/fixtures/imports/ssm-path.json?raw';
import vaultApi from '../../support/fixtures/imports/vault-api.json?raw';
import vaultDeleted from '../../support/fixtures/imports/vault-deleted.json?raw';
import vaultKv1 from '../../support/fixtures/imports/vault-kv1.json?raw';
import vaultKv2 from '../../support/fixtures/imports/vault-kv2.json?raw';

const NOW = Date.UTC(2026, 0, 1);

const readText = (source: SourceName, text: string, prefix = ''): Prepared => {
  const found = readExport(source, text, '', prefix, NOW);
  if ('code' in found) throw new Error(`${found.code}: ${found.message}`);
  return found;
};
const read = (source: SourceName, data: unknown, prefix = '') =>
  readText(source, JSON.stringify(data), prefix);

/** What is imported, as one map, and what fails, in short. */
const shown = ({ items, failed }: Prepared) => ({
  values: Object.fromEntries(items.map(({ name, value }) => [name, value])),
  failed: failed.map(({ name, reason }) => `${name} ${reason}`),
});

const refusalOf = (run: () => unknown): string => {
  try {
    const found = run() as Prepared | Refusal;
    return 'code' in found ? `${found.code}: ${found.message}` : 'none';
  } catch (error) {
    return (error as Error).message;
  }
};
const unreadable = (source: SourceName, data: unknown) => refusalOf(() => read(source, data));

describe('import sources', () => {
  it('vault: KV 2 by the CLI and the API, KV 1, deleted versions, and maps of paths', () => {
    const mixed = {
      values: {
        ['__proto__']: 'x',
        count: '42',
        flag: 'true',
        nested: '{"a":[1,2.5,12345678901234567000]}',
        text: 'line\nbreak',
      },
      failed: ['nothing VALUE_NULL'],
    };
    for (const export_ of [vaultKv2, vaultApi]) {
      const { items, failed } = readText('vault', export_);
      expect(items.map(({ name, value }) => [name, value])).toEqual([
        ['__proto__', 'x'],
        ...Object.entries(mixed.values).filter(([name]) => name !== '__proto__'),
      ]);
      expect(failed).toEqual([{ name: 'nothing', reason: 'VALUE_NULL' }]);
    }
    expect(shown(readText('vault', vaultKv1))).toEqual({
      values: { API_KEY: 'abc', data: 'inner', metadata: 'm' },
      failed: [],
    });
    expect(shown(readText('vault', vaultDeleted))).toEqual({ values: {}, failed: ['data DELETED'] });
    const several = `{"secret/legacy":${vaultKv1},"secret/gone":${vaultDeleted}}`;
    expect(shown(readText('vault', several))).toEqual({
      values: { API_KEY: 'abc', data: 'inner', metadata: 'm' },
      failed: ['secret/gone DELETED'],
    });
    // A secret of KV 1 with the keys of KV 2.
    expect(shown(read('vault', { data: { data: { a: 1 }, metadata: { version: 1 } } })).values).toEqual({
      data: '{"a":1}',
      metadata: '{"version":1}',
    });
    expect(unreadable('vault', { data: 'text' })).toMatch('$.data is not an object');
    expect(unreadable('vault', ['a'])).toMatch('$ is not an object');
    expect(unreadable('vault', { errors: [] })).toMatch('IMPORT_UNREADABLE');
  });

  it('aws-secrets-manager: maps, texts, binary values, and batches with errors and further pages', () => {
    expect(shown(readText('aws-secrets-manager', awsSecret))).toEqual({
      values: { DATABASE_URL: 'postgres://x', port: '5432' },
      failed: [],
    });
    expect(shown(readText('aws-secrets-manager', awsBatch))).toEqual({
      values: {
        DATABASE_URL: 'postgres://x',
        port: '5432',
        'demo/plain': 'just text',
        'demo/binary': '/wAB',
      },
      failed: ['demo/missing SOURCE_ERROR: ResourceNotFoundException'],
    });
    expect(
      readText('aws-secrets-manager', awsBatch).items.find(({ name }) => name === 'demo/binary')?.is_base64,
    ).toBe(true);
    for (const text of ['123', 'true', '"text"', '[1]', '{"cut', ' {broken}', '{"a":1,}'])
      expect(shown(read('aws-secrets-manager', { Name: 'n', SecretString: text })).values).toEqual({
        n: text,
      });
    expect(
      shown(
        read('aws-secrets-manager', [
          { Name: 'a', SecretBinary: 'aGk=' },
          { Name: 'b' },
          { Name: 'c', SecretString: '{}' },
        ]),
      ),
    ).toEqual({
      values: { a: 'hi' },
      failed: ['b VALUE_MISSING', 'c VALUE_MISSING: the map has no keys'],
    });
    const whole = (SecretString: string) => {
      const found = readExport(
        'aws-secrets-manager',
        JSON.stringify({ Name: '/n', SecretString }),
        '',
        '',
        NOW,
        {
          whole: true,
        },
      );
      return 'items' in found ? found.items.map(({ name, value, type }) => [name, value, type]) : found;
    };
    for (const text of ['{"a": 1.10}', '{}']) expect(whole(text)).toEqual([['n', text, 'json']]);
    for (const text of ['[1]', '{', 'x', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`])
      expect(whole(text)).toEqual([['n', text, 'generic']]);
    expect(shown(read('aws-secrets-manager', { SecretValues: [], NextToken: 't' })).failed).toEqual([
      'NextToken INCOMPLETE: the export has further pages',
    ]);
    expect(unreadable('aws-secrets-manager', { SecretList: [] })).toMatch('$ has no field Name');
    expect(unreadable('aws-secrets-manager', { Name: 'a', SecretBinary: 'hunter2 !' })).toMatch(
      '$.SecretBinary is not base64',
    );
  });

  it('aws-ssm: paths without their first slash, in every form of answer', () => {
    expect(shown(readText('aws-ssm', ssmPath)).values).toEqual({
      'demo/DB_PASS': 's3cret',
      'demo/list': 'a,b',
    });
    expect(shown(readText('aws-ssm', ssmParameters))).toEqual({
      values: { 'demo/DB_PASS': 's3cret' },
      failed: ['/demo/none SOURCE_ERROR: InvalidParameters'],
    });
    expect(shown(readText('aws-ssm', ssmParameter)).values).toEqual({ 'demo/DB_PASS': 's3cret' });
    expect(shown(read('aws-ssm', [{ Name: 'a', Value: 'v' }, { Name: 'b' }]))).toEqual({
      values: { a: 'v' },
      failed: ['b VALUE_MISSING'],
    });
    expect(shown(read('aws-ssm', { Parameters: [], NextToken: 't' })).failed).toHaveLength(1);
    expect(unreadable('aws-ssm', { Parameters: {} })).toMatch('$.Parameters is not an array');
  });

  it('gcp-secret-manager: base64 of both kinds, checksums, and bytes that are not text', () => {
    const version = (secret: string, data: string, dataCrc32c?: unknown) => ({
      name: `projects/123/secrets/${secret}/versions/4`,
      payload: { data, ...(dataCrc32c !== undefined && { dataCrc32c }) },
    });
    // CRC-32C of "123456789" is the check value of the algorithm.
    const digits = Buffer.from('123456789').toString('base64');
    const answer = read('gcp-secret-manager', [
      version('A', digits, String(0xe3069283)),
      version('B', digits, 0xe3069283),
      version('C', digits, '1'),
      version('D', '_w8-'),
      { name: 'projects/p/locations/l/secrets/E/versions/1', payload: { data: 'w6k' } },
      { name: 'projects/p/secrets/F/versions/1', state: 'ENABLED' },
      version('G', ''),
      // A project, and a secret, may be called `secrets`.
      { name: 'projects/secrets/secrets/secrets/versions/1', payload: { data: 'cw' } },
      { name: 'projects/secrets/locations/l/secrets/H', payload: { data: 'aA' } },
    ]);
    expect(shown(answer)).toEqual({
      values: { A: '123456789', B: '123456789', D: '/w8+', E: 'é', G: '', secrets: 's', H: 'h' },
      failed: ['C CHECKSUM_MISMATCH', 'F VALUE_MISSING'],
    });
    expect(answer.items.find(({ name }) => name === 'D')?.is_base64).toBe(true);
    expect(unreadable('gcp-secret-manager', { name: 'x', payload: {} })).toMatch(
      '$.name does not name a secret',
    );
  });

  it('azure-key-vault: bundles, listings and pages; items that cannot be imported are named', () => {
    const secret = (name: string, fields: object = {}) => ({
      value: `v-${name}`,
      id: `https://demo.vault.azure.net/secrets/${name}/0123456789abcdef`,
      attributes: { enabled: true },
      ...fields,
    });
    const list = [
      secret('DB-PASS'),
      secret('off', { attributes: { enabled: false } }),
      secret('old', { attributes: { enabled: true, exp: NOW / 1000 - 1 } }),
      secret('soon', { attributes: { enabled: true, exp: NOW / 1000 + 9 } }),
      secret('cli-old', { attributes: { enabled: true, expires: '2025-01-01T00:00:00+00:00' } }),
      secret('managed', { managed: true }),
      secret('cert', { contentType: 'application/x-pkcs12' }),
      secret('listed', { value: undefined }),
    ];
    const expected = {
      values: { 'DB-PASS': 'v-DB-PASS', soon: 'v-soon' },
      failed: [
        'off DISABLED',
        'old EXPIRED',
        'cli-old EXPIRED',
        'managed MANAGED',
        'cert CERTIFICATE',
        'listed VALUE_MISSING',
      ],
    };
    expect(shown(read('azure-key-vault', list))).toEqual(expected);
    expect(shown(read('azure-key-vault', { value: list, nextLink: null }))).toEqual(expected);
    expect(
      shown(read('azure-key-vault', { value: [], nextLink: 'https://demo.vault.azure.net/…' })).failed,
    ).toHaveLength(1);
    expect(shown(read('azure-key-vault', secret('one'))).values).toEqual({ one: 'v-one' });
    expect(unreadable('azure-key-vault', [{ id: 'x' }])).toMatch('$[0].id does not name a secret');
  });

  it('doppler: downloads, the API and the CLI; computed, never raw', () => {
    const own = { DOPPLER_PROJECT: 'p', DOPPLER_CONFIG: 'c', DOPPLER_ENVIRONMENT: 'e' };
    expect(shown(read('doppler', { A: 'x', secrets: 'y', ...own })).values).toEqual({ A: 'x', secrets: 'y' });
    const computed = {
      A: { raw: '${B}', computed: 'b', note: '' },
      R: { raw: null, computed: null },
      DOPPLER_CONFIG: { computed: 'c' },
    };
    const expected = { values: { A: 'b' }, failed: ['R RESTRICTED'] };
    expect(shown(read('doppler', { success: true, secrets: computed }))).toEqual(expected);
    expect(shown(read('doppler', computed))).toEqual(expected);
    expect(unreadable('doppler', { A: { B: 'nested' } })).toMatch('$[field 1] has no field computed');
  });

  it('infisical: shared values, and imports in their order', () => {
    const cli = [
      { key: 'A', value: 'shared', type: 'shared', secretPath: '/' },
      { key: 'A', value: 'mine', type: 'personal', secretPath: '/' },
      { key: 'N', type: 'shared' },
    ];
    expect(shown(read('infisical', cli))).toEqual({ values: { A: 'shared' }, failed: ['N VALUE_MISSING'] });
    const secret = (secretKey: string, secretValue: string, fields = {}) => ({
      secretKey,
      secretValue,
      type: 'shared',
      ...fields,
    });
    const api = {
      secrets: [secret('A', 'direct'), secret('H', '<hidden>', { secretValueHidden: true })],
      imports: [
        { secretPath: '/one', secrets: [secret('A', 'one'), secret('B', 'one')] },
        { secretPath: '/two', secrets: [secret('B', 'two'), secret('C', 'two')] },
      ],
    };
    expect(shown(read('infisical', api))).toEqual({
      values: { A: 'direct', B: 'two', C: 'two' },
      failed: ['H RESTRICTED'],
    });
    expect(unreadable('infisical', { secrets: [{ value: 'x' }] })).toMatch('$.secrets[0] has no field key');
  });

  it('1password: fields by item, section and label; empty ones are skipped', () => {
    const item = {
      id: 'itm',
      title: 'Demo/API',
      category: 'API_CREDENTIAL',
      fields: [
        { id: 'username', type: 'STRING', label: 'username', value: 'demo' },
        { id: 'credential', type: 'CONCEALED', label: 'credential', value: 'made-up' },
        {
          id: 'x1',
          section: { id: 's1', label: 'prod' },
          type: 'CONCEALED',
          label: 'token',
          value: 'made-up-2',
        },
        {
          id: 'x2',
          section: { id: 'add more' },
          type: 'OTP',
          label: '',
          value: 'otpauth://totp/x',
          totp: '123456',
        },
        { id: 'notesPlain', type: 'STRING', purpose: 'NOTES', label: 'notesPlain' },
      ],
      files: [{ id: 'f', name: 'key.pem' }],
    };
    const expected = {
      values: {
        'Demo_API/username': 'demo',
        'Demo_API/credential': 'made-up',
        'Demo_API/prod/token': 'made-up-2',
        'Demo_API/x2': 'otpauth://totp/x',
      },
      failed: ['Demo_API/key.pem UNSUPPORTED: it is a file'],
    };
    expect(shown(read('1password', item))).toEqual(expected);
    expect(shown(read('1password', [item]))).toEqual(expected);
    expect(unreadable('1password', [{ id: 'i', title: 'listed' }])).toMatch('$[0] has no field fields');
  });

  it('bitwarden-secrets-manager: keys, of which several may be one', () => {
    const list = [
      { id: '1', key: 'DB PASS', value: 'a' },
      { id: '2', key: 'TWICE', value: 'b' },
      { id: '3', key: 'TWICE', value: 'c' },
      { id: '4', key: 'EQUAL', value: 'd' },
      { id: '5', key: 'EQUAL', value: 'd' },
    ];
    expect(shown(read('bitwarden-secrets-manager', list))).toEqual({
      values: { DB_PASS: 'a', EQUAL: 'd' },
      failed: ['TWICE NAME_COLLISION', 'TWICE NAME_COLLISION'],
    });
    expect(shown(read('bitwarden-secrets-manager', { key: 'A', value: 'v' })).values).toEqual({ A: 'v' });
  });

  it('bitwarden: logins, notes and SSH keys; encrypted exports are refused', () => {
    const items = [
      {
        type: 1,
        name: 'Demo',
        notes: 'remember',
        login: { uris: [], username: 'demo', password: 'made-up', totp: null, fido2Credentials: [] },
        fields: [
          { name: 'API_KEY', value: 'k', type: 1 },
          { name: 'on', value: 'true', type: 2 },
          { name: 'linked', value: null, type: 3, linkedId: 100 },
          { name: 'empty', value: '', type: 0 },
        ],
      },
      { type: 2, name: 'Note', notes: 'text', secureNote: { type: 0 } },
      {
        type: 5,
        name: 'SSH',
        notes: null,
        sshKey: { privateKey: 'priv', publicKey: 'pub', keyFingerprint: 'f' },
      },
      { type: 3, name: 'Card', card: { number: '4111' } },
      { type: 1, name: 'Gone', deletedDate: '2026-01-01T00:00:00Z', login: { password: 'x' } },
    ];
    expect(shown(read('bitwarden', { encrypted: false, items }))).toEqual({
      values: {
        'Demo/username': 'demo',
        'Demo/password': 'made-up',
        'Demo/notes': 'remember',
        'Demo/API_KEY': 'k',
        'Demo/on': 'true',
        'Note/notes': 'text',
        'SSH/private_key': 'priv',
        'SSH/public_key': 'pub',
      },
      failed: ['Card UNSUPPORTED: it is neither a login, a note nor an SSH key'],
    });
    expect(unreadable('bitwarden', { encrypted: true, data: 'x' })).toMatch('is encrypted');
    expect(unreadable('bitwarden', { encrypted: false, passwordProtected: true })).toMatch('is encrypted');
  });

  it('keeper: records and their custom fields', () => {
    const records = [
      {
        title: 'Demo',
        $type: 'login',
        login: 'u',
        password: 'made-up',
        notes: '',
        custom_fields: {
          '$host:db': { hostName: 'h', port: '22' },
          '$text:TOKEN:1': 'x',
          '$text:TOKEN:2': 'y',
          API_KEY: 'z',
          $oneTimeCode: 'otp',
          '$pin::2': '1',
        },
      },
    ];
    const values = {
      'Demo/login': 'u',
      'Demo/password': 'made-up',
      'Demo/db': '{"hostName":"h","port":"22"}',
      'Demo/TOKEN': 'x',
      'Demo/TOKEN_2': 'y',
      'Demo/API_KEY': 'z',
      'Demo/oneTimeCode': 'otp',
      'Demo/pin_2': '1',
    };
    expect(shown(read('keeper', { shared_folders: [], records }))).toEqual({ values, failed: [] });
    expect(shown(read('keeper', records))).toEqual({ values, failed: [] });
    expect(unreadable('keeper', { shared_folders: [] })).toMatch('$ has no field records');
  });

  it('conjur: all after the kind of the id', () => {
    expect(
      shown(read('conjur', { 'acct:variable:path/db-pass': 'v', 'acct:variable:a:variable:b': 'w' })).values,
    ).toEqual({
      'path/db-pass': 'v',
      a_variable_b: 'w',
    });
    expect(unreadable('conjur', { 'hunter2-key': 'v' })).toMatch('$[field 1] is not the id of a variable');
  });

  it('dotenv: only text; of repeated names the last counts', () => {
    expect(shown(readText('dotenv', '\uFEFFexport A="a\\nb" # c\r\nB=\nA=last\nC=${A}\n'))).toEqual({
      values: { A: 'last', B: '', C: '${A}' },
      failed: [],
    });
    expect(refusalOf(() => readExport('dotenv', { A: 'a' }, '', '', NOW))).toMatch('IMPORT_UNREADABLE');
    expect(refusalOf(() => readText('dotenv', 'hunter2 and more'))).toMatch('has no assignment');
    expect(shown(readText('dotenv', '# only a comment\n'))).toEqual({ values: {}, failed: [] });
  });

  it('svc: all values of an environment, or a flat map', () => {
    const answer = {
      environment: 'production',
      values: { A: 'a', values: 'v' },
      versions: { A: 3, values: 1 },
      withheld: ['W'],
    };
    expect(shown(read('svc', answer))).toEqual({
      values: { A: 'a', values: 'v' },
      failed: ['W VALUE_MISSING: it was withheld: reading it needs approval'],
    });
    expect(shown(read('svc', { A: 'a', values: 'v' })).values).toEqual({ A: 'a', values: 'v' });
  });

  it('import: names of several parts stay short, however long a title is, and are still too long for a secret', () => {
    for (const title of ['a'.repeat(100_000), '😀'.repeat(50_000)]) {
      expect(joined(title, 'field').length).toBeLessThan(600);
      expect(nameOf(joined(title, 'field'), '')).toBe(null);
    }
  });

  it('import: data that is not an export of any source is refused without being quoted', () => {
    for (const { source, accepts } of sources) {
      const wrong =
        accepts === 'text'
          ? [{}, []]
          : [
              '',
              '{',
              '[1',
              '"hunter2"',
              '1',
              'null',
              '[["hunter2"]]',
              '{"hunter2":',
              '\uFFFE{',
              '{\0"\0',
              'ÿþ{\0',
            ];
      for (const data of wrong) {
        const message = refusalOf(() => readExport(source, data, JSON.stringify({ data }), '', NOW));
        expect(message, source).toMatch(/^IMPORT_UNREADABLE: The export could not be read: /);
        expect(message).not.toContain('hunter2');
      }
    }
    expect(refusalOf(() => readText('svc', '{\0"\0a\0'))).toMatch('UTF-16');
    expect(shown(readText('svc', '\uFEFF{"A":"a"}')).values).toEqual({ A: 'a' });
  });
});
