// Which tool wrote an export, recognised by fields that only that tool writes, without guessing.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SOURCES, sourcesOf } from '../../src/secrets/import-sources.ts';

const fixtures = path.resolve(
  import.meta.dirname,
  '..',
  '..',
  '..',
  '..',
  'test',
  'support',
  'fixtures',
  'imports',
);
const own = { DOPPLER_PROJECT: 'p', DOPPLER_CONFIG: 'c' };
const azure = { id: 'https://demo.vault.azure.net/secrets/one/1', value: 'v', attributes: {} };
const google = { name: 'projects/123/secrets/A/versions/4', payload: { data: 'YQ==' } };
const op = { id: 'i', title: 'Demo', category: 'LOGIN', vault: { id: 'v' }, fields: [] };

const exports: [string, unknown][] = [
  [
    'vault',
    {
      'secret/a': { request_id: 'r', lease_id: '', data: { a: '1' } },
      'secret/b': { request_id: 'r', lease_id: '', data: { a: '1' } },
    },
  ],
  ['aws-secrets-manager', [{ ARN: 'a', Name: 'n', SecretString: 's' }]],
  ['gcp-secret-manager', google],
  ['gcp-secret-manager', [google, google]],
  ['azure-key-vault', azure],
  ['azure-key-vault', { value: [azure], nextLink: null }],
  ['doppler', { A: 'x', ...own }],
  ['doppler', { success: true, secrets: { A: { raw: 'x', computed: 'x' } } }],
  ['infisical', [{ key: 'A', value: 'x', type: 'shared', secretPath: '/' }]],
  ['infisical', { secrets: [{ secretKey: 'A', secretValue: 'x' }], imports: [] }],
  ['1password', [op]],
  ['bitwarden-secrets-manager', [{ id: '1', organizationId: 'o', key: 'A', value: 'x' }]],
  ['bitwarden', { encrypted: false, items: [] }],
  ['keeper', { shared_folders: [], records: [{ title: 'A', login: 'l', password: 'p' }] }],
  ['conjur', { 'acct:variable:app/db': 'v' }],
  ['svc', { environment: 'production', values: { A: 'x' }, versions: { A: 1 } }],
];

describe('import source', () => {
  it.each(exports)('import source: %s is recognised, and nothing else fits', (source, data) => {
    expect(sourcesOf('export.json', JSON.stringify(data))).toEqual([source]);
  });

  it('import source: real exports of the tools are recognised', () => {
    for (const file of fs.readdirSync(fixtures).filter((name) => name.endsWith('.json'))) {
      const wanted = { vault: 'vault', aws: 'aws-secrets-manager', ssm: 'aws-ssm' }[
        file.split('-')[0] as 'vault'
      ];
      expect(sourcesOf(file, fs.readFileSync(path.join(fixtures, file), 'utf8')), file).toEqual([wanted]);
    }
  });

  it('import source: every source that the vault supports can be recognised', () => {
    expect(new Set([...exports.map(([source]) => source), 'dotenv', 'aws-ssm'])).toEqual(new Set(SOURCES));
  });

  it('import source: a .env file is recognised by its name or its lines, and an ambiguous file is refused', () => {
    for (const file of ['.env', '.env.local', 'app.env', '.dev.vars', 'settings'])
      expect(sourcesOf(file, 'A=1\n')).toEqual(['dotenv']);
    for (const text of ['{"A":"x","B":"y"}', '[]', '{}', 'null', '"text"', '{"secrets":[]}', 'just text'])
      expect(sourcesOf('export.json', text)).toEqual([]);
  });
});
