// Connections to identity providers: who makes and changes them, what they discover, what they may give, and
// what ends with them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MemberRow, SsoConnectionRow } from '../../../src/db/schema';
import { decryptClientSecret } from '../../../src/domains/sso/encryption';
import { tiesOf } from '../../../src/gate/approvals/ties';
import type { Call } from '../../../src/gate/request/call';
import { insertion, revision } from '../../../src/gate/request/writes';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, keysOf } from '../../support/gate';
import { approvalIn, colleague, newApprovalPolicy, settle } from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { type Browser, change, newSignedIn } from '../../support/signin/browser';
import { answerNames, documentOf, newResolver } from '../../support/signin/dns';
import { slow } from '../../support/slow';
import { type Caller, codeOf, db, newOrg, useWorld } from '../../support/world';
import { hostileTargets } from '../../unit/delivery/targets';

useWorld();

const ISSUER = 'https://login.example.com/realms/acme';

/** What the provider answers, and the addresses that were asked. */
let answer: (url: URL, init: RequestInit) => Response | Promise<Response>;
let asked: string[];
beforeEach(() => {
  asked = [];
  answer = () => Response.json(documentOf(ISSUER));
  answerNames(newResolver(), (url, init) => {
    asked.push(url.href);
    return answer(url, init);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  faults.variables = {};
  faults.isolate++;
});

const SECRET = 'the-client-secret-of-the-tests';
const fields = (more: object = {}) => ({
  kind: 'oidc',
  name: 'Keycloak',
  issuer: ISSUER,
  client_id: 'svc',
  client_secret: SECRET,
  domains: [],
  ...more,
});

/** An owner whose session is confirmed. */
async function newOwner() {
  const { o, browser } = await newSignedIn();
  await browser.confirm();
  return { o, browser };
}
const make = (o: Caller, more: object = {}) => o.post('/sso-connections', fields(more));
async function made(o: Caller, more: object = {}) {
  const { status, json, text } = await make(o, more);
  if (status !== 201) throw new Error(text);
  return json as { id: string; revision: number; issuer: string; redirect_uri: string };
}
const rowOf = (o: Caller, id: string): Promise<SsoConnectionRow | null> =>
  inCore(o, (core) => core.rows.get('sso_connection', id));
const aDomain = async (o: Caller) =>
  (await o.post('/domains', { domain: `c${Math.random().toString(36).slice(2)}.example.com` })).json.id;

describe('connections', () => {
  it('connection: a new one is found by sign-in as soon as it was answered', async () => {
    const { browser } = await newOwner();
    faults.lags = true;
    faults.isAlarmHeld = true;
    const { id } = await made(browser.o);
    const found = await db.prepare('select id from sso_connections where id = ?').bind(id).first('id');
    expect(found).toBe(id);
  });

  slow('connection: is made, shown, listed, changed and deleted, and its secret is never shown', async () => {
    const { browser } = await newOwner();
    const { o } = browser;
    const domain = await aDomain(o);
    const team = await newTeam(o);
    const { status, json, headers, text } = await make(o, {
      domains: [domain],
      jit: true,
      role_mappings: [{ group: 'devs', role: 'developer', environments: ['development'] }],
      team_mappings: [{ group: 'payments', team_id: team }],
    });
    expect([status, headers.get('etag')]).toEqual([201, '"r1"']);
    expect(json).toMatchObject({
      kind: 'oidc',
      issuer: ISSUER,
      client_id: 'svc',
      scopes: ['openid', 'email', 'profile'],
      groups_claim: 'groups',
      domains: [domain],
      jit: true,
      enforce: false,
      default_role: 'viewer',
      default_environments: null,
      role_mappings: [{ group: 'devs', role: 'developer', environments: ['development'] }],
      team_mappings: [{ group: 'payments', team_id: team }],
      redirect_uri: 'http://localhost/sso/callback',
    });
    expect(asked).toEqual([`${ISSUER}/.well-known/openid-configuration`]);
    const path = `/sso-connections/${json.id}`;
    const listed = (await o.get('/sso-connections')).json.data;
    expect([(await o.get(path)).json, ...listed]).toEqual([json, json]);
    const row = await rowOf(o, json.id);
    expect(decryptClientSecret(await keysOf(o), o.id, row as SsoConnectionRow)).toBe(SECRET);
    const changed = await o.patch(path, { name: 'Renamed', enforce: true }, { 'If-Match': '"r1"' });
    expect([changed.status, changed.json.name, changed.json.enforce]).toEqual([200, 'Renamed', true]);
    expect(codeOf(await o.patch(path, { name: 'x' }, { 'If-Match': '"r1"' }))).toEqual([
      412,
      'REVISION_CONFLICT',
    ]);
    expect(asked).toHaveLength(1);
    const log = (await o.get('/audit-log?limit=100')).text;
    const events = (await o.get('/events?limit=100')).text;
    for (const shown of [text, changed.text, log, events, JSON.stringify(listed)])
      expect(shown).not.toContain(SECRET);
    expect(events).toContain('SSO_CHANGED');
    expect((await o.del(path)).status).toBe(204);
    expect((await o.get(path)).status).toBe(404);
  });

  slow('connection: the redirect URI has PUBLIC_URL, whatever Host says', async () => {
    const { browser } = await newOwner();
    const { id } = await made(browser.o);
    const key = await newKey(browser.o, { scopes: ['sso:read'] });
    faults.variables = { PUBLIC_URL: 'https://vault.example.com' };
    faults.isolate++;
    const { json } = await key.o.get(`/sso-connections/${id}`, { Host: 'evil.example.net' });
    expect(json.redirect_uri).toBe('https://vault.example.com/sso/callback');
  });

  slow('connection: only a confirmed owner in a browser session makes, changes or deletes one', async () => {
    const { o, browser } = await newOwner();
    const { id } = await made(browser.o);
    const before = asked.length;
    const admin = await colleague(o, 'admin');
    await admin.confirm();
    const owner = await colleague(o, 'owner');
    await change(o.id, (call) => ({
      status: 200,
      data: null,
      writes: sessionsOf(call, owner).map((row) => revision(call, 'credential', row, { confirmed_at: 0 })),
    }));
    const key = await newKey(o, { scopes: ['*'] });
    const expected: [Caller, unknown[]][] = [
      [o, [403, 'CREDENTIAL_KIND_NOT_ALLOWED']],
      [key.o, [403, 'CREDENTIAL_KIND_NOT_ALLOWED']],
      [admin.o, [403, 'INSUFFICIENT_SCOPE']],
      [owner.o, [403, 'REAUTHENTICATION_REQUIRED']],
      [await newOrg(), [403, 'CREDENTIAL_KIND_NOT_ALLOWED']],
    ];
    for (const [caller, code] of expected) {
      expect(codeOf(await make(caller))).toEqual(code);
      const isOther = caller.id !== o.id;
      if (isOther) continue;
      expect(codeOf(await caller.patch(`/sso-connections/${id}`, { enforce: true }))).toEqual(code);
      expect(codeOf(await caller.del(`/sso-connections/${id}`))).toEqual(code);
    }
    expect(asked).toHaveLength(before);
    expect((await key.o.get(`/sso-connections/${id}`)).status).toBe(200);
    const other = await newOwner();
    expect(codeOf(await other.browser.o.patch(`/sso-connections/${id}`, { jit: true }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  const invalid: [string, object, string][] = [
    ['another kind', { kind: 'ldap' }, 'kind'],
    ['owner as the default role', { default_role: 'owner' }, 'default_role'],
    ['owner by a group', { role_mappings: [{ group: 'g', role: 'owner' }] }, 'role_mappings.0.role'],
    ['no such team', { team_mappings: [{ group: 'g', team_id: 'team_0' }] }, 'team_mappings.0.team_id'],
    ['no such domain', { domains: ['dom_0'] }, 'domains.0'],
    ['no such environment', { default_environments: ['nowhere'] }, 'default_environments.0'],
    [
      'no such environment of a group',
      { role_mappings: [{ group: 'g', role: 'viewer', environments: ['nowhere'] }] },
      'role_mappings.0.environments.0',
    ],
    ['no client secret', { client_secret: undefined }, 'client_secret'],
    ['no scope', { scopes: ['open id'] }, 'scopes.0'],
    ['an unknown field', { endpoint: 'https://x.example.com' }, 'endpoint'],
  ];
  it.each(invalid)('connection: %s is invalid', async (_, more, path) => {
    const { browser } = await newOwner();
    const { status, json } = await make(browser.o, more);
    expect([status, json.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(json.error.details.map((one: { path: string }) => one.path)).toContain(path);
    expect(asked).toEqual([]);
  });

  slow('connection: domains, teams and environments of another organisation are invalid', async () => {
    const { browser } = await newOwner();
    const other = await newOwner();
    const domain = await aDomain(other.browser.o);
    const team = await newTeam(other.browser.o);
    const { id } = await made(browser.o);
    for (const more of [{ domains: [domain] }, { team_mappings: [{ group: 'g', team_id: team }] }]) {
      expect(codeOf(await make(browser.o, more))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await browser.o.patch(`/sso-connections/${id}`, more))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    }
  });

  slow('connection: a domain that is deleted leaves it', async () => {
    const { browser } = await newOwner();
    const domain = await aDomain(browser.o);
    const { id } = await made(browser.o, { domains: [domain] });
    expect((await browser.o.del(`/domains/${domain}`)).status).toBe(204);
    expect((await browser.o.get(`/sso-connections/${id}`)).json.domains).toEqual([]);
  });

  it('connection: another issuer takes its own client secret', async () => {
    const { browser } = await newOwner();
    const { id } = await made(browser.o);
    const other = 'https://other.example.com';
    answer = () => Response.json(documentOf(other));
    const path = `/sso-connections/${id}`;
    const { status, json } = await browser.o.patch(path, { issuer: other });
    expect([status, json.error.details[0].path]).toEqual([400, 'client_secret']);
    expect(asked).toHaveLength(1);
    expect((await browser.o.patch(path, { issuer: other, client_secret: 'new' })).json.issuer).toBe(other);
    const row = (await rowOf(browser.o, id)) as SsoConnectionRow;
    expect(decryptClientSecret(await keysOf(browser.o), browser.o.id, row)).toBe('new');
    // The secret stays with its issuer.
    expect((await browser.o.patch(path, { client_id: 'svc2' })).status).toBe(200);
    expect(asked).toHaveLength(3);
  });
});

describe('the client secret', () => {
  it('client secret: an altered row gives no client secret', async () => {
    const { browser } = await newOwner();
    const { id } = await made(browser.o);
    const other = await made(browser.o);
    const row = (await rowOf(browser.o, id)) as SsoConnectionRow;
    const theirs = (await rowOf(browser.o, other.id)) as SsoConnectionRow;
    const keys = await keysOf(browser.o);
    const issuer = 'https://evil.example.net';
    for (const altered of [
      { ...row, config: { ...row.config, issuer } },
      { ...row, client_secret_sealed: theirs.client_secret_sealed },
      { ...row, org_id: 'org_other' },
    ])
      expect(() => decryptClientSecret(keys, browser.o.id, altered)).toThrow();
  });
});

describe('discovery', () => {
  const document = (more: object) => () => Response.json(documentOf(ISSUER, more));
  const wrong: [string, () => Response | Promise<Response>, unknown[]][] = [
    ['another issuer', document({ issuer: 'https://evil.example.net' }), [400, 'VALIDATION_FAILED']],
    ['a final slash more', document({ issuer: `${ISSUER}/` }), [400, 'VALIDATION_FAILED']],
    ['another case', document({ issuer: ISSUER.toUpperCase() }), [400, 'VALIDATION_FAILED']],
    [
      'a template',
      document({ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }),
      [400, 'VALIDATION_FAILED'],
    ],
    ['no token endpoint', document({ token_endpoint: undefined }), [400, 'VALIDATION_FAILED']],
    ['no keys', document({ jwks_uri: undefined }), [400, 'VALIDATION_FAILED']],
    ['no authorization endpoint', document({ authorization_endpoint: 7 }), [400, 'VALIDATION_FAILED']],
    ['no object', () => Response.json('x'), [400, 'VALIDATION_FAILED']],
    ['no JSON', () => new Response('<html>'), [400, 'VALIDATION_FAILED']],
    ['more than 1 MiB', () => new Response(' '.repeat(1_048_577)), [400, 'VALIDATION_FAILED']],
    [
      'a redirect',
      () => new Response('', { status: 302, headers: { Location: 'http://169.254.169.254/' } }),
      [502, 'TARGET_UNREACHABLE'],
    ],
    ['an error', () => new Response('', { status: 500 }), [502, 'TARGET_UNREACHABLE']],
    ['no connection', () => Promise.reject(new Error('refused')), [502, 'TARGET_UNREACHABLE']],
  ];
  it.each(wrong)('discovery: %s makes no connection', async (_, how, code) => {
    const { browser } = await newOwner();
    answer = how;
    const refused = await make(browser.o);
    expect(codeOf(refused)).toEqual(code);
    if (refused.status === 400) expect(refused.json.error.details[0].path).toBe('issuer');
    expect(asked).toHaveLength(1);
    expect((await browser.o.get('/sso-connections')).json.data).toEqual([]);
  });

  it.each(['authorization_endpoint', 'token_endpoint', 'jwks_uri'])(
    'discovery: a private %s makes no connection',
    async (name) => {
      const { browser } = await newOwner();
      for (const url of [
        'http://login.example.com/x',
        'https://127.0.0.1/x',
        'https://[::1]/x',
        'https://169.254.169.254/latest',
        'https://2130706433/x',
        'https://vault.internal/x',
        'https://login.example.com:22/x',
        'https://a:b@login.example.com/x',
        'https://login.example.com/{tenantid}/x',
        'javascript:alert(1)',
      ]) {
        answer = document({ [name]: url });
        const { status, json } = await make(browser.o);
        expect([url, status, json.error?.details?.[0]?.path]).toEqual([url, 400, 'issuer']);
      }
    },
  );

  slow('discovery: an optional endpoint that is not allowed is left out', async () => {
    const { browser } = await newOwner();
    answer = document({ userinfo_endpoint: 'https://10.0.0.1/x', end_session_endpoint: `${ISSUER}/end` });
    const { id } = await made(browser.o);
    const row = (await rowOf(browser.o, id)) as SsoConnectionRow;
    expect(row.config.provider).toEqual({
      authorization_endpoint: `${ISSUER}/authorize`,
      token_endpoint: `${ISSUER}/token`,
      jwks_uri: `${ISSUER}/keys`,
      end_session_endpoint: `${ISSUER}/end`,
      authorization_response_iss_parameter_supported: true,
    });
  });

  slow('discovery: hostile issuers are refused and not asked', async () => {
    const { browser } = await newOwner();
    for (const issuer of [
      ...hostileTargets,
      'https://login.microsoftonline.com/{tenantid}/v2.0',
      `${ISSUER}?x=1`,
      `${ISSUER}#x`,
    ]) {
      const { status, json } = await make(browser.o, { issuer });
      expect([issuer, status, json.error?.details?.[0]?.path]).toEqual([issuer, 400, 'issuer']);
    }
    expect(asked).toEqual([]);
  });

  slow('discovery: a provider that does not answer in ten seconds is a TARGET_TIMEOUT', async () => {
    const { browser } = await newOwner();
    const real = AbortSignal.timeout.bind(AbortSignal);
    const waits: number[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      waits.push(ms);
      return real(Math.min(ms, 50));
    });
    answer = (_, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    expect(codeOf(await make(browser.o))).toEqual([504, 'TARGET_TIMEOUT']);
    expect(waits).toEqual([10_000]);
  });

  it('discovery: a connection that changed meanwhile is configured by its newest row', async () => {
    const { browser } = await newOwner();
    const { id } = await made(browser.o);
    const path = `/sso-connections/${id}`;
    let isFirst = true;
    answer = async () => {
      if (isFirst) {
        isFirst = false;
        await browser.o.patch(path, { scopes: ['openid', 'email'] });
      }
      return Response.json(documentOf(ISSUER));
    };
    const { status, json } = await browser.o.patch(path, { client_id: 'svc2' });
    expect([status, json.scopes, json.client_id]).toEqual([200, ['openid', 'email'], 'svc2']);
  });
});

describe('what a connection gives', () => {
  /** An owner who asks, another who may decide, and a policy. */
  async function office(operations: string[], config: object = {}) {
    const { o, browser } = await newOwner();
    const other = await colleague(o, 'owner');
    await newApprovalPolicy(o, operations, { config });
    await settle(o);
    await browser.confirm();
    return { o, browser, other };
  }
  const held = [403, 'APPROVAL_REQUIRED'];

  it('held connection: giving a deciding role is held by every approval policy', async () => {
    const { browser, other } = await office(['secret.delete']);
    expect((await make(browser.o)).status).toBe(201);
    for (const more of [
      { default_role: 'admin' },
      { role_mappings: [{ group: 'g', role: 'admin', environments: ['development'] }] },
    ])
      expect(codeOf(await make(browser.o, more))).toEqual(held);
    const sent = fields({ default_role: 'admin' });
    const { id } = approvalIn(await browser.o.post('/sso-connections', sent));
    const shown = (await other.o.get(`/approvals/${id}`)).json;
    expect(JSON.stringify(shown)).toContain('admin');
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    await other.confirm();
    expect((await other.o.post(`/approvals/${id}/approve`)).status).toBe(200);
    expect((await browser.o.post('/sso-connections', sent, { 'Approval-Id': id })).status).toBe(201);
  });

  slow('held connection: so is changing who gets it, but not what gives nothing more', async () => {
    const { browser, o } = await office(['secret.delete']);
    const { id } = await made(browser.o);
    await change(o.id, (call) => ({
      status: 200,
      data: null,
      writes: [
        revision(call, 'sso_connection', call.core.rows.get('sso_connection', id) as SsoConnectionRow, {
          role_mappings: [{ group: 'admins', role: 'admin' }],
        }),
      ],
    }));
    const path = `/sso-connections/${id}`;
    const domain = await aDomain(browser.o);
    for (const more of [
      { domains: [domain] },
      { jit: true },
      { client_id: 'another' },
      { groups_claim: 'roles' },
      { role_mappings: [{ group: 'everybody', role: 'admin' }] },
      { default_role: 'admin' },
    ])
      expect([more, codeOf(await browser.o.patch(path, more))]).toEqual([more, held]);
    for (const more of [
      { name: 'x' },
      { enforce: true },
      { client_secret: 'rotated' },
      {
        role_mappings: [
          { group: 'admins', role: 'admin' },
          { group: 'd', role: 'developer' },
        ],
      },
      { role_mappings: [] },
    ])
      expect([more, (await browser.o.patch(path, more)).status]).toEqual([more, 200]);
    expect((await browser.o.del(path)).status).toBe(204);
  });

  slow('held connection: a place in an approving team, and membership where a policy holds it', async () => {
    const { o, browser } = await newOwner();
    const other = await colleague(o, 'owner');
    const team = await newTeam(o, other.member.id);
    await settle(o);
    await newApprovalPolicy(o, ['secret.delete'], { config: { approvers: { team_id: team } } });
    const team_mappings = [{ group: 'g', team_id: team }];
    expect(codeOf(await make(browser.o, { team_mappings }))).toEqual(held);
    expect((await make(browser.o)).status).toBe(201);
    await newApprovalPolicy(o, ['member.change'], { name: 'members' });
    expect(codeOf(await make(browser.o))).toEqual(held);
  });

  it('tied connection: whoever made or changed it is tied to those who belong to it', async () => {
    const { o, browser } = await newOwner();
    const second = await colleague(o, 'owner');
    const { id } = await made(browser.o);
    const row = (await rowOf(o, id)) as SsoConnectionRow;
    expect(row.changed_by?.map(([by]) => by)).toEqual([browser.member.id]);
    await second.confirm();
    expect((await second.o.patch(`/sso-connections/${id}`, { name: 'x' })).status).toBe(200);
    expect((await rowOf(o, id))?.changed_by).toEqual(row.changed_by);
    expect((await second.o.patch(`/sso-connections/${id}`, { jit: true })).status).toBe(200);
    expect((await rowOf(o, id))?.changed_by?.map(([by]) => by).sort()).toEqual(
      [browser.member.id, second.member.id].sort(),
    );
    // A member of the connection, as a sign-in makes one.
    const bob = (await newMember(o, 'viewer')).id;
    const provisioned = { made: true, connection: id, role: true, groups: [], scim: null };
    await settle(o);
    await change(o.id, (call) => ({
      status: 200,
      data: null,
      writes: [revision(call, 'member', call.core.rows.get('member', bob) as MemberRow, { provisioned })],
    }));
    for (const owner of [browser, second])
      expect(await inCore(o, (core) => tiesOf(core, Date.now()).tied(owner.member.id, bob))).toBe(true);
    const WEEK = 7 * 86_400_000;
    expect(await inCore(o, (core) => tiesOf(core, Date.now() + WEEK).tied(second.member.id, bob))).toBe(
      false,
    );
  });
});

describe('what ends with a connection', () => {
  slow('deleted connection: its sessions end with the reply, others stay', async () => {
    const { o, browser } = await newOwner();
    const { id } = await made(browser.o);
    const bob = await colleague(o, 'developer');
    const session = (await bob.o.get('')).status;
    expect(session).toBe(200);
    await begunBy(o, bob, id);
    expect((await bob.whoami()).status).toBe(200);
    expect((await browser.o.del(`/sso-connections/${id}`)).status).toBe(204);
    expect(codeOf(await bob.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await bob.refresh()).status).toBe(401);
    expect((await browser.whoami()).status).toBe(200);
  });
});

/** The sessions of whoever uses a browser. */
const sessionsOf = ({ core }: Call<unknown>, { member }: Browser) =>
  core.rows.after('credential', 'ses_', 100).filter((row) => row.member_id === member.id);

/** The session of a browser as if a connection had begun it. */
const begunBy = (o: Caller, browser: Browser, connection: string) =>
  change(o.id, (call) => ({
    status: 200,
    data: null,
    writes: [
      insertion(call, 'sso_link', {
        org_id: o.id,
        id: `lnk_${browser.member.id}`,
        member_id: browser.member.id,
        connection_id: connection,
        issuer: 'https://login.example.com',
        subject: 'bob',
        created_at: Date.now(),
      }),
      ...sessionsOf(call, browser).map((row) =>
        revision(call, 'credential', row, {
          sso: { connection, link: `lnk_${browser.member.id}`, sid: null },
        }),
      ),
    ],
  }));
