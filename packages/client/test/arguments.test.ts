// What programs without types pass: it is used as it is, or refused by its name before a request is sent.
import { createVault, Secret, type Vault } from '@secrets-vault/client';
import { describe, expect, it } from 'vitest';

const sent: string[] = [];
const answer = {
  id: 'sec_1',
  name: 'A',
  environment: 'production',
  version: 1,
  value: 'v',
  expires_at: null,
  data: [],
};
const OPTIONS = {
  url: 'https://vault.example.com',
  org: 'org_1',
  credential: 'svcag_x',
  environment: 'production',
  cache: false as const,
  fetch: async (_: string, init: RequestInit) => {
    sent.push(init.body ? new TextDecoder().decode(init.body as ArrayBuffer) : '');
    return Response.json(answer);
  },
};
const SECRET = new (Secret as unknown as new (value: string, about: object) => Secret)('inside', {
  name: 'A',
  environment: 'e',
  version: 1,
});

describe('createVault', () => {
  it.each([
    ['url', ['', undefined, 'vault.example.com']],
    ['environment', ['', null, 5, ['production']]],
    ['reason', ['', 5, 'two\nlines', '€']],
    ['cache', ['yes', 'Watch', null]],
    ['maxAge', ['5m', -1, Number.NaN, null]],
    ['staleFor', [Number.NaN, '10']],
    ['retries', [-1, '3', Number.NaN]],
    ['maxRetryAfter', [Number.NaN, '3']],
    ['timeout', [0, -5, '30s', Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]],
    ['concurrency', [0, -1, 0.5, Number.NaN, '6']],
    ['fetch', [5, {}]],
    [
      'credential',
      [{}, [], { apiKey: 'svc_live_x' }, { oidc: 'ci' }, { oidc: 'ci', trustId: '' }, { token: 'x' }],
    ],
  ])('options: %s of another kind is refused by its name', (name, values) => {
    for (const value of values)
      expect(() => createVault({ ...OPTIONS, [name]: value }), String(value)).toThrow(
        new RegExp(`^${name} `),
      );
  });

  it.each<[string, unknown[]]>([
    ['listener', [undefined, null, 'reload', {}]],
    ['onError', [() => {}, { onError: 'log' }]],
    ['onEror', [() => {}, { onEror() {} }]],
    ['options', [() => {}, () => {}]],
    ['options', [() => {}, null]],
  ])('onChange: %s that is none is refused by its name, and no stream is opened', (name, args) => {
    const vault = createVault({ ...OPTIONS, fetch: () => Promise.reject(new Error('a request')) });
    const all = name === 'listener' ? args.map((one) => [one]) : [args];
    for (const given of all)
      expect(() => vault.onChange(...(given as Parameters<typeof vault.onChange>))).toThrow(
        new RegExp(`^${name} `),
      );
  });

  it('options: those that are left out or undefined have their defaults, and fields of a file are ignored', () => {
    expect(createVault({ ...OPTIONS, timeout: undefined, maxAge: Number.POSITIVE_INFINITY }).org).toBe(
      'org_1',
    );
    const project = { secrets: ['A'], prefixes: ['a/'] };
    expect(createVault({ ...OPTIONS, ...project }).org).toBe('org_1');
    expect(() => createVault(undefined as never)).toThrow('createVault takes an object of options');
  });
});

describe('calls', () => {
  const vault = createVault(OPTIONS);
  const refusals: [string, (vault: Vault) => unknown, string][] = [
    ['a name that is none', (v) => v.get(undefined as never), 'name'],
    ['an empty name', (v) => v.find(''), 'name'],
    ['an empty environment', (v) => v.values({ environment: '' }), 'environment'],
    ['an option that does not exist', (v) => v.set('A', 'x', { ttl: 60 } as never), 'ttl'],
    ['no prefixes, which would mean every name', (v) => v.values({ prefix: [] }), 'prefix'],
    ['a prefix that is no text', (v) => v.values({ prefix: 5 as never }), 'prefix'],
    ['an empty ETag, which would be no condition', (v) => v.set('A', 'x', { ifMatch: '' }), 'ifMatch'],
    ['an empty ETag of a rotation', (v) => v.rotate('A', { value: 'x', ifMatch: '' }), 'ifMatch'],
    ['a value that is none', (v) => v.set('A', undefined as never), 'value'],
    ['a number as a value', (v) => v.set('A', 5 as never), 'value'],
    ['null as a new value', (v) => v.rotate('A', { value: null as never }), 'value'],
    ['a reason of two lines', (v) => v.get('A', { reason: 'a\nb' }), 'reason'],
    ['an empty approval', (v) => v.get('A', { approval: '' }), 'approval'],
  ];
  it.each(refusals)('calls: %s is refused by its name', async (_, call, name) => {
    sent.length = 0;
    await expect(call(vault)).rejects.toThrow(new RegExp(`^${name} `));
    expect(sent).toEqual([]);
  });
});

describe('bodies', () => {
  const vault = createVault(OPTIONS);
  const post = (body: object) =>
    vault.api.POST('/orgs/{org_id}/secrets', { params: { path: { org_id: 'org_1' } }, body: body as never });

  it('bodies: what JSON would drop or change is refused by its name', async () => {
    sent.length = 0;
    // NaN becomes null, which would end the expiry of the secret.
    await expect(vault.set('A', 'x', { ttlSeconds: Number.NaN })).rejects.toThrow(/^ttlSeconds /);
    await expect(post({ ttlSeconds: Number.POSITIVE_INFINITY })).rejects.toThrow(/^ttlSeconds /);
    // A secret becomes the text [redacted].
    await expect(post({ value: SECRET })).rejects.toThrow(/^value /);
    await expect(post({ tags: new Map([['a', '1']]) })).rejects.toThrow(/^tags /);
    await expect(post({ scopes: ['a', undefined] })).rejects.toThrow(/^1 /);
    await expect(post({ value: () => 'x' })).rejects.toThrow(/^value /);
    expect(sent).toEqual([]);
    await vault.set('A', SECRET, { ttlSeconds: null, tags: { a: '1' }, type: undefined });
    expect(JSON.parse(sent[0] as string)).toEqual({ value: 'inside', tags: { a: '1' }, ttlSeconds: null });
  });
});
