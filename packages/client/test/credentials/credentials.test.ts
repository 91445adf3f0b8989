// Tokens: created, exchanged, refreshed, shared by many calls, and renewed once when the vault refuses one.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { AuthenticationError, createVault, type TerminalSession } from '@secrets-vault/client';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { newVault, thrown } from '../support.ts';

let at: Awaited<ReturnType<typeof newVault>>;
beforeAll(async () => {
  at = await newVault();
  await at.put('NAME', 'one');
});
beforeEach(() => at.proxy.reset());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const MINTS = '/access-tokens';
const tokens = () =>
  new Set(
    at.proxy.seen
      .filter(({ path }) => path.includes('/by-name/'))
      .map(({ headers }) => headers.authorization),
  );
const open = (credential: Parameters<typeof createVault>[0]['credential'], options: object = {}) =>
  createVault({ url: at.url, org: at.org, credential, cache: false, ...options });
const session = async () =>
  (await at.direct('POST', '/access-tokens', { ttlSeconds: 600 })) as {
    token: string;
    expiresAt: string;
    id: string;
  };

describe('API key', () => {
  it('session token: concurrent calls share one, and the key itself reads nothing', async () => {
    const vault = open(at.key);
    await Promise.all(Array.from({ length: 20 }, () => vault.get('NAME')));
    await vault.get('NAME');
    expect(at.proxy.count('POST', MINTS)).toBe(1);
    expect([...tokens()]).toEqual([expect.stringMatching(/^Bearer svcsess_/)]);
  });

  it('session token: a key that expires soon gets shorter ones, and is used itself in its last minute', async () => {
    const ending = async (ttlSeconds: number) =>
      (await at.direct('POST', '/api-keys', { name: 'ending', scopes: ['secrets:read'], ttlSeconds })) as {
        token: string;
      };
    const soon = await ending(600);
    const now = await ending(60);
    expect((await open(soon.token).get('NAME')).reveal()).toBe('one');
    expect([...tokens()]).toEqual([expect.stringMatching(/^Bearer svcsess_/)]);
    expect(at.proxy.count('POST', MINTS)).toBe(2);
    at.proxy.reset();
    expect((await open(now.token).get('NAME')).reveal()).toBe('one');
    expect([...tokens()]).toEqual([`Bearer ${now.token}`]);
  });

  it('session token: renewed before it expires', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const vault = open(at.key);
    await vault.get('NAME');
    vi.setSystemTime(Date.now() + 13 * 60_000 - 10_000);
    await vault.get('NAME');
    expect(at.proxy.count('POST', MINTS)).toBe(1);
    vi.setSystemTime(Date.now() + 20_000);
    await Promise.all([vault.get('NAME'), vault.get('NAME')]);
    expect(at.proxy.count('POST', MINTS)).toBe(2);
    // While the renewal fails, the old token is still used.
    vi.setSystemTime(Date.now() + 13 * 60_000 + 10_000);
    at.proxy.fail({ kind: 'refuse', status: 503, times: 9, when: ({ method }) => method === 'POST' });
    await vault.get('NAME');
    expect(at.proxy.count('POST', MINTS)).toBeGreaterThan(2);
  });

  it('session token: a revoked one is renewed once, and all calls that failed with it are retried', async () => {
    const vault = open(at.key);
    await vault.get('NAME');
    const { data } = (await at.direct('GET', '/access-tokens?limit=100')) as { data: { id: string }[] };
    await Promise.all(data.map(({ id }) => at.direct('DELETE', `/access-tokens/${id}`)));
    const reads = await Promise.all(Array.from({ length: 5 }, () => vault.get('NAME')));
    expect(reads.every((secret) => secret.reveal() === 'one')).toBe(true);
    expect(at.proxy.count('POST', MINTS)).toBe(2);
  });

  it('session token: a lost response to its creation leaves one token', async () => {
    const key = (await at.direct('POST', '/api-keys', { name: 'one more', scopes: ['secrets:read'] })) as {
      id: string;
      token: string;
    };
    at.proxy.fail({ kind: 'lose', when: ({ method }) => method === 'POST' });
    await open(key.token).get('NAME');
    const { data } = (await at.direct('GET', '/access-tokens?limit=100')) as { data: { parentId: string }[] };
    expect(data.filter(({ parentId }) => parentId === key.id).length).toBe(1);
  });

  it('session token: an aborted call does not abort the renewal for the others', async () => {
    at.proxy.fail({ delay: 300, when: ({ method }) => method === 'POST' });
    const vault = open(at.key);
    const [gaveUp, read] = await Promise.all([
      thrown(vault.get('NAME', { signal: AbortSignal.timeout(50) })),
      vault.get('NAME'),
    ]);
    expect(gaveUp).toMatchObject({ name: 'TimeoutError' });
    expect(read.reveal()).toBe('one');
    expect(at.proxy.count('POST', MINTS)).toBe(1);
  });

  it('session token: a renewal that fails after every caller has given up causes no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    process.on('unhandledRejection', (error) => unhandled.push(error));
    at.proxy.fail({ kind: 'refuse', status: 403, delay: 100, when: ({ method }) => method === 'POST' });
    expect(await thrown(open(at.key).get('NAME', { signal: AbortSignal.timeout(20) }))).toMatchObject({
      name: 'TimeoutError',
    });
    expect(
      await thrown(open(at.key).api.GET('/whoami', { signal: AbortSignal.abort(new Error('before')) })),
    ).toMatchObject({
      message: 'before',
    });
    await new Promise((done) => setTimeout(done, 200));
    expect(unhandled).toEqual([]);
  });

  it('revoked: a revoked key is refused after one more attempt', async () => {
    const key = (await at.direct('POST', '/api-keys', { name: 'short', scopes: ['secrets:read'] })) as {
      id: string;
      token: string;
    };
    const vault = open(key.token);
    await vault.get('NAME');
    await at.direct('DELETE', `/api-keys/${key.id}`);
    expect(await thrown(vault.get('NAME'))).toBeInstanceOf(AuthenticationError);
    expect(at.proxy.count('POST', MINTS)).toBe(2);
    expect(() => open('')).toThrow(TypeError);
  });
});

describe('workload identity', () => {
  /** Responds to exchanges instead of the vault, with real session tokens. */
  const exchange = (asked: { org_id: string; trust_id: string; token: string }[]) =>
    open(
      { oidc: async () => `oidc-${asked.length + 1}`, trustId: 'trs_1' },
      {
        fetch: async (url: string, init: RequestInit) => {
          if (!url.endsWith('/api/v1/auth/exchange')) return fetch(url, init);
          expect(new Headers(init.headers).get('Authorization')).toBe(null);
          asked.push(JSON.parse(new TextDecoder().decode(init.body as ArrayBuffer)));
          return Response.json(await session(), { status: 201 });
        },
      },
    );

  it('exchange: an OIDC token is exchanged for a session token, and each renewal gets a new OIDC token', async () => {
    const asked: { org_id: string; trust_id: string; token: string }[] = [];
    const vault = exchange(asked);
    await Promise.all([vault.get('NAME'), vault.get('NAME')]);
    expect(asked).toEqual([{ org_id: at.org, trust_id: 'trs_1', token: 'oidc-1' }]);
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + 590_000);
    await vault.get('NAME');
    expect(asked.map(({ token }) => token)).toEqual(['oidc-1', 'oidc-2']);
  });

  it("platform: oidc 'ci' and a file are exchanged", async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'token-')), 'token');
    fs.writeFileSync(file, 'from-file\n');
    vi.stubEnv('SVC_ID_TOKEN', 'from-variable');
    for (const [oidc, expected] of [
      ['ci', 'from-variable'],
      [{ file }, 'from-file'],
    ] as const) {
      const sent: string[] = [];
      const answer = async (url: string, init: RequestInit) => {
        if (!url.endsWith('/exchange')) return fetch(url, init);
        sent.push(JSON.parse(new TextDecoder().decode(init.body as ArrayBuffer)).token);
        return Response.json(await session(), { status: 201 });
      };
      await open({ oidc, trustId: 'trs_1' }, { fetch: answer }).get('NAME');
      expect(sent).toEqual([expected]);
    }
  });
});

describe('workload identity, in the real vault', () => {
  it('a CI job without a stored key reads with the token of a stand-in issuer, and the trust decides', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const issuer = 'https://token.actions.githubusercontent.com';
    const trust = await at.direct('POST', '/trusts', {
      name: 'deploy',
      issuer,
      claims: { sub: 'repo:acme/app:*' },
      scopes: ['secrets:read'],
      secrets: ['NAME'],
      ttlSeconds: 60,
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] },
    });
    let sub = 'repo:acme/app:ref:refs/heads/main';
    const runner = http.createServer(async (request, response) => {
      const audience = new URL(request.url ?? '', 'http://runner').searchParams.get('audience') ?? '';
      const token = new SignJWT({ ref: 'refs/heads/main', jti: crypto.randomUUID() }).setProtectedHeader({
        alg: 'RS256',
        kid: 'k1',
      });
      const value = await token
        .setIssuer(issuer)
        .setSubject(sub)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      response.end(JSON.stringify({ value }));
    });
    await new Promise((done) => runner.listen(0, '127.0.0.1', () => done(null)));
    vi.stubEnv(
      'ACTIONS_ID_TOKEN_REQUEST_URL',
      `http://127.0.0.1:${(runner.address() as { port: number }).port}/token?x=1`,
    );
    vi.stubEnv('ACTIONS_ID_TOKEN_REQUEST_TOKEN', 'runner');
    const job = () => open({ oidc: 'ci', trustId: trust.id, audience: at.target });
    const vault = job();
    // The response of the first exchange is lost.
    at.proxy.fail({ kind: 'lose', when: ({ url }) => (url ?? '').endsWith('/auth/exchange') });
    expect((await vault.get('NAME')).reveal()).toBe('one');
    expect(at.proxy.count('POST', '/auth/exchange')).toBe(2);
    expect(await thrown(vault.get('OTHER'))).toMatchObject({ status: 403 });
    await at.direct('PATCH', `/trusts/${trust.id}`, { secrets: ['OTHER'] });
    expect(await thrown(vault.get('NAME'))).toMatchObject({ status: 403 });
    await at.direct('DELETE', `/trusts/${trust.id}`);
    expect(await thrown(vault.get('NAME'))).toBeInstanceOf(AuthenticationError);
    sub = 'repo:evil/app:ref:refs/heads/main';
    expect(await thrown(job().get('NAME'))).toBeInstanceOf(AuthenticationError);
    runner.close();
  });
});

describe('terminal session, in the real vault', () => {
  it('refresh tokens rotate; a lost response and another process do not end the session, but a logout elsewhere does', async () => {
    const own = await newVault();
    await own.put('NAME', 'one');
    const { session: first, browser } = await signedInTerminal(own.target, own.enrolmentUrl);
    let kept: TerminalSession | null = { ...first, expiresAt: new Date(0).toISOString() };
    const store = {
      load: () => kept,
      save: (next: TerminalSession) => {
        kept = next;
      },
    };
    const start = () =>
      createVault({ url: own.url, org: own.org, credential: { terminal: store }, cache: false });
    own.proxy.fail({ kind: 'lose', when: ({ url }) => (url ?? '').endsWith('/auth/refresh') });
    const vault = start();
    expect((await vault.get('NAME')).reveal()).toBe('one');
    expect(kept?.refresh_token).not.toBe(first.refresh_token);
    expect((await start().get('NAME')).reveal()).toBe('one');
    expect(own.proxy.count('POST', '/auth/refresh')).toBe(2);
    // Two processes with expired tokens refresh concurrently.
    kept = { ...(kept as TerminalSession), expiresAt: new Date(0).toISOString() };
    const both = await Promise.all([start().get('NAME'), start().get('NAME')]);
    expect(both.map((secret) => secret.reveal())).toEqual(['one', 'one']);
    const answer = await fetch(`${own.target}/api/v1/auth/sessions`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${browser.token}` },
    });
    expect(answer.status).toBe(204);
    expect(await thrown(start().get('NAME'))).toBeInstanceOf(AuthenticationError);
  });
});

describe('terminal session', () => {
  /**
   * A store like a shared file, and a vault that refreshes like the service: each refresh token is valid
   * once.
   */
  function shared(first: TerminalSession) {
    let kept: TerminalSession | null = first;
    const log: string[] = [];
    const live = new Set([first.refresh_token]);
    let refreshes = 0;
    const store = {
      load: async () => kept,
      save: async (next: TerminalSession) => {
        await new Promise((done) => setTimeout(done, 20));
        kept = next;
        log.push(`saved ${next.refresh_token}`);
      },
    };
    const fetching = async (url: string, init: RequestInit) => {
      if (!url.endsWith('/api/v1/auth/refresh')) {
        log.push('call');
        return fetch(url, init);
      }
      const { refresh_token } = JSON.parse(new TextDecoder().decode(init.body as ArrayBuffer));
      log.push(`refresh ${refresh_token}`);
      if (!live.delete(refresh_token))
        return Response.json(
          { error: { code: 'UNAUTHENTICATED', message: 'm', docs: 'd' } },
          { status: 401 },
        );
      const next = `r${++refreshes}`;
      live.add(next);
      return Response.json({ ...(await session()), refresh_token: next });
    };
    return {
      store,
      log,
      open: () => open({ terminal: store }, { fetch: fetching }),
      set: (next: TerminalSession | null) => (kept = next),
    };
  }
  const ended = { token: 'x', expiresAt: new Date(0).toISOString(), refresh_token: 'r0' };

  it('refresh: the new session is saved before its token is used, and calls share it', async () => {
    const { log, open: start } = shared(ended);
    const vault = start();
    await Promise.all([vault.get('NAME'), vault.get('NAME')]);
    expect(log).toEqual(['refresh r0', 'saved r1', 'call', 'call']);
  });

  it('refresh: a valid session is used without a refresh', async () => {
    const { log, open: start } = shared({ ...(await session()), refresh_token: 'r0' });
    await start().get('NAME');
    expect(log).toEqual(['call']);
  });

  it('refresh: a session that another process stored in the meantime is used', async () => {
    const { store, log, open: start } = shared(ended);
    await start().get('NAME');
    // This process read the file just before the other one wrote it.
    const { load } = store;
    let loads = 0;
    store.load = async () => (++loads === 1 ? ended : load());
    await start().get('NAME');
    expect(log).toEqual(['refresh r0', 'saved r1', 'call', 'refresh r0', 'call']);
  });

  it('refresh: without a session, or with an ended one, the call fails with a clear error', async () => {
    const { open: start, set } = shared(ended);
    set(null);
    expect(await thrown(start().get('NAME'))).toMatchObject({ code: 'NO_CREDENTIAL' });
    set({ ...ended, refresh_token: 'spent' });
    expect(await thrown(start().get('NAME'))).toBeInstanceOf(AuthenticationError);
  });
});
