// Formats of generated files: a value is read back as it is, or refused; names are mapped, refused or told to
// collide; a file is always the same.
import dotenv from 'dotenv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatNames, formatOf } from '../../../src/adapters/generate';
import { generate } from '../../../src/adapters/generate/render';
import { environmentStyle, kubernetesStyle, mapNames, verbatim } from '../../../src/adapters/names';
import { anyValue, hostile } from '../../support/hostile';

type Files = Record<string, string>;

function made(format: string, secrets: Files, options: Record<string, unknown> = {}) {
  const checked = formatOf(format).options.parse(options) as never;
  const sources = Object.keys(secrets).map((name) => ({ name, value: secrets[name] as string }));
  return generate(formatOf(format), sources, checked);
}

/** A file; throws where it is refused. */
function fileOf(format: string, secrets: Files, options?: Record<string, unknown>): string {
  const file = made(format, secrets, options);
  if ('code' in file) throw new Error(JSON.stringify(file));
  return file.content;
}

/** Names that a refusal names, or none. */
function refusedBy(format: string, secrets: Files, options?: Record<string, unknown>): string[] {
  const file = made(format, secrets, options);
  return 'code' in file ? (file.details ?? []).map(({ path }) => path) : [];
}

const base64 = (text: string) =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
    Uint8Array.from(atob(text), (c) => c.charCodeAt(0)),
  );
const values = (record: Record<string, string>) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, base64(value)]));

/** The parsers that run here, by format. */
const readers: [string, Record<string, unknown>, (content: string) => Files][] = [
  ['json', {}, JSON.parse],
  ['tfvars-json', {}, JSON.parse],
  ['dotenv', { dialect: 'node' }, (content) => dotenv.parse(content)],
  ['dev-vars', {}, (content) => dotenv.parse(content)],
  ...(['1.1', '1.2'] as const).flatMap(
    (version): [string, Record<string, unknown>, (content: string) => Files][] => {
      const read = (content: string) => parse(content, { version, strict: true, uniqueKeys: true });
      const unsafe = { tag: '!unsafe', resolve: (text: string) => text };
      return [
        ['yaml', {}, read],
        ['helm', {}, (content) => read(content).secrets],
        ['kubernetes', {}, (content) => values(read(content).data)],
        ['ansible', {}, (content) => parse(content, { version, customTags: [unsafe] })],
      ];
    },
  ),
];

describe.each(readers)('generate: %s %j', (format, options, read) => {
  it('gives hostile values back, or refuses them', () => {
    for (const [what, value] of Object.entries(hostile)) {
      if (refusedBy(format, { A: value }, options).length) continue;
      expect(read(fileOf(format, { A: value, B: 'after' }, options)), what).toEqual({ A: value, B: 'after' });
    }
  });

  it('property: gives any value back together with any others, or refuses it', () => {
    fc.assert(
      fc.property(fc.array(anyValue, { maxLength: 8 }), (list) => {
        const secrets = Object.fromEntries(list.map((value, at) => [`V${at}`, value]));
        const refused = refusedBy(format, secrets, options);
        const taken = Object.fromEntries(Object.entries(secrets).filter(([name]) => !refused.includes(name)));
        expect(read(fileOf(format, taken, options))).toEqual(taken);
      }),
      { numRuns: 500 },
    );
  });
});

/** What each format refuses of the hostile values: no more than its reader loses. */
const LOST: Record<string, string[]> = {
  'docker-env': [
    ...[
      'CRLF',
      'NUL',
      'PEM',
      'backslash and line feed',
      'block of YAML',
      'delimiter of GitHub',
      'document of YAML',
      'here-document',
      'largest',
    ],
    ...[
      'largest of emoji',
      'largest of quotes',
      'line feed',
      'line feeds',
      'line of an assignment',
      'only a line feed',
      'trailing CR',
    ],
    ...['trailing line feed', 'workflow command'],
  ],
  dotenv: ['CRLF', 'NUL', 'all quotes', 'largest of quotes', 'lone CR', 'trailing CR'],
  'dev-vars': ['CRLF', 'NUL', 'all quotes', 'largest of quotes', 'lone CR', 'trailing CR'],
  shell: ['NUL'],
  tfvars: ['NUL', 'decomposed'],
  'tfvars-json': ['decomposed'],
  ansible: ['NUL'],
  helm: ['NUL'],
  systemd: ['NUL', 'astral noncharacter', 'noncharacters'],
  'github-actions': ['NUL', 'trailing CR'],
  yaml: ['NUL'],
  properties: ['NUL'],
};

describe('generate: values that a format refuses', () => {
  it.each(formatNames)('are those that its reader loses: %s', (format) => {
    const refused = Object.keys(hostile).filter(
      (what) => refusedBy(format, { A: hostile[what] as string }).length,
    );
    expect(refused.sort()).toEqual(LOST[format] ?? []);
  });

  it('NUL is refused everywhere except in kubernetes, json and tfvars-json, and in files without values', () => {
    const taking = formatNames.filter((format) => !refusedBy(format, { A: '\0' }).length);
    expect(taking).toEqual(['kubernetes', 'external-secrets', 'compose-secrets', 'tfvars-json', 'json']);
    for (const dialect of ['node', 'compose', 'bash'])
      expect(refusedBy('dotenv', { A: '\0' }, { dialect })).toEqual(['A']);
  });

  it('name every secret, and say nothing of the value', () => {
    const file = made('docker-env', { B: 'hidden\nhidden', C: 'fine', A: 'hidden\r' });
    expect(file).toMatchObject({ code: 'VALUE_NOT_REPRESENTABLE', details: [{ path: 'A' }, { path: 'B' }] });
    expect(JSON.stringify(file)).not.toMatch(/hidden|fine/);
  });

  it('docker-env: a line may have 65,535 bytes', () => {
    expect(refusedBy('docker-env', { A: 'é'.repeat(32_766) })).toEqual([]);
    expect(refusedBy('docker-env', { A: `${'é'.repeat(32_766)}xx` })).toEqual(['A']);
  });

  it('kubernetes: keys and values may have 1 MiB together', () => {
    const secrets = Object.fromEntries(
      Array.from({ length: 16 }, (_, at) => [`A${at}`, 'x'.repeat(at ? 65_536 : 65_498)]),
    );
    expect(refusedBy('kubernetes', secrets)).toEqual([]);
    expect(refusedBy('kubernetes', { ...secrets, A0: 'x'.repeat(65_499) })).toEqual(
      Object.keys(secrets).sort(),
    );
  });
});

describe('generate: names', () => {
  it('environment style replaces all but letters, digits and _, keeps case, and refuses a leading digit', () => {
    const { keys, refused, collisions } = mapNames(['app/db.url-x', 'Key', '_x', '1st'], environmentStyle);
    expect([...keys.values()]).toEqual(['app_db_url_x', 'Key', '_x', '1st']);
    expect([refused.map(({ path }) => path), collisions]).toEqual([['1st'], []]);
  });

  it('Kubernetes style replaces only slashes, and accepts 253 characters', () => {
    const long = 'n'.repeat(253);
    const { keys, refused } = mapNames(['app/db.url-x', '1st', long, `${long}n`], kubernetesStyle);
    expect([...keys.values()].slice(0, 2)).toEqual(['app_db.url-x', '1st']);
    expect(refused.map(({ path }) => path)).toEqual([`${long}n`]);
  });

  it('that map to the same key are all reported, and case folding depends on the reader', () => {
    const { collisions } = mapNames(['a.b', 'a-b', 'a/b', 'c', 'C'], environmentStyle);
    expect(collisions.map(({ path }) => path)).toEqual(['a.b', 'a-b', 'a/b']);
    const folded = mapNames(['c', 'C', 'd'], verbatim, (key) => key.toUpperCase());
    expect(folded.collisions.map(({ path }) => path)).toEqual(['c', 'C']);
    expect(made('kubernetes', { 'a/b': '', a_b: '' })).toMatchObject({
      code: 'NAME_COLLISION',
      details: [{ path: 'a/b' }, { path: 'a_b' }],
    });
    expect(made('tfvars', { 'a-b': '', a_b: '' })).toHaveProperty('content');
  });

  it.each([
    [
      'shell',
      [
        'PATH',
        'LD_PRELOAD',
        'IFS',
        'ENV',
        'BASH_ENV',
        'DYLD_X',
        'PROMPT_COMMAND',
        'NODE_OPTIONS',
        'UID',
        '_',
      ],
      {},
    ],
    [
      'shell',
      [
        'PS0',
        'PS1',
        'PS2',
        'PS4',
        'CDPATH',
        'TMOUT',
        'MAILPATH',
        'HISTFILE',
        'LC_ALL',
        'BASH_XTRACEFD',
        'LD_DEBUG',
        'SHLVL',
        'path',
        'PROMPT',
        'NULLCMD',
        'status',
        'argv',
      ],
      {},
    ],
    [
      'dotenv',
      ['PATH', 'PS1', 'GIT_SSH_COMMAND', 'PYTHONSTARTUP', 'LD_LIBRARY_PATH', 'SECONDS'],
      { dialect: 'bash' },
    ],
    ['github-actions', ['GITHUB_TOKEN', 'RUNNER_TEMP', 'NODE_OPTIONS', 'github_token'], {}],
    [
      'ansible',
      [
        'class',
        'None',
        'import',
        'true',
        'NONE',
        'False',
        'environment',
        'vars',
        'groups',
        'hostvars',
        'ansible_host',
      ],
      {},
    ],
    [
      'ansible',
      [
        'ansible_become_password',
        'inventory_hostname',
        'play_hosts',
        'name',
        'port',
        'omit',
        'item',
        'self',
        'not',
      ],
      {},
    ],
    [
      'tfvars',
      [
        'version',
        'providers',
        'provider',
        'source',
        'count',
        'for_each',
        'lifecycle',
        'depends_on',
        'locals',
        '_',
      ],
      {},
    ],
    ['tfvars-json', ['provider', '_'], {}],
    ['docker-env', ['1st'], {}],
  ])('that %s cannot have are refused: %j', (format, names, options) => {
    const secrets = Object.fromEntries(
      [...names, 'LD_API_KEY', 'GITHUBX', 'Class', 'PS9', 'ENVIRONMENT', 'Ansible_x', 'Count'].map((name) => [
        name,
        'x',
      ]),
    );
    expect(made(format, secrets, options)).toMatchObject({ code: 'NAME_NOT_REPRESENTABLE' });
    expect(refusedBy(format, secrets, options)).toEqual([...names].sort());
  });

  it('are unchanged if the reader accepts any, including those that JavaScript would reorder or lose', () => {
    const names = ['10', '2', '__proto__', 'a.b/c-d', 'constructor'];
    const secrets = Object.assign(
      Object.create(null),
      Object.fromEntries(names.map((name) => [name, `v${name}`])),
      { __proto__: null },
    );
    Object.defineProperty(secrets, '__proto__', { value: 'v__proto__', enumerable: true });
    for (const format of ['json', 'yaml', 'helm', 'properties']) {
      const content = fileOf(format, secrets);
      const places = names.map((name) => content.indexOf(name));
      expect(places, content).toEqual([...places].sort((a, b) => a - b));
      expect(places).not.toContain(-1);
    }
    expect(Object.keys(JSON.parse(fileOf('json', secrets))).sort()).toEqual([...names].sort());
  });
});

describe('generate: content', () => {
  it.each(formatNames.filter((format) => format !== 'github-actions'))(
    '%s is the same whatever the order of the secrets',
    (format) => {
      const secrets = { C: '3', A: '1', b: '2' };
      const content = fileOf(format, secrets);
      expect(fileOf(format, Object.fromEntries(Object.entries(secrets).reverse()))).toBe(content);
      expect([content.endsWith('\n'), content.startsWith('\ufeff'), content.includes('\r')]).toEqual([
        true,
        false,
        false,
      ]);
    },
  );

  it('external-secrets refers to secrets by name', () => {
    const options = {
      name: 'app',
      namespace: 'prod',
      store: 'vault',
      storeKind: 'ClusterSecretStore',
      refreshInterval: '1h30m',
    };
    expect(parse(fileOf('external-secrets', { 'app/db': 'hidden', B: 'hidden' }, options))).toEqual({
      apiVersion: 'external-secrets.io/v1',
      kind: 'ExternalSecret',
      metadata: { name: 'app', namespace: 'prod' },
      spec: {
        refreshInterval: '1h30m',
        secretStoreRef: { name: 'vault', kind: 'ClusterSecretStore' },
        target: { name: 'app' },
        data: [
          { secretKey: 'B', remoteRef: { key: 'B' } },
          { secretKey: 'app_db', remoteRef: { key: 'app/db' } },
        ],
      },
    });
    const { metadata, spec } = parse(fileOf('external-secrets', { B: '' }));
    expect([metadata, spec.refreshInterval, spec.secretStoreRef]).toEqual([
      { name: 'app-secrets' },
      '1h',
      { name: 'svc', kind: 'SecretStore' },
    ]);
  });

  it('kubernetes is an opaque Secret with only data', () => {
    expect(parse(fileOf('kubernetes', { 'a/b': 'é' }, { name: 'app.x', namespace: 'prod' }))).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'app.x', namespace: 'prod' },
      type: 'Opaque',
      data: { a_b: 'w6k=' },
    });
  });

  it('compose-secrets takes each secret from the variable of its name', () => {
    expect(parse(fileOf('compose-secrets', { 'a/b': 'hidden' }))).toEqual({
      secrets: { a_b: { environment: 'a_b' } },
    });
  });

  it('shell quotes a value so that nothing in it ends the quotes', () => {
    const content = fileOf('shell', { A: "it's $(id)", B: "';id;'" });
    expect(content).toBe("export A='it'\\''s $(id)'\nexport B=''\\'';id;'\\'''\n");
  });

  it('ansible tags possible templates, but not values whose type the tag would change', () => {
    const content = fileOf('ansible', { A: '{{ 7*7 }}', B: 'no', C: '{', D: '1e3', E: 'text', F: '' });
    expect(content.split('\n').filter((line) => !line.includes('!unsafe'))).toEqual([
      '"B": "no"',
      '"D": "1e3"',
      '"F": ""',
      '',
    ]);
  });

  it('github-actions masks each line and the whole of a value before it sets it', () => {
    const content = fileOf('github-actions', { KEY: 'one 100%\n\ntwo\r\n' });
    const lines = content.split('\n');
    expect(lines.slice(0, 3)).toEqual([
      "printf '%s\\n' '::add-mask::one 100%25'",
      "printf '%s\\n' '::add-mask::two'",
      "printf '%s\\n' '::add-mask::one 100%25%0A%0Atwo%0D%0A'",
    ]);
    const [, delimiter] = /KEY<<(ghadelimiter_[0-9a-f-]{36})/.exec(content) ?? [];
    expect(content.split(delimiter as string)).toHaveLength(3);
    expect(fileOf('github-actions', { KEY: 'x' })).not.toContain(delimiter);
  });
});
