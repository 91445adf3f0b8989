// Signing in with a browser (RFC 8628) and in CI, and the stored credentials.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { call, newOrg } from '../../../../test/packages/vault.mjs';
import { passkeySoftware } from '../../../../test/scripts/passkeys.mjs';
import type { Keychain } from '../../src/settings/store.ts';
import { Machine, until } from '../harness.ts';

let at: { url: string; org: string; key: string };
/** A member in a browser. */
let browser: (where: string, body: object, headers?: Record<string, string>) => Promise<{ token: string }>;

beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  const { enrolment_url } = await call(at.url, at.key, 'POST', `/orgs/${at.org}/members`, {
    email: 'dev@example.com',
    name: 'Dev',
    role: 'developer',
  });
  const { newPasskey } = await passkeySoftware();
  const passkey = await newPasskey(at.url);
  browser = async (where, body, headers) => {
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: at.url, ...headers },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${at.url}/api/v1/auth${where}`, init);
    if (!answer.ok) throw new Error(`${where}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const token = new URL(enrolment_url).hash.slice(1);
  const { token: jwt } = await browser('/enrol', {
    token,
    response: await passkey.create((await browser('/enrol/options', { token })) as never),
  });
  const bare = browser;
  browser = (where, body) => bare(where, body, { Authorization: `Bearer ${jwt}` });
});

/** Signs in with a browser, which confirms as soon as it is opened. */
async function login(machine: Machine, decision: 'confirm' | 'deny' = 'confirm') {
  const { PassThrough } = await import('node:stream');
  const stderr = new PassThrough();
  let said = '';
  let confirmed: Promise<unknown> | undefined;
  stderr.on('data', (data) => {
    said += data;
    const [, found] = /confirm the code (\S+)/.exec(said) ?? [];
    if (found) confirmed ??= browser(`/device/${decision}`, { user_code: found });
  });
  const ran = await machine.svc(['login', '--url', at.url, '--json'], { host: { stderr } });
  await confirmed;
  return Object.assign(ran, { stderr: said });
}

const credentialOf = (machine: Machine) => {
  const dir = path.join(machine.config, 'credentials');
  return path.join(dir, fs.readdirSync(dir)[0] ?? '');
};

describe('device login', () => {
  it('device login: a code is confirmed in a browser, several processes renew the session, and logout ends it', async () => {
    const machine = new Machine();
    const signedIn = await login(machine);
    expect(signedIn).toMatchObject({
      code: 0,
      json: { kind: 'member', org_id: at.org, url: at.url, stored_in: 'file' },
    });
    expect(signedIn.stderr).toContain(`${at.url}/device`);
    await machine.svc(['set', 'FROM_TERMINAL'], { stdin: 'v' });
    const file = credentialOf(machine);
    const first = JSON.parse(fs.readFileSync(file, 'utf8'));
    first.credential.session.expiresAt = new Date(0).toISOString();
    fs.writeFileSync(file, JSON.stringify(first));
    const read = () => machine.spawn(['get', 'FROM_TERMINAL']).done;
    for (const ran of await Promise.all([read(), read(), read()]))
      expect(ran).toMatchObject({ code: 0, stdout: 'v' });
    const renewed = JSON.parse(fs.readFileSync(file, 'utf8')).credential.session;
    expect(renewed.refresh_token).not.toBe(first.credential.session.refresh_token);
    expect(renewed.member.id).toBe(first.credential.session.member.id);
    expect((await machine.svc(['logout', '--json'])).json).toMatchObject({ session_ended: true });
    expect((await machine.svc(['whoami', '--url', at.url], { env: { SVC_TOKEN: renewed.token } })).code).toBe(
      3,
    );
  });

  it('device login: a refused code exits with 4, and nothing is stored', async () => {
    const machine = new Machine();
    expect((await login(machine, 'deny')).code).toBe(4);
    expect(fs.existsSync(machine.config)).toBe(false);
  });

  it('device login: svc polls while the code is pending, slows down when asked, and opens only pages of the vault', async () => {
    const polls: number[] = [];
    let uri = '';
    const codes = ['AUTHORIZATION_PENDING', 'SLOW_DOWN', 'CODE_EXPIRED'];
    const server = http.createServer((request, response) => {
      const isStart = request.url === '/api/v1/auth/device';
      if (!isStart) polls.push(Date.now());
      response.writeHead(isStart ? 200 : 400, { 'Content-Type': 'application/json' });
      const start = {
        device_code: 'd',
        user_code: 'ABCD-\u001b[31mEFGH',
        verification_uri: uri,
        verification_uri_complete: uri,
        expires_in: 600,
        interval: 1,
      };
      response.end(
        JSON.stringify(isStart ? start : { error: { code: codes[polls.length - 1], message: 'x' } }),
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    uri = `${url}/device?code=ABCD-EFGH`;
    const ran = await new Machine().svc(['login', '--url', url, '--no-browser']);
    // A token that is piped without --key-stdin is not ignored in silence.
    expect(ran.stderr).toContain('stdin is not read. To store a token from it: svc login --key-stdin');
    expect(ran.stderr).toContain(uri);
    expect(ran.stderr).not.toContain('\u001b');
    expect(polls).toHaveLength(3);
    expect((polls[1] ?? 0) - (polls[0] ?? 0)).toBeGreaterThan(900);
    expect((polls[2] ?? 0) - (polls[1] ?? 0)).toBeGreaterThan(5_900);
    for (uri of [
      'javascript:alert(1)',
      'https://vault.example.com/device?code=ABCD-EFGH',
      `${url}.example.com/device`,
    ]) {
      const refused = await new Machine().svc(['login', '--url', url]);
      expect(refused.code).toBe(1);
      expect(refused.stderr).not.toContain('ABCD-');
    }
    expect(polls).toHaveLength(3);
    server.close();
  });
});

describe('credential store', () => {
  it('keychain: if there is one, no file contains the credential', async () => {
    const kept = new Map<string, string>();
    const keychain: Keychain = {
      get: (name) => kept.get(name) ?? null,
      set: (name, secret) => void kept.set(name, secret),
      delete: (name) => void kept.delete(name),
    };
    const host = { keychain: async () => keychain };
    const machine = new Machine();
    const { json } = await machine.svc(['login', '--url', at.url, '--key-stdin', '--json'], {
      stdin: at.key,
      host,
    });
    expect(json).toMatchObject({ stored_in: 'keychain' });
    expect(fs.readFileSync(credentialOf(machine), 'utf8')).not.toContain(at.key);
    expect((await machine.svc(['whoami'], { host })).code).toBe(0);
    const locked = { keychain: async () => ({ ...keychain, get: () => null }) };
    expect((await machine.svc(['whoami'], { host: locked })).code).toBe(3);
    await machine.svc(['logout'], { host });
    expect(kept.size).toBe(0);
  });

  it('keychain: an error about what it holds does not quote it', async () => {
    const other = new Machine();
    let held: string | null = null;
    const keychain: Keychain = {
      get: () => held,
      set: (_, text) => {
        held = text;
      },
      delete: () => {},
    };
    const host = { keychain: async () => keychain };
    await other.svc(['login', '--url', at.url, '--key-stdin'], { stdin: at.key, host });
    held = `${at.key} {`;
    const ran = await other.svc(['whoami'], { host });
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('KEYCHAIN_LOCKED')]);
    expect(ran.stderr).not.toContain(at.key.slice(0, 9));
  });

  it('profiles: a damaged file is no dead end', async () => {
    const other = new Machine();
    await other.svc(['login', '--url', at.url, '--key-stdin'], { stdin: at.key });
    for (const text of ['{"profiles":', '[]']) {
      fs.writeFileSync(path.join(other.config, 'config.json'), text, { mode: 0o600 });
      expect((await other.svc(['whoami'])).stderr).toContain('Remove it, and sign in again: svc login');
    }
  });

  it('keychain: a keychain that does not store the credential is not used', async () => {
    const broken = {
      keychain: async () => ({
        get: () => null,
        set: () => {
          throw new Error('no');
        },
        delete: () => {},
      }),
    };
    const { json } = await new Machine().svc(['login', '--url', at.url, '--key-stdin', '--json'], {
      stdin: at.key,
      host: broken,
    });
    expect(json).toMatchObject({ stored_in: 'file' });
  });

  it('login: without an address, the error names the profile and says what becomes of a token that was piped', async () => {
    const { code, stderr } = await new Machine().svc(['login', '--profile', 'other', '--key-stdin'], {
      stdin: at.key,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^error: No vault address is set for the profile other\.\n.*--url .* not stored: revoke it, and create another/s,
    );
  });

  it('login: a token that the vault does not accept is not stored', async () => {
    const machine = new Machine();
    expect(
      (await machine.svc(['login', '--url', at.url, '--key-stdin'], { stdin: `svc_live_${'a'.repeat(60)}` }))
        .code,
    ).toBe(3);
    expect(
      (await machine.svc(['login', '--url', at.url, '--key-stdin'], { stdin: 'not a token' })).code,
    ).toBe(2);
    expect(fs.existsSync(machine.config)).toBe(false);
  });
});

describe('workload identity', () => {
  it('workload identity: a job exchanges its OIDC token automatically, and the child does not get it', async () => {
    const keys = (await crypto.subtle.generateKey({ name: 'Ed25519' }, true, [
      'sign',
      'verify',
    ])) as CryptoKeyPair;
    const jwk = {
      ...(await crypto.subtle.exportKey('jwk', keys.publicKey)),
      kid: 'k1',
      alg: 'EdDSA',
      use: 'sig',
    };
    const issuer = 'https://ci.example.com';
    const trust = await call(at.url, at.key, 'POST', `/orgs/${at.org}/trusts`, {
      name: 'job',
      issuer,
      claims: { sub: 'repo:acme/app' },
      scopes: ['secrets:read', 'secrets:list'],
      jwks: { keys: [jwk] },
    });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      aud: at.url,
      sub: 'repo:acme/app',
      iat: now,
      nbf: now,
      exp: now + 600,
      jti: 'one',
    };
    const signed = `${part({ alg: 'EdDSA', kid: 'k1', typ: 'JWT' })}.${part(claims)}`;
    const signature = Buffer.from(
      await crypto.subtle.sign('Ed25519', keys.privateKey, Buffer.from(signed)),
    ).toString('base64url');
    await call(at.url, at.key, 'PUT', `/orgs/${at.org}/secrets/by-name/CI_VALUE`, {
      value: 'from the vault',
    });
    const env = {
      CI: 'true',
      SVC_URL: at.url,
      SVC_ORG_ID: at.org,
      SVC_TRUST_ID: trust.id,
      SVC_ENVIRONMENT: 'production',
      SVC_ID_TOKEN: `${signed}.${signature}`,
    };
    const machine = new Machine(env);
    const script =
      'process.stdout.write([process.env.CI_VALUE, process.env.SVC_ID_TOKEN, process.env.SVC_TRUST_ID].join())';
    expect(await machine.spawn(['run', '--', process.execPath, '-e', script]).done).toMatchObject({
      code: 0,
      stdout: 'from the vault,,',
    });
    expect((await machine.spawn(['login', '--json']).done).stdout).toContain('"stored_in": null');
    expect(await machine.spawn(['login'], { env: { SVC_TRUST_ID: '' } }).done).toMatchObject({ code: 2 });
    const refused = await machine.spawn(['get', 'CI_VALUE'], { env: { SVC_ID_TOKEN: `${signed}.AAAA` } })
      .done;
    expect(refused.code).toBe(3);
    expect(refused.stderr).not.toContain(signed);
    expect(refused.stderr).toMatch(/does not accept the OIDC token of this job[\s\S]*svc trust show/);
    await until(() => !fs.existsSync(machine.config));
  });
});
