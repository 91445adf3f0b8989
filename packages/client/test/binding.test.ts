// Vaults behind a service binding, and the fakes of them; the real one is in
// test/scripts/bindings/bindings.test.mjs.

import { createVault, GoneError, NotFoundError, RateLimitError } from '@secrets-vault/client';
import { fakeVault, fakeVaultWorker } from '@secrets-vault/client/testing';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { expect, it } from 'vitest';
import { thrown } from './support.ts';

/** A fake that tells what it was asked. */
function watched(options: Parameters<typeof fakeVault>[0]) {
  const fake = fakeVault(options);
  const asked: string[] = [];
  const binding = {
    fetch(url: string, init?: RequestInit) {
      if (this !== binding) throw new TypeError('Illegal invocation');
      const { pathname } = new URL(url);
      const headers = new Headers(init?.headers);
      asked.push(
        `${init?.method ?? 'GET'} ${pathname}${headers.has('Authorization') ? ' with a token' : ''}`,
      );
      return fake.fetch(url, init);
    },
  };
  return { binding, asked, fake };
}

it('binding: reads without an address, an organisation and a credential', async () => {
  const { binding, asked } = watched({ values: { A: 'one', 'app/B': 'two' } });
  const vault = createVault({ binding });
  expect(vault.org).toBe('');
  expect((await vault.get('A')).reveal()).toBe('one');
  expect(vault.org).toMatch(/^org_/);
  const values = await vault.values({ prefix: 'app/' });
  expect([...values].map(([name, secret]) => [name, secret.reveal()])).toEqual([['app/B', 'two']]);
  const at = `GET /api/v1/orgs/${vault.org}`;
  expect(asked).toEqual([
    'GET /api/v1/whoami',
    `${at}/secrets/by-name/A`,
    'GET /api/v1/whoami',
    `${at}/environments/production/values`,
  ]);
  // Another vault of the same isolate knows the organisation.
  await createVault({ binding, environment: 'production' }).get('A');
  expect(asked.slice(4)).toEqual([`${at}/secrets/by-name/A`]);
});

it('binding: with the organisation, the first read is one request', async () => {
  const { binding, asked } = watched({ values: { A: 'one' }, org: 'org_6TuVw7XyZa8BcDe9FgHi0j' });
  const vault = createVault({ binding, org: 'org_6TuVw7XyZa8BcDe9FgHi0j' });
  await vault.get('A');
  expect(asked).toEqual(['GET /api/v1/orgs/org_6TuVw7XyZa8BcDe9FgHi0j/secrets/by-name/A']);
});

it('binding: caches, and forgets, as with an address', async () => {
  const { binding, asked, fake } = watched({ values: { A: 'one' } });
  const vault = createVault({ binding, environment: 'production', maxAge: 60_000 });
  await vault.get('A');
  fake.set('A', 'two');
  expect((await vault.get('A')).reveal()).toBe('one');
  expect(asked).toHaveLength(2);
  vault.close();
  expect(await thrown(vault.get('A'))).toMatchObject({ code: 'CLOSED' });
});

it('binding: errors have their classes and codes', async () => {
  const failures = { GONE: 'SECRET_EXPIRED', BUSY: 'RATE_LIMITED', HELD: 'APPROVAL_REQUIRED' } as const;
  const { binding } = watched({ failures });
  const vault = createVault({ binding, retries: 0 });
  const failed = (name: string) => thrown(vault.get(name));
  expect(await failed('ABSENT')).toBeInstanceOf(NotFoundError);
  expect(await failed('GONE')).toBeInstanceOf(GoneError);
  expect(await failed('BUSY')).toBeInstanceOf(RateLimitError);
  expect(await failed('BUSY')).toMatchObject({ retryAfter: 60, status: 429 });
  expect(await failed('HELD')).toMatchObject({ approval: { id: expect.stringMatching(/^apr_/) } });
  const ended = createVault({ binding: fakeVault({ failure: 'TOKEN_REVOKED' }) });
  expect(await thrown(ended.get('A'))).toMatchObject({ code: 'TOKEN_REVOKED', status: 401 });
});

it('binding: what is none, and options of another kind of vault, are refused by name', () => {
  for (const [options, message] of [
    [{ binding: undefined }, /^binding must be/],
    [{ binding: {} }, /^binding must be/],
    [{ binding: fakeVault(), credential: 'svc_live_x' }, /^credential is not/],
    [{ binding: fakeVault(), url: 'https://vault.example' }, /^url is not/],
  ] as const)
    expect(() => createVault(options as never)).toThrow(message);
});

it('testing: the methods of the entrypoint answer and throw as a vault does', async () => {
  const fake = fakeVault({
    values: { A: 'one' },
    environments: { staging: { A: 'two' } },
    failures: { GONE: 'SECRET_EXPIRED', BUSY: 'RATE_LIMITED', HELD: 'APPROVAL_REQUIRED' },
  });
  expect(await fake.get('A')).toMatchObject({ value: 'one', environment: 'production', version: 1 });
  expect((await fake.get('A', { environment: 'staging' })).value).toBe('two');
  expect((await fake.values()).values).toEqual({ A: 'one' });
  for (const [name, said] of [
    ['ABSENT', /^NOT_FOUND: /],
    ['constructor', /^NOT_FOUND: /],
    ['GONE', /^SECRET_EXPIRED: /],
    ['BUSY', /^RATE_LIMITED: .* \(retry after 60 s\)$/],
    ['HELD', /^APPROVAL_REQUIRED: .* \(apr_\w+\)$/],
  ] as const)
    await expect(fake.get(name)).rejects.toThrow(said);
});

it('testing: as a Worker of Miniflare it is called by RPC and by fetch', async () => {
  const script = `export default {
    async fetch(request, { VAULT }) {
      const { value } = await VAULT.get('A');
      const { values } = await VAULT.values({ prefix: 'app/' });
      const absent = await VAULT.get('B').catch((error) => error.message);
      const { status } = await VAULT.fetch('https://any.example/api/v1/whoami');
      return Response.json([value, values, absent, status]);
    },
  };`;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          name: 'app',
          modules: true,
          script,
          compatibilityDate: '2026-01-01',
          serviceBindings: { VAULT: { name: 'vault', entrypoint: 'Vault' } },
        },
        fakeVaultWorker({ values: { A: 'one', 'app/C': 'three' } }),
      ],
    } as never),
  );
  try {
    const answer = await miniflare.dispatchFetch('http://app.example/');
    expect(await answer.json()).toEqual([
      'one',
      { 'app/C': 'three' },
      'NOT_FOUND: A fake vault answers NOT_FOUND.',
      200,
    ]);
  } finally {
    await miniflare.dispose();
  }
});
