// Scans over HTTP: known formats, our own tokens, and values of stored secrets within the caller's reach.
import { type Schema, Validator } from '@cfworker/json-schema';
import { describe, expect, it } from 'vitest';
import { newToken } from '../../../src/auth/authentication/token';
import { newAgent, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newLink, view } from '../../support/shares';
import { newSignedIn } from '../../support/signin/browser';
import { newTerminal, signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import sarifSchema from '../../support/vectors/sarif-2.1.0.json';
import {
  type Caller,
  callerOf,
  codeOf,
  newOrg,
  newSecret,
  send,
  useWorld,
  whoami,
} from '../../support/world';

useWorld();

const AWS = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');

interface Finding {
  rule: string;
  path: string | null;
  line: number;
  column: number;
  preview: string;
  fingerprint: string;
  secret_id?: string;
  secret_name?: string;
  environment?: string;
  live?: boolean;
  credential_id?: string;
  is_caller?: boolean;
  revoked?: boolean;
}

const scan = async (o: Caller, body: object | string, query = '') => {
  const answer = await o.post(`/scans${query}`, typeof body === 'string' ? { text: body } : body);
  expect([answer.status, answer.json?.error?.code]).toEqual([201, undefined]);
  return answer.json as { id: string; findings: Finding[]; truncated: boolean };
};

const leaks = (o: Caller) =>
  inCore(o, ({ outbox }) => outbox.oldest(1000).filter(({ type }) => type === 'SECRET_LEAKED'));
const entries = async (o: Caller) => (await o.get('/audit-log?action=scan.create')).json.data;

describe('scan', () => {
  it('known format: is found in text and in files, with its place and a redacted preview', async () => {
    const o = await newOrg();
    const text = await scan(o, `first line\n  key = "${AWS}"\n`);
    expect(text).toEqual({
      id: expect.stringMatching(/^scn_/),
      findings: [
        {
          rule: 'aws-access-key-id',
          path: null,
          line: 2,
          column: 10,
          preview: 'AKIA…(20)',
          fingerprint: expect.any(String),
        },
      ],
      truncated: false,
    });
    const { findings } = await scan(o, {
      files: [
        { path: 'a.txt', content: 'nothing' },
        { path: 'b/c.env', content: `X=${AWS}` },
      ],
    });
    expect(findings).toMatchObject([
      { rule: 'aws-access-key-id', path: 'b/c.env', line: 1, column: 3, preview: 'AKIA…(20)' },
    ]);
  });

  slow('scope: scans:write is needed, and nothing else', async () => {
    const o = await newOrg();
    const writer = await newKey(o, { scopes: ['scans:write'] });
    expect((await scan(writer.o, AWS)).findings).toHaveLength(1);
    const reader = await newKey(o, { scopes: ['scans:read', 'secrets:read'] });
    expect(codeOf(await reader.o.post('/scans', { text: AWS }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const other = await newOrg();
    expect(codeOf(await other.call('POST', '/scans', { text: AWS }))).toEqual([201, undefined]);
    expect(
      codeOf(await send('POST', `/api/v1/orgs/${o.id}/scans`, { token: other.token, body: { text: AWS } })),
    ).toEqual([404, 'NOT_FOUND']);
  });

  slow('validation: text or files, not both, and no others', async () => {
    const o = await newOrg();
    for (const body of [
      {},
      { text: 'a', files: [{ path: 'a', content: '' }] },
      { files: [] },
      { text: 1 },
      { text: 'a', more: 1 },
    ])
      expect(codeOf(await o.post('/scans', body)), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await o.post('/scans?format=xml', { text: '' }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await o.post('/scans', { text: 'a'.repeat(1_048_577) }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
    expect((await scan(o, '')).findings).toEqual([]);
  });

  slow('stored value: is found anywhere in the text, with the secret that has it', async () => {
    const o = await newOrg();
    const value = 'correct horse battery';
    const { id } = await newSecret(o, { name: 'A', value });
    const pem = [
      '-----BEGIN CERTIFICATE-----',
      'bm90IGEga2V5IGF0IGFsbA==',
      '-----END CERTIFICATE-----',
      '',
    ].join('\n');
    const block = await newSecret(o, { name: 'B', value: pem });
    const { findings } = await scan(o, {
      files: [
        { path: '.env', content: `A=1\nPASS=${value}\nOTHER="${value}"\n` },
        { path: 'x.json', content: JSON.stringify({ pem }) },
        { path: 'x.pem', content: `before\n${pem}after` },
      ],
    });
    expect(
      findings.map(({ rule, path, line, column, secret_id, preview }) => [
        rule,
        path,
        line,
        column,
        secret_id,
        preview,
      ]),
    ).toEqual([
      ['stored-secret', '.env', 2, 6, id, '…(21)'],
      ['stored-secret', '.env', 3, 8, id, '…(21)'],
      ['stored-secret', 'x.json', 1, 9, block.id, `…(${pem.length})`],
      ['stored-secret', 'x.pem', 2, 1, block.id, `…(${pem.length})`],
    ]);
    // A value that has a known format is one finding.
    const aws = await newSecret(o, { name: 'C', value: AWS });
    expect((await scan(o, `key ${AWS}`)).findings).toMatchObject([
      { rule: 'aws-access-key-id', secret_id: aws.id },
    ]);
  });

  slow('stored value: a finding names the secret and its environment', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'billing/KEY', value: 'a-value-with-a-name', environment: 'staging' });
    expect((await scan(o, 'a-value-with-a-name')).findings).toMatchObject([
      { secret_name: 'billing/KEY', environment: 'staging' },
    ]);
  });

  slow('stored value: an ordinary word is not a finding, in any case or place', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'STAGE', value: 'development' });
    await newSecret(o, { name: 'NEAR', value: 'development1' });
    const { findings } = await scan(
      o,
      '{ "environment": "development" }\nSTAGE=Development\ndevelopment\nX=development1\n',
    );
    expect(findings).toMatchObject([{ secret_name: 'NEAR', line: 4 }]);
  });

  slow('allowed line: findings on a line with svc:allow are left out, and raise no event', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'a-value-in-a-test' });
    const text = `${AWS} # svc:allow\n"a-value-in-a-test" // svc:allow\n${o.token} svc:allow\n`;
    expect((await scan(o, text)).findings).toEqual([]);
    expect(await leaks(o)).toEqual([]);
    expect((await scan(o, `${text}a-value-in-a-test\nsvc:allow\n`)).findings).toMatchObject([
      { secret_name: 'A', line: 4 },
    ]);
  });

  it('fingerprint: is the same wherever the same is found, and tells nothing to another organisation', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const of = async (at: Caller, text: string) =>
      (await scan(at, text)).findings.map(({ fingerprint }) => fingerprint);
    const [first] = await of(o, `x ${AWS}`);
    expect(await of(o, `\n\n${AWS} and ${AWS.replace('Y3', 'Z3')}`)).toEqual([
      first,
      expect.not.stringMatching(first as string),
    ]);
    expect(await of(other, AWS)).not.toEqual([first]);
  });

  it('stored value: only current ones of 8 characters or more, of active secrets', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'value-number-one' });
    await newSecret(o, { name: 'SHORT', value: '1234567' });
    await newSecret(o, { name: 'WIDE', value: '😀😀😀😀' });
    const gone = await newSecret(o, { name: 'GONE', value: 'value-of-deleted' });
    await o.del(`/secrets/${gone.id}`);
    await newSecret(o, { name: 'LATE', value: 'value-of-expired', ttlSeconds: 60 });
    await o.patch(`/secrets/${id}`, { value: 'value-number-two' });
    faults.clock = Date.now() + 120_000;
    const { findings } = await scan(
      o,
      'value-number-one value-number-two 1234567 😀😀😀😀 value-of-deleted value-of-expired',
    );
    expect(findings).toMatchObject([{ secret_id: id, column: 18 }]);
  });

  it('stored value: a secret that the caller may not read is not reported', async () => {
    const o = await newOrg();
    const inside = await newSecret(o, { name: 'app/A', value: 'the-same-value-twice' });
    await newSecret(o, { name: 'other/A', value: 'the-same-value-twice' });
    await newSecret(o, { name: 'other/B', value: 'a-value-of-another' });
    const limited = await newKey(o, { scopes: ['scans:write', 'secrets:read'], secrets: ['app/*'] });
    expect(
      (await scan(limited.o, 'the-same-value-twice a-value-of-another')).findings.map(
        ({ secret_id }) => secret_id,
      ),
    ).toEqual([inside.id]);
    const lister = await newKey(o, { scopes: ['scans:write', 'secrets:list', 'secrets:write'] });
    expect((await scan(lister.o, 'the-same-value-twice')).findings).toEqual([]);
    expect(await leaks(o)).toHaveLength(1);
    // Another organisation's digests have another key, and its rows another gate.
    expect((await scan(await newOrg(), 'the-same-value-twice')).findings).toEqual([]);
  });

  it('approval policy: a secret whose read needs approval is not found', async () => {
    const { o } = await newOffice();
    const held = await newSecret(o, { name: 'prod/A', value: 'a-value-that-is-held' });
    const free = await newSecret(o, { name: 'dev/A', value: 'a-value-that-is-free' });
    const text = 'a-value-that-is-held a-value-that-is-free';
    expect((await scan(o, text)).findings).toHaveLength(2);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['prod/*'] } });
    expect((await o.get(`/secrets/${held.id}`)).status).toBe(403);
    expect((await scan(o, text)).findings.map(({ secret_id }) => secret_id)).toEqual([free.id]);
  });
});

describe('scan: tokens of this service', () => {
  it('own token: says whether it is live, and names the credential to callers who may read tokens', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['secrets:read'] });
    const dead = await newKey(o);
    await o.del(`/api-keys/${dead.id}`);
    const text = [
      key.token,
      dead.token,
      `svc_live_${'0'.repeat(66)}`,
      key.token.replace(/.$/, (c) => (c === 'a' ? 'b' : 'a')),
    ].join('\n');
    const { findings } = await scan(o, text);
    expect(findings).toEqual([
      {
        rule: 'svc-token',
        path: null,
        fingerprint: expect.any(String),
        line: 1,
        column: 1,
        preview: `svc_…(${key.token.length})`,
        live: true,
        credential_id: key.id,
      },
      {
        rule: 'svc-token',
        path: null,
        fingerprint: expect.any(String),
        line: 2,
        column: 1,
        preview: `svc_…(${dead.token.length})`,
        live: false,
        credential_id: dead.id,
      },
    ]);
    const writer = await newKey(o, { scopes: ['scans:write'] });
    expect((await scan(writer.o, key.token)).findings[0]).toEqual({
      rule: 'svc-token',
      path: null,
      fingerprint: expect.any(String),
      line: 1,
      column: 1,
      preview: `svc_…(${key.token.length})`,
      live: true,
    });
  });

  it('token of another organisation: nothing but that it is one', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { findings } = await scan(o, { text: other.token, revoke_live: true });
    expect(findings).toEqual([
      {
        rule: 'svc-token',
        path: null,
        line: 1,
        column: 1,
        preview: `svc_…(${other.token.length})`,
        fingerprint: expect.any(String),
      },
    ]);
    expect((await whoami(other)).status).toBe(200);
  });

  it('forged token: one of the right form without its tag is no finding', async () => {
    const o = await newOrg();
    const forged = newToken('api_key', o.id, new Uint8Array(32)).token;
    expect((await scan(o, forged)).findings.filter(({ rule }) => rule === 'svc-token')).toEqual([]);
  });

  slow(
    'revoke_live: revokes each kind by its own operation, the calling credential last, and says so',
    async () => {
      const o = await newOrg();
      const key = await newKey(o);
      const session = await newSession(key.o);
      const agent = await newAgent(o);
      const provider = await newProvider(o);
      const text = [o.token, session.token, agent.token.replace('svcag_', 'svc_agent_'), provider.token].join(
        ' ',
      );
      const quiet = await scan(o, text);
      expect(quiet.findings.map(({ live, revoked }) => [live, revoked])).toEqual(
        Array(4).fill([true, undefined]),
      );
      const { findings } = await scan(o, { text, revoke_live: true });
      expect(findings.map(({ live, revoked, is_caller }) => [live, revoked, is_caller])).toEqual([
        [true, true, true],
        [true, true, undefined],
        [true, true, undefined],
        [true, true, undefined],
      ]);
      for (const one of [o, session, agent]) expect((await whoami(one)).status).toBe(401);
      expect((await whoami(key)).status).toBe(200);
      const actions = (await key.o.get('/audit-log')).json.data.map(
        ({ action }: { action: string }) => action,
      );
      for (const action of ['api_key.revoke', 'access_token.revoke', 'agent.revoke', 'provider_token.revoke'])
        expect(actions).toContain(action);
      // Again: nothing of it is live.
      expect(
        (await scan(key.o, { text, revoke_live: true })).findings.map(({ live, revoked }) => [live, revoked]),
      ).toEqual(Array(4).fill([false, undefined]));
    },
  );

  it('revoke_live: needs tokens:write, and does nothing without', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const writer = await newKey(o, { scopes: ['scans:write', 'tokens:read'] });
    expect(codeOf(await writer.o.post('/scans', { text: key.token, revoke_live: true }))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect((await whoami(key)).status).toBe(200);
  });

  slow('revoke_live: a session token that finds its key ends both with one call', async () => {
    const o = await newOrg();
    const session = await newSession(o);
    const { findings } = await scan(session.o, { text: `${session.token} ${o.token}`, revoke_live: true });
    expect(findings.map(({ live, revoked, is_caller }) => [live, revoked, is_caller])).toEqual(
      Array(2).fill([true, true, true]),
    );
    for (const one of [o, session]) expect((await whoami(one)).status).toBe(401);
  });

  slow('share link: its key is live until the link ends, and is revoked with it', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    const link = await newLink(o, secret.id, { max_views: 1 });
    const other = await newLink(o, secret.id);
    const { findings } = await scan(o, `see ${link.url}`);
    expect(findings).toEqual([
      {
        rule: 'svc-token',
        path: null,
        line: 1,
        column: expect.any(Number),
        preview: 'svcs…(75)',
        fingerprint: expect.any(String),
        live: true,
      },
    ]);
    expect((await view(link)).status).toBe(200);
    expect((await scan(o, link.url)).findings).toMatchObject([{ rule: 'svc-token', live: false }]);
    const weak = await newKey(o, { scopes: ['scans:write', 'tokens:write'] });
    expect((await scan(weak.o, { text: other.url, revoke_live: true })).findings).toMatchObject([
      { live: true, revoked: false },
    ]);
    expect((await view(other)).status).toBe(200);
    expect((await scan(o, { text: other.url, revoke_live: true })).findings).toMatchObject([
      { live: true, revoked: true },
    ]);
    expect((await view(other)).status).toBe(410);
    expect((await scan(await newOrg(), other.url)).findings[0]).not.toHaveProperty('live');
  });

  slow('enrolment link: its token is live until it is used or has expired', async () => {
    const o = await newOrg();
    const { enrolment_url } = (
      await o.post('/members', { email: 'bob@example.com', name: 'Bob', role: 'viewer' })
    ).json;
    expect((await scan(o, `join: ${enrolment_url}`)).findings).toMatchObject([
      { rule: 'svc-token', live: true },
    ]);
    faults.clock = Date.now() + 60 * DAY;
    expect((await scan(o, enrolment_url)).findings).toMatchObject([{ rule: 'svc-token', live: false }]);
  });
});

describe('scan: tokens of terminals', () => {
  const signedIn = async () => {
    const { o, browser } = await newSignedIn();
    return { o, browser, terminal: await signInTerminal(browser) };
  };

  it('refresh token: is live until it has been used, and its member alone can end the session', async () => {
    const { o, browser, terminal } = await signedIn();
    const used = terminal.refreshToken;
    await terminal.refresh();
    const text = `old ${used}\nnew="${terminal.refreshToken}"\n${terminal.refreshToken.replace(/\.\d+\./, '.9.')}`;
    const { findings } = await scan(o, text);
    const [id] = /ses_\w{22}/.exec(used) ?? [];
    const place = {
      rule: 'svc-token',
      path: null,
      preview: `svcr…(${used.length})`,
      fingerprint: expect.any(String),
      credential_id: id,
    };
    expect(findings).toEqual([
      { ...place, line: 1, column: 5, live: false },
      { ...place, line: 2, column: 6, live: true },
    ]);
    expect((await scan(await newOrg(), text)).findings.map((found) => 'live' in found)).toEqual([
      false,
      false,
    ]);
    const byKey = await scan(o, { text, revoke_live: true });
    expect(byKey.findings.map(({ live, revoked }) => [live, revoked])).toEqual([
      [false, undefined],
      [true, false],
    ]);
    expect((await terminal.whoami()).status).toBe(200);
    const byMember = await scan(callerOf(o.id, browser.token), { text, revoke_live: true });
    expect(byMember.findings.map(({ live, revoked }) => [live, revoked])).toEqual([
      [false, undefined],
      [true, true],
    ]);
    expect((await terminal.whoami()).status).toBe(401);
    expect(codeOf(await terminal.refresh())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await scan(o, text)).findings.map(({ live }) => live)).toEqual([false, false]);
  });

  slow('refresh token: one that its own terminal finds is the caller’s', async () => {
    const { terminal } = await signedIn();
    const { findings } = await scan(terminal.o, { text: terminal.refreshToken, revoke_live: true });
    expect(findings).toMatchObject([{ live: true, is_caller: true, revoked: true }]);
    expect((await terminal.whoami()).status).toBe(401);
  });

  slow('device code: is found and is nobody’s, and one without its tag is none', async () => {
    const terminal = newTerminal();
    await terminal.start();
    const { device_code } = terminal.codes;
    const text = `${device_code} ${device_code.replace(/.{4}$/, 'AAAA')} svcref_org_${'0'.repeat(22)}.ses_${'0'.repeat(22)}.1.${'A'.repeat(43)}`;
    const { findings } = await scan(await newOrg(), { text, revoke_live: true });
    expect(findings.filter(({ rule }) => rule === 'svc-token')).toEqual([
      {
        rule: 'svc-token',
        path: null,
        line: 1,
        column: 1,
        preview: `svcd…(${device_code.length})`,
        fingerprint: expect.any(String),
      },
    ]);
  });
});

describe('scan: SECRET_LEAKED', () => {
  it('is raised once a day for each place, with the id of the secret and nothing of the text', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'a-value-that-leaked' });
    const file = (path: string, content: string) => ({ files: [{ path, content }] });
    const first = await scan(o, file('a.txt', 'x=a-value-that-leaked'));
    const [leak, ...others] = await leaks(o);
    expect(others).toEqual([]);
    expect(leak?.data).toEqual({
      secret_id: id,
      name: 'A',
      environment: 'production',
      version: 1,
      scan_id: first.id,
      places: 1,
    });
    // The same line of the same file, wherever it stands, is the same place.
    await scan(o, file('a.txt', '\n\nx=a-value-that-leaked\n'));
    expect(await leaks(o)).toHaveLength(1);
    await scan(o, file('b.txt', 'x=a-value-that-leaked'));
    await scan(o, file('a.txt', 'y=a-value-that-leaked'));
    expect(await leaks(o)).toHaveLength(3);
    faults.clock = Date.now() + DAY + 1000;
    await scan(o, file('a.txt', 'x=a-value-that-leaked\nz=a-value-that-leaked'));
    expect((await leaks(o)).map(({ data }) => data.places)).toEqual([1, 1, 1, 2]);
    expect(await inCore(o, ({ storage }) => storage.sql.exec('select count(*) n from leaks').one().n)).toBe(
      2,
    );
  });
});

describe('scan: interrupted', () => {
  slow('reply lost: the repeat answers, and raises the leak once', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'a-value-that-leaked' });
    for (const lost of [1, 2, 3]) {
      faults.gate = 0;
      faults.rpc = (n) => (n === lost ? { fate: 'after', retryable: true } : null);
      expect((await scan(o, 'x=a-value-that-leaked')).findings).toMatchObject([{ secret_id: id }]);
      faults.rpc = null;
      expect(await leaks(o), `reply ${lost}`).toHaveLength(1);
    }
  });
});

describe('scan: audit log', () => {
  slow('holds one entry for each scan, with counts', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'a-value-that-leaked' });
    const { id } = await scan(o, `${AWS} a-value-that-leaked ${o.token}`);
    expect(await entries(o)).toMatchObject([
      { resource: id, status: 201, findings: { known: 1, secrets: 1, tokens: 1 } },
    ]);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });
});

/** What is wrong with a log by the schema of SARIF 2.1.0, as SchemaStore publishes it. */
const problemsOf = (log: object) =>
  new Validator(sarifSchema as Schema, '4', false)
    .validate(log)
    .errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);

describe('scan: SARIF', () => {
  slow('format=sarif: the response is valid by the schema, for all kinds of findings and paths', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'a-value-that-leaked' });
    const key = await newKey(o);
    const content = `${AWS} a-value-that-leaked ${key.token} ${(await newOrg()).token}`;
    const paths = [
      'a.txt',
      '/etc/a b',
      'C:\\x',
      'a:b',
      '//host/x',
      '../x?#%',
      'ü/\u{1f600}',
      ' ',
      '.',
      'x'.repeat(1024),
    ];
    const bodies = [
      { text: 'nothing here' },
      { text: content },
      { files: paths.map((path) => ({ path, content })) },
      { text: content, revoke_live: true },
    ];
    for (const body of bodies) {
      const { status, json } = await o.post('/scans?format=sarif', body);
      expect([status, problemsOf(json)]).toEqual([201, []]);
      for (const { locations } of json.runs[0].results) {
        const { uri } = locations[0].physicalLocation.artifactLocation;
        expect(new URL(uri, 'https://repository.example/').host, uri).toBe('repository.example');
      }
    }
    expect(problemsOf({ version: '2.1.0', runs: [{ tool: {} }] })).not.toEqual([]);
  });

  slow('format=sarif: answers SARIF 2.1.0', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'a-value-that-leaked' });
    const answer = await o.post('/scans?format=sarif', {
      files: [{ path: 'dir a/b.txt', content: `${AWS}\n a-value-that-leaked` }],
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([201, 'application/sarif+json']);
    const [run] = answer.json.runs;
    expect(answer.json.version).toBe('2.1.0');
    expect(run.tool.driver.rules.map((rule: { id: string }) => rule.id)).toEqual([
      'aws-access-key-id',
      'stored-secret',
    ]);
    expect(run.results).toMatchObject([
      {
        ruleId: 'aws-access-key-id',
        ruleIndex: 0,
        level: 'error',
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: 'dir%20a/b.txt' },
              region: { startLine: 1, startColumn: 1, endLine: 1, endColumn: 21 },
            },
          },
        ],
      },
      { ruleId: 'stored-secret', properties: { secret_id: id, preview: '…(19)' } },
    ]);
    expect(answer.text).not.toContain(AWS);
    expect(answer.text).not.toContain('a-value-that-leaked');
  });

  it('format=sarif: a fingerprint stays when lines before it change, differs for each finding, and is not made of the value', async () => {
    const o = await newOrg();
    const other = ['AKIA', 'Y3M2XTF6BQ4LZWNF'].join('');
    const marks = async (content: string, path = 'a.txt') => {
      const { json } = await o.post('/scans?format=sarif', { files: [{ path, content }] });
      return json.runs[0].results.map(
        (result: { partialFingerprints: Record<string, string> }) =>
          result.partialFingerprints['svcFinding/v1'],
      );
    };
    const first = await marks(`${AWS}\n${AWS}\n`);
    expect(new Set(first).size).toBe(2);
    expect(await marks(`\n\nmore\n  ${AWS} ${AWS}`)).toEqual(first);
    expect(await marks(`${other}\n${other}\n`)).toEqual(first);
    expect(await marks(AWS, 'b.txt')).not.toEqual(first.slice(0, 1));
  });

  slow('format=sarif: it has what GitHub code scanning requires, and says what was left out', async () => {
    const o = await newOrg();
    const { json } = await o.post('/scans?format=sarif', { text: AWS });
    const [rule] = json.runs[0].tool.driver.rules;
    for (const field of ['shortDescription', 'fullDescription', 'help'])
      expect(rule[field].text).toMatch(/^[A-Z].+/);
    expect(json.runs[0].invocations[0].toolExecutionNotifications).toEqual([]);
    const cut = await o.post('/scans?format=sarif', { text: `${AWS}\n`.repeat(1001) });
    expect([cut.json.runs[0].invocations[0].toolExecutionNotifications.length, problemsOf(cut.json)]).toEqual(
      [1, []],
    );
  });
});
