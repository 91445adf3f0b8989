// A value does not appear in anything that prints, copies or serialises a secret.
import { inspect } from 'node:util';
import v8 from 'node:v8';
import { createVault, type Secret, VaultError } from '@secrets-vault/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { newVault, thrown } from './support.ts';

const VALUE = 'correct-horse-battery-staple';
let secret: Secret;
let at: Awaited<ReturnType<typeof newVault>>;
beforeAll(async () => {
  at = await newVault();
  await at.put('PASSWORD', VALUE);
  const vault = createVault({ url: at.url, org: at.org, credential: (await at.agent()).token });
  secret = await vault.get('PASSWORD');
});

describe('secret', () => {
  it('redaction: only reveal returns the value', () => {
    expect(secret.reveal()).toBe(VALUE);
    const seen = [
      ...[
        `${secret}`,
        String(secret),
        `${secret}${''}`,
        JSON.stringify({ secret }),
        inspect(secret, { showHidden: true, depth: 9 }),
      ],
      ...[
        inspect({ secret, list: [secret], map: new Map([['a', secret]]) }, { depth: 9 }),
        JSON.stringify(Object.entries(secret)),
      ],
      ...[
        JSON.stringify({ ...secret }),
        JSON.stringify(structuredClone(secret)),
        JSON.stringify(Reflect.ownKeys(secret)),
      ],
      ...[
        v8.serialize(secret).toString('latin1'),
        JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
        new Error(`${secret}`).message,
      ],
    ];
    for (const text of seen) expect(text).not.toContain(VALUE);
    expect(inspect({ secret })).toBe('{ secret: [redacted] }');
    expect(JSON.stringify({ secret })).toBe('{"secret":"[redacted]"}');
  });

  it('redaction: values print only as names', async () => {
    const vault = createVault({ url: at.url, org: at.org, credential: (await at.agent()).token });
    const values = await vault.values({ environment: 'production' });
    expect(values.get('PASSWORD')?.reveal()).toBe(VALUE);
    for (const text of [
      inspect(values, { showHidden: true, depth: 9 }),
      JSON.stringify([...values]),
      JSON.stringify(values),
    ])
      expect(text).not.toContain(VALUE);
    expect(inspect(vault, { showHidden: true, depth: 9 })).not.toContain(VALUE);
  });

  it('redaction: an error contains neither the token nor the value', async () => {
    const token = (await at.agent({ scopes: ['secrets:list'] })).token;
    const vault = createVault({ url: at.url, org: at.org, credential: token, retries: 0 });
    at.proxy.fail({ kind: 'cut', when: ({ method }) => method === 'PUT' });
    for (const failing of [() => vault.get('PASSWORD'), () => vault.set('PASSWORD', VALUE)]) {
      const error = await thrown(failing());
      expect(error).toBeInstanceOf(VaultError);
      for (const text of [
        inspect(error, { showHidden: true, depth: 9 }),
        JSON.stringify(error),
        String((error as Error).stack),
      ]) {
        expect(text).not.toContain(VALUE);
        expect(text).not.toContain(token);
      }
    }
    expect(inspect(vault, { showHidden: true, depth: 9 })).not.toContain(token);
  });

  it.each([
    ['an API key', 'svc_live_secretpart\nmore'],
    ['an agent credential', 'svcag_secretpart\r\nX: y'],
    ['a token source', { current: async () => 'svcsess_secretpart\n', after: async () => null }],
  ])('redaction: an error about %s with a line break does not quote it', async (_, credential) => {
    const error = await thrown(
      createVault({ url: 'https://vault.example.com', org: 'org_1', credential }).get('A'),
    );
    expect(error).toMatchObject({ name: 'CredentialError', code: 'MALFORMED_CREDENTIAL' });
    expect(inspect(error, { depth: 9 })).not.toContain('secretpart');
  });

  it('redaction: a response that is not JSON is not quoted', async () => {
    const odd = createVault({
      url: at.url,
      org: at.org,
      credential: 'x',
      fetch: async () => new Response(`<html>${VALUE}`),
    });
    const error = await thrown(odd.get('PASSWORD'));
    expect(error).toMatchObject({ code: 'UNEXPECTED_RESPONSE' });
    expect(inspect(error, { depth: 9 })).not.toContain(VALUE);
  });
});
