// Tokens that the service gets for upstreams, from stand-ins that speak the vendors' wire formats: how they
// are asked for, kept, renewed, masked and ended.
import { createPrivateKey } from 'node:crypto';
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { newUpstream } from '../../support/integrations/upstreams';
import { type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

let pair: Awaited<ReturnType<typeof generateKeyPair>>;
let pem = '';
beforeAll(async () => {
  pair = await generateKeyPair('RS256', { extractable: true });
  pem = await exportPKCS8(pair.privateKey);
});

/** What token endpoints and APIs got, and what they answer. */
let asked: { url: URL; headers: Headers; body: URLSearchParams }[] = [];
let sent: Headers[] = [];
let gives: (n: number) => Response | Promise<Response>;
let answers: (headers: Headers) => Response;
const bearer = (n: number) => `token-number-${n}-of-the-endpoint`;

beforeEach(() => {
  faults.clock = Date.now();
  asked = [];
  sent = [];
  gives = (n) => Response.json({ access_token: bearer(n), token_type: 'Bearer', expires_in: 3600 });
  answers = () => new Response('fine');
  vi.stubGlobal('fetch', async (text: string, init: RequestInit) => {
    const url = new URL(text);
    if (url.hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    const headers = new Headers(init.headers as HeadersInit);
    if (!/token/.test(url.pathname)) {
      sent.push(headers);
      return answers(headers);
    }
    asked.push({ url, headers, body: new URLSearchParams(String(init.body ?? '')) });
    return gives(asked.length);
  });
});
afterEach(() => vi.unstubAllGlobals());

const use = (o: Caller, name: string) =>
  send('GET', `/api/v1/orgs/${o.id}/use/${name}/v1/x`, { token: o.token });

const SECRET = 'the client secret: 4711/é';
async function ofClient(o: Caller, fields = {}) {
  const { name: id } = await newSecret(o, { value: 'the-client-id' });
  const { name: secret } = await newSecret(o, { value: SECRET });
  const auth = [
    {
      type: 'oauth2_client_credentials',
      token_url: 'https://login.example.com/oauth/token',
      client_id: `{{${id}}}`,
      client_secret: `{{${secret}}}`,
      scope: 'read write',
      audience: 'https://api.example.com/',
      ...fields,
    },
  ];
  return { ...(await newUpstream(o, { auth }, secret)), clientSecret: secret };
}

describe('own tokens: how they are asked for', () => {
  it('OAuth 2.0: client credentials, as RFC 6749 has them', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    expect((await use(o, name)).status).toBe(200);
    const [request] = asked;
    expect(Object.fromEntries(request?.body ?? [])).toEqual({
      grant_type: 'client_credentials',
      scope: 'read write',
      audience: 'https://api.example.com/',
    });
    const basic = new TextDecoder().decode(
      Uint8Array.from(atob(request?.headers.get('authorization')?.slice(6) ?? ''), (c) => c.charCodeAt(0)),
    );
    expect(basic.split(':').map(decodeURIComponent)).toEqual(['the-client-id', SECRET]);
    expect(request?.headers.get('content-type')).toBe('application/x-www-form-urlencoded');
    expect(sent[0]?.get('authorization')).toBe(`Bearer ${bearer(1)}`);
  });

  it('Google: a service account signs an assertion', async () => {
    const o = await newOrg();
    const key = JSON.stringify({
      type: 'service_account',
      private_key_id: 'kid-1',
      private_key: pem,
      client_email: 'svc@project.iam.gserviceaccount.com',
      token_uri: 'https://oauth2.googleapis.com/token',
    });
    const { name: secret } = await newSecret(o, { value: key });
    const scopes = ['https://www.googleapis.com/auth/cloud-platform', 'openid'];
    const auth = [{ type: 'google_service_account', key: `{{${secret}}}`, scopes }];
    const { name } = await newUpstream(o, { auth }, secret);
    answers = () => Response.json({ key: pem });
    const { text } = await use(o, name);
    expect(text).toMatch(/^\{"key":"\*+(\\n)?"\}$/);
    const [request] = asked;
    expect(request?.body.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(
      request?.body.get('assertion') ?? '',
      pair.publicKey,
      { audience: 'https://oauth2.googleapis.com/token' },
    );
    expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'JWT', kid: 'kid-1' });
    expect(payload).toMatchObject({
      iss: 'svc@project.iam.gserviceaccount.com',
      scope: scopes.join(' '),
    });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
  });

  it.each(['pkcs1', 'pkcs8'] as const)('GitHub: an App signs a JWT with its key in %s', async (type) => {
    const o = await newOrg();
    const value = String(createPrivateKey(pem).export({ type, format: 'pem' }));
    const { name: secret } = await newSecret(o, { value });
    const auth = [
      { type: 'github_app', app_id: '12345', installation_id: '678', private_key: `{{${secret}}}` },
    ];
    const { name } = await newUpstream(o, { auth, base_url: 'https://api.github.com' }, secret);
    const token = `ghs_12345_${'x'.repeat(400)}`;
    gives = () =>
      Response.json(
        { token, expires_at: new Date(Date.now() + 3_600_000).toISOString(), permissions: {} },
        { status: 201 },
      );
    expect((await use(o, name)).status).toBe(200);
    const [request] = asked;
    expect(request?.url.href).toBe('https://api.github.com/app/installations/678/access_tokens');
    expect(request?.headers.get('user-agent')).toMatch(/^secrets-vault-service/);
    const jwt = request?.headers.get('authorization')?.slice(7) ?? '';
    const { payload } = await jwtVerify(jwt, pair.publicKey, { issuer: '12345' });
    expect(Number(payload.exp) - Date.now() / 1000).toBeLessThanOrEqual(600);
    expect(sent[0]?.get('authorization')).toBe(`Bearer ${token}`);
  });

  it.each<[string, () => Response | Promise<Response>, string]>([
    ['a refusal', () => Response.json({ error: 'invalid_client' }, { status: 401 }), 'TARGET_REJECTED'],
    ['a redirect', () => Response.redirect('https://evil.example.com/token', 307), 'TARGET_REJECTED'],
    ['a page', () => new Response('<html>'), 'TARGET_REJECTED'],
    ['no token', () => Response.json({ token_type: 'Bearer' }), 'TARGET_REJECTED'],
    [
      'a token with a line break',
      () => Response.json({ access_token: 'abcdefgh\r\nX: y' }),
      'TARGET_REJECTED',
    ],
    [
      'a token of another type',
      () => Response.json({ access_token: bearer(1), token_type: 'mac' }),
      'TARGET_REJECTED',
    ],
    ['no connection', () => Promise.reject(new Error('refused')), 'TARGET_UNREACHABLE'],
  ])('own tokens: %s is an error, recorded, and nothing is sent to the API', async (_, answer, code) => {
    const o = await newOrg();
    const { name, id } = await ofClient(o);
    gives = answer;
    const refused = await use(o, name);
    expect(codeOf(refused)).toEqual([502, code]);
    expect(refused.text).not.toContain('invalid_client');
    expect([asked.length, sent.length]).toEqual([1, 0]);
    expect((await o.get(`/audit-log?resource=${id}&action=secret.use`)).json.data).toHaveLength(1);
    // The next call tries again.
    gives = () => Response.json({ access_token: bearer(2) });
    expect((await use(o, name)).status).toBe(200);
  });
});

describe('own tokens: how they are kept', () => {
  it('own tokens: one serves until a minute before its end', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    await use(o, name);
    faults.clock = Date.now() + 3_530_000;
    await use(o, name);
    expect(asked).toHaveLength(1);
    faults.clock = Date.now() + 3_541_000;
    await use(o, name);
    expect(sent.map((headers) => headers.get('authorization'))).toEqual(
      [1, 1, 2].map((n) => `Bearer ${bearer(n)}`),
    );
  });

  it('own tokens: calls at the same time get one', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    const gave = gives;
    gives = async (n) => {
      await new Promise((done) => setTimeout(done, 50));
      return gave(n);
    };
    const all = await Promise.all(Array.from({ length: 5 }, () => use(o, name)));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(asked).toHaveLength(1);
  });

  it('own tokens: one that the API refuses is not used again', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    answers = () => new Response('expired', { status: 401 });
    expect((await use(o, name)).status).toBe(401);
    answers = () => new Response('fine');
    expect((await use(o, name)).status).toBe(200);
    expect(asked).toHaveLength(2);
  });

  it('own tokens: one ends with the upstream, a change of it, and its secrets', async () => {
    const o = await newOrg();
    const { id, name, clientSecret } = await ofClient(o);
    await use(o, name);
    const { data } = (await o.get('/secrets')).json;
    const secret = data.find((one: { name: string }) => one.name === clientSecret);
    expect((await o.post(`/secrets/${secret.id}/rotate`, { value: 'another-client-secret' })).status).toBe(
      200,
    );
    await use(o, name);
    expect(asked).toHaveLength(2);
    await o.patch(`/upstreams/${id}`, { allow: [{ methods: ['GET'], paths: ['/*'] }] });
    const kept = () =>
      inGate(o, (_, { storage }) => storage.sql.exec('select * from use_tokens').toArray().length);
    expect(await kept()).toBe(0);
    await use(o, name);
    expect([asked.length, await kept()]).toEqual([3, 1]);
    await o.del(`/upstreams/${id}`);
    expect(await kept()).toBe(0);
  });

  it('own tokens: answers show neither a token nor what it was got with', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    answers = (headers) => new Response(`${headers.get('authorization')} ${SECRET} ${btoa(bearer(1))}`);
    const { text } = await use(o, name);
    for (const shown of [bearer(1), SECRET, btoa(bearer(1))]) expect(text).not.toContain(shown);
  });

  it('own tokens: one is in no storage, log or table but sealed', async () => {
    const o = await newOrg();
    const { name } = await ofClient(o);
    const logged: unknown[] = [];
    for (const level of ['log', 'error', 'warn'] as const)
      vi.spyOn(console, level).mockImplementation((...line) => void logged.push(line));
    await use(o, name);
    vi.restoreAllMocks();
    const stored = await inGate(o, (_, { storage }) => {
      const tables = storage.sql
        .exec<{ name: string }>(
          "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\'",
        )
        .toArray();
      return JSON.stringify(tables.map((one) => storage.sql.exec(`select * from "${one.name}"`).toArray()));
    });
    const tables = await db
      .prepare("select name from sqlite_master where type = 'table'")
      .all<{ name: string }>();
    let inD1 = '';
    for (const one of tables.results)
      if (!/^(_|sqlite|d1)/.test(one.name))
        inD1 += JSON.stringify((await db.prepare(`select * from "${one.name}"`).all()).results);
    const all = stored + inD1 + JSON.stringify(logged) + (await o.get('/audit-log')).text;
    expect(stored).toContain('"sealed":"A');
    for (const form of [bearer(1), btoa(bearer(1)), SECRET]) expect(all).not.toContain(form);
  });
});
