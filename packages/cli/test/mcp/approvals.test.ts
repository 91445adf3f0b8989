// Approvals of svc mcp: one that was given for a call is spent on that call alone, and deciders are shown
// what it is.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts of children are texts here.

import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { call, newOrg, settle } from '../../../../test/packages/vault.mjs';
import { isReasonOf, callOf as newCall, reasonOfCall, textOfCall } from '../../src/mcp/calls.ts';
import { Machine } from '../harness.ts';
import { type Agent, type Echo, mcp, startEcho } from './client.ts';

const VALUE = 'correct-horse-battery';
let machine: Machine;
let agent: Agent;
let echo: Echo;
/** Beside a vault of an earlier release, which ignores X-Access-Call. */
let older: Agent;
let earlier: http.Server;
let token: string;
let second: string;
let owner: string;
let at: { url: string; org: string; key: string };
/** A secret of its own for each test, so that no approval is left from another. */
let held: string;
let count = 0;

const api = (method: string, way: string, body?: unknown, by = at.key) =>
  call(at.url, by, method, `/orgs/${at.org}${way}`, body);
const decide = (id: string, how: 'approve' | 'reject', body = {}) =>
  api('POST', `/approvals/${id}/${how}`, body, owner);
const reasonOf = async (id: string): Promise<string> => (await api('GET', `/approvals/${id}`)).request.reason;
const callOf = async (id: string): Promise<string | undefined> =>
  (await api('GET', `/approvals/${id}`, undefined, owner)).shown.find(
    ({ name }: { name: string }) => name === 'Call',
  )?.value;
const idOf = (text: string): string => /apr_\w+/.exec(text)?.[0] ?? '';

beforeAll(async () => {
  const made = await newOrg(inject('vaultUrl'));
  at = made;
  owner = (await signedInTerminal(at.url, made.enrolmentUrl)).browser.token;
  const member = await api('POST', '/members', { email: 'dev@example.com', name: 'Dev', role: 'developer' });
  const { session } = await signedInTerminal(at.url, member.enrolment_url);
  settle(inject('vaultState'), at.org);
  for (const name of [
    'HELD_1',
    'HELD_2',
    'HELD_3',
    'HELD_4',
    'HELD_5',
    'HELD_6',
    'HELD_7',
    'HELD_8',
    'HELD_9',
    'HELD_10',
    'HELD_11',
    'FREE',
  ])
    await api('POST', '/secrets', {
      name,
      type: 'generic',
      value: `${VALUE}-${name}`,
      environment: 'staging',
    });
  await api('POST', '/policies', {
    name: 'four eyes',
    kind: 'approval',
    applies_to: { environments: ['staging'], names: ['HELD_*'] },
    config: {
      operations: ['secret.read', 'secret.rotate'],
      required: 1,
      approvers: { role: 'owner' },
      max_valid_seconds: 600,
    },
  });
  const credential = {
    name: 'held',
    scopes: ['secrets:read', 'secrets:rotate'],
    environments: ['staging'],
    ttlSeconds: 3600,
  };
  ({ token } = await api('POST', '/agent-credentials', credential, session.token));
  machine = new Machine({ SVC_URL: at.url, SVC_ORG_ID: at.org, SVC_ENVIRONMENT: 'staging' });
  fs.mkdirSync(path.join(machine.work, 'sub'));
  echo = await startEcho();
  const flags = ['--allow-run', '--allow-read', '--allow-host', echo.host];
  agent = await mcp(machine, flags, { SVC_TOKEN: token });
  earlier = http.createServer(({ method, url, headers: { 'x-access-call': _, ...headers } }, response) => {
    const request = http.request(new URL(url ?? '', at.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.end();
  });
  await new Promise<void>((done) => earlier.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(earlier.address() as AddressInfo).port}`;
  // With limits of its own.
  ({ token: second } = await api(
    'POST',
    '/agent-credentials',
    { ...credential, name: 'older' },
    session.token,
  ));
  older = await mcp(machine, flags, { SVC_TOKEN: second, SVC_URL: url });
});
beforeEach(() => {
  held = `HELD_${++count}`;
});
afterAll(async () => {
  await agent?.close();
  await older?.close();
  earlier?.close();
  echo?.close();
});

const using = (more: object = {}) => ({ env: { A: `{{svc:${held}}}` }, ...more });

describe('approval', () => {
  it('approval: a held call does nothing and names the approval; once approved, the same call uses it, once', async () => {
    const env = { A: `{{svc:${held}}}`, B: '{{svc:FREE}}' };
    const command = ['sh', '-c', 'echo ran >> ran; echo "$A"'];
    const before = await agent.run(command, { env });
    expect(before.isError).toBe(true);
    const id = idOf(before.text);
    expect(fs.existsSync(path.join(machine.work, 'ran'))).toBe(false);
    expect((await agent.call('wait_for_approval', { approval_id: id, timeout_seconds: 1 })).json.status).toBe(
      'pending',
    );
    await decide(id, 'approve');
    expect((await agent.call('wait_for_approval', { approval_id: id })).json).toMatchObject({
      status: 'approved',
      approvals: '1 of 1',
    });
    expect((await agent.run(command, { env, timeout_seconds: 20 })).text).toContain(`[svc:${held}]`);
    expect((await agent.run(command, { env })).text).toContain('APPROVAL_REQUIRED');
    expect(fs.readFileSync(path.join(machine.work, 'ran'), 'utf8')).toBe('ran\n');
  });

  it('approval: deciders are shown the whole call, and so is the agent', async () => {
    const { text } = await agent.run(
      ['sh', '-c', 'echo "ü"\n'],
      using({ cwd: 'sub', stdin: 'four', env: { A: `{{svc:${held}}}`, B: 'x' } }),
    );
    const reason = await reasonOf(idOf(text));
    const shown = String.raw`["sh","-c","echo \"\u00fc\"\n"] in "sub" env A B stdin of 4 bytes; sha256 `;
    expect(reason).toMatch(/; sha256 [\w-]{43}$/);
    expect(reason.slice(0, -43)).toBe(`mcp run_command: ${shown}`);
    expect(text).toContain(reason.slice(-43));
    const place = `${fs.realpathSync(machine.work)}/sub`;
    const ending = `"env":[["A","{{svc:${held}}}"],["B","x"]],"stdin":"four","cwd":"${place}"}; sha256 ${reason.slice(-43)}`;
    const whole = await callOf(idOf(text));
    expect(whole).toContain(
      String.raw`run_command {"command":["sh","-c","echo \"\u00fc\"\n"],"file":"sh","env":`,
    );
    expect(whole?.endsWith(ending)).toBe(true);
  });

  it('approval: one for rotate_secret names the length and the charset', async () => {
    const id = idOf((await agent.call('rotate_secret', { name: held, length: 40, charset: 'hex' })).text);
    const { request } = await call(at.url, at.key, 'GET', `/orgs/${at.org}/approvals/${id}`);
    expect(request.reason).toContain(`mcp rotate_secret: length 40, charset hex, ${held}`);
    expect(await callOf(id)).toMatch(`rotate_secret {"name":"${held}","length":40,"charset":"hex"}; sha256 `);
  });

  it('approval: one that was given for a command is not spent on another call', async () => {
    fs.writeFileSync(path.join(machine.work, 'sub', 'echo'), '#!/bin/sh\necho other', { mode: 0o755 });
    const command = ['echo', 'migrate'];
    for (const by of [agent, older])
      await decide(idOf((await by.run(command, using())).text), 'approve', { valid_for_seconds: 600 });
    const reference = `{{svc:${held}}}`;
    const attacks: [string, object][] = [
      ['run_command', { command: ['sh', '-c', 'echo $A'], ...using() }],
      ['run_command', { command: ['echo', 'migrate', ''], ...using() }],
      ['run_command', { command: ['echo migrate'], ...using() }],
      ['run_command', { command, ...using({ cwd: 'sub' }) }],
      ['run_command', { command, env: { B: reference } }],
      ['run_command', { command, env: { A: reference, B: 'x' } }],
      ['run_command', { command, env: { A: `x${reference}` } }],
      ['run_command', { command, ...using({ stdin: 'x' }) }],
      ['run_command', { command, stdin: reference }],
      ['http_request', { url: echo.url, headers: { A: reference } }],
      ['read_secret', { name: held }],
    ];
    for (const [tool, given] of attacks) {
      for (const [by, code] of [
        [agent, 'APPROVAL_REQUIRED'],
        [older, 'APPROVAL_MISMATCH'],
      ] as const) {
        const { isError, text } = await by.call(tool, given);
        expect(isError, JSON.stringify(given)).toBe(true);
        expect(text, JSON.stringify(given)).toContain(code);
        expect(text).not.toContain(VALUE);
      }
    }
    expect(echo.seen).toEqual([]);
    for (const by of [agent, older, agent, older])
      expect((await by.run(command, using({ cwd: '.', max_characters: 200 }))).text).toContain('migrate');
    // Another server of the same credential, which has not seen the call, decides alike.
    const other = await mcp(machine, ['--allow-run'], { SVC_TOKEN: token });
    expect((await other.run(['sh', '-c', 'echo $A'], using())).text).toContain('APPROVAL_REQUIRED');
    expect((await other.run(command, using())).text).toContain('migrate');
    await other.close();
  });

  it('approval: one that was given for a request is not spent on another', async () => {
    const request = {
      method: 'POST',
      url: `${echo.url}/refunds`,
      headers: { Authorization: `Bearer {{svc:${held}}}` },
      query: { n: '1' },
      body: '5',
    };
    const { text } = await agent.call('http_request', request);
    expect(await reasonOf(idOf(text))).toContain(
      '/refunds query {"n":"1"} headers Authorization body "5"; sha256 ',
    );
    await decide(idOf(text), 'approve');
    for (const other of [
      { body: '500' },
      { query: { n: '2' } },
      { url: `${echo.url}/charges` },
      { method: 'PUT' },
      { headers: { A: request.headers.Authorization } },
    ])
      expect(
        (await agent.call('http_request', { ...request, ...other })).text,
        JSON.stringify(other),
      ).toContain('APPROVAL_REQUIRED');
    expect(echo.seen).toEqual([]);
    expect((await agent.call('http_request', request)).json.status).toBe(200);
  });

  it('approval: one that was asked for without svc mcp is not spent on a call', async () => {
    const way = `/secrets/by-name/${held}?environment=staging`;
    for (const by of [token, second]) {
      const refused = await fetch(`${at.url}/api/v1/orgs/${at.org}${way}`, {
        headers: { Authorization: `Bearer ${by}` },
      });
      const { error } = (await refused.json()) as { error: { approval: { id: string } } };
      await decide(error.approval.id, 'approve');
    }
    expect((await agent.run(['true'], using())).text).toContain('APPROVAL_REQUIRED');
    expect((await older.run(['true'], using())).text).toContain('APPROVAL_MISMATCH');
  });

  it('cancel_approval: withdraws the request, so that another call can be approved', async () => {
    const id = idOf((await older.run(['echo', 'one'], using())).text);
    expect((await older.run(['echo', 'two'], using())).text).toContain('cancel_approval');
    expect((await older.call('cancel_approval', { approval_id: id })).json).toEqual({
      id,
      status: 'cancelled',
    });
    const other = idOf((await older.run(['echo', 'two'], using())).text);
    expect(other).not.toBe(id);
    await decide(other, 'approve');
    expect((await older.run(['echo', 'two'], using())).text).toContain('two');
  });

  it('approval: a rejection is reported, and a malformed id is not used in a path', async () => {
    const id = idOf((await agent.run(['true'], using())).text);
    await decide(id, 'reject');
    expect((await agent.call('wait_for_approval', { approval_id: id })).json.status).toBe('rejected');
    for (const tool of ['wait_for_approval', 'cancel_approval'])
      expect((await agent.call(tool, { approval_id: '../../whoami' })).isError).toBe(true);
  });

  it('approval: a call that does not fit into the reason is shown by its start, its length and its digest', async () => {
    const command = ['echo', `; sha256 ${'A'.repeat(43)}`, 'x'.repeat(300)];
    const { text } = await agent.run(command, using());
    const reason = await reasonOf(idOf(text));
    expect(reason).toMatch(/^mcp run_command: \["echo".* \.\.\. and \d+ characters; sha256 [\w-]{43}$/);
    expect(reason.length).toBeLessThanOrEqual(256);
    expect(text).toContain('x'.repeat(300));
    expect(await callOf(idOf(text))).toContain('x'.repeat(300));
    await decide(idOf(text), 'approve');
    expect((await agent.run([...command.slice(0, 2), 'y'.repeat(300)], using())).text).toContain(
      'APPROVAL_REQUIRED',
    );
    expect((await agent.run(command, using())).isError).toBe(false);
  });

  it('approval: a held call that has no room is refused, and leaves no request to approve', async () => {
    const waiting = async () =>
      (await api('GET', '/approvals?status=pending')).data.filter(
        (one: { target: { name: string } }) => one.target.name === held,
      );
    for (const by of [agent, older]) {
      const { isError, text } = await by.run(['echo', 'x'.repeat(8000)], using());
      expect(isError).toBe(true);
      expect(text).toContain('too long to be shown');
      expect(text).not.toContain('APPROVAL_REQUIRED');
      expect(await waiting()).toEqual([]);
    }
    expect((await agent.run(['echo', 'x'.repeat(8000)], { env: { A: '{{svc:FREE}}' } })).isError).toBe(false);
  });

  it('approval: the whole call is shown in printable ASCII, without values, and up to 8,000 characters', () => {
    const whole = (text: string) => newCall('read_secret', 'N', { text });
    const mask = (text: string) => text.replace('hunter22', '[svc:N]');
    expect(textOfCall(whole('hunter22 \u202e\n'), mask).text).toMatch(
      /^read_secret \{"text":"\[svc:N\] \\u202e\\n"\}; sha256 [\w-]{43}$/,
    );
    const room = 8000 - textOfCall(whole(''), mask).text.length;
    expect(textOfCall(whole('x'.repeat(room)), mask).text).toHaveLength(8000);
    expect(textOfCall(whole('x'.repeat(room)), mask).length).toBeUndefined();
    expect(textOfCall(whole('x'.repeat(room + 1)), mask).length).toBe(8001);
  });

  it('approval: the reason ends in the digest, whatever the person and the agent write', () => {
    const one = { tool: 'run_command', shown: '["true"]', whole: {}, digest: 'd'.repeat(43) };
    const reason = reasonOfCall(one, 'own '.repeat(100), (text) => text);
    expect(reason.length).toBeLessThanOrEqual(256);
    expect(isReasonOf(reason, one)).toBe(true);
    const other = { ...one, digest: 'e'.repeat(43), shown: `${one.shown}; sha256 ${one.digest}` };
    expect(
      isReasonOf(
        reasonOfCall(other, undefined, (text) => text),
        one,
      ),
    ).toBe(false);
    for (const none of [null, '', `sha256 ${one.digest}`, `; sha256 ${one.digest} `])
      expect(isReasonOf(none, one)).toBe(false);
  });
});
