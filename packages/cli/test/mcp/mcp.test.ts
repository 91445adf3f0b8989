// svc mcp as an MCP client sees it: its tools and their results, the credentials it accepts, and its audit
// log entries.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts of children are texts here.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, newOrg } from '../../../../test/packages/vault.mjs';
import { Machine, until } from '../harness.ts';
import { type Agent, type Echo, mcp, startEcho } from './client.ts';

const VALUE = 'correct-horse-battery';
let at: { url: string; org: string; key: string };
let machine: Machine;
let agent: Agent;
let echo: Echo;
let token: string;
let agentId: string;

const put = (name: string, value: string, environment = 'staging') =>
  call(
    at.url,
    at.key,
    'PUT',
    `/orgs/${at.org}/secrets/by-name/${encodeURIComponent(name)}?environment=${environment}`,
    { value },
  );
const credential = (given: object = {}) =>
  call(at.url, at.key, 'POST', `/orgs/${at.org}/agent-credentials`, {
    name: 'triage',
    scopes: ['secrets:read', 'secrets:rotate'],
    environments: ['staging'],
    secrets: ['API_*', 'app/*', 'NODE_OPTIONS', 'PIN'],
    ttlSeconds: 3600,
    ...given,
  });

beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  machine = new Machine({ SVC_URL: at.url, SVC_ORG_ID: at.org, SVC_ENVIRONMENT: 'staging' });
  await put('API_KEY', VALUE);
  await put('app/config', '{"debug": true, "password": "a\\"b"}');
  await put('OTHER', 'not-for-this-agent');
  ({ token, id: agentId } = await credential());
  echo = await startEcho();
  agent = await mcp(machine, ['--allow-run', '--allow-host', echo.host], { SVC_TOKEN: token });
});
afterAll(async () => {
  await agent?.close();
  echo?.close();
});

describe('tools', () => {
  it('tools: each has a schema, a description and hints; plaintext and hosts must be allowed', async () => {
    const { tools } = await agent.client.listTools();
    const names = tools.map(({ name }) => name).sort();
    expect(names).toEqual([
      'cancel_approval',
      'check_secret',
      'http_request',
      'list_secrets',
      'list_upstreams',
      'rotate_secret',
      'run_command',
      'wait_for_approval',
    ]);
    for (const { description, inputSchema, annotations } of tools) {
      expect(description?.length).toBeGreaterThan(60);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(typeof annotations?.readOnlyHint).toBe('boolean');
    }
    const rotate = tools.find(({ name }) => name === 'rotate_secret');
    expect(rotate?.annotations?.destructiveHint).toBe(true);
    expect(rotate?.description).toContain('whoever issued the current one');
    expect(agent.client.getInstructions()).toContain('{{svc:NAME}}');
    expect(agent.stderr()).toMatch(
      /agent triage \(agt_\w+\), environment staging\n {2}scopes: .*secrets:read/,
    );
    expect(agent.stderr()).not.toContain(token);
  });

  it('tools: run_command exists only with --allow-run, and the server says what that gives away', async () => {
    const plain = await mcp(machine, ['--bind', `API_KEY=${echo.host}`], { SVC_TOKEN: token });
    const names = (await plain.client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('http_request');
    expect(names).not.toContain('run_command');
    expect(await plain.run(['echo', 'ran'])).toMatchObject({ isError: true });
    expect(plain.stderr()).toContain(`http_request: upstreams, ${echo.host}\n`);
    expect(plain.stderr()).toContain('WARNING: values come to this machine');
    expect(plain.stderr()).not.toContain('--allow-run');
    await plain.close();
    const gives = 'can print it in any encoding, so the agent can read every value that it can use';
    expect(agent.stderr()).toContain(gives);
    expect((await machine.svc(['mcp', '--help'])).stdout.replace(/\s+/g, ' ')).toContain(gives);
    const refused = await machine.svc(['mcp', '--allow-command', 'npm'], { env: { SVC_TOKEN: token } });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--allow-command needs --allow-run');
  });

  it('tools: arguments outside the schema are refused', async () => {
    for (const [name, given] of [
      ['check_secret', {}],
      ['check_secret', { name: 'API_KEY', reveal: true }],
      ['run_command', { command: 'env' }],
      ['run_command', { command: [] }],
      ['list_secrets', { limit: 1000 }],
      ['http_request', { url: echo.url, method: 'TRACE' }],
      ['read_secret', { name: 'API_KEY' }],
    ] as const)
      expect((await agent.call(name, given)).isError, name).toBe(true);
  });

  it('tools: a header, query name or variable that the parser would drop is refused, and nothing is sent', async () => {
    const texts = JSON.parse('{"A":"1","__proto__":"2"}');
    for (const [tool, given] of [
      ['http_request', { url: `${echo.url}/x`, headers: texts }],
      ['http_request', { url: `${echo.url}/x`, query: texts }],
      ['run_command', { command: ['true'], env: texts }],
    ] as const) {
      const { isError, text } = await agent.call(tool, given);
      expect([isError, text], JSON.stringify(given)).toEqual([true, expect.stringContaining('__proto__')]);
    }
    expect(echo.seen).toEqual([]);
  });
});

describe('secrets', () => {
  it('list_secrets: returns names and metadata of the secrets the agent may use, page by page', async () => {
    const first = await agent.call('list_secrets', { limit: 1 });
    const rest = await agent.call('list_secrets', { cursor: first.json.next_cursor });
    const all = [...first.json.secrets, ...rest.json.secrets];
    expect(all.map(({ name }: { name: string }) => name).sort()).toEqual(['API_KEY', 'app/config']);
    expect(all[0]).toMatchObject({ environment: 'staging', version: 1, status: 'active', expires_at: null });
    expect(first.text + rest.text).not.toMatch(/correct-horse|debug/);
  });

  it('check_secret: returns whether a secret exists; a secret outside the grants appears as nonexistent', async () => {
    expect((await agent.call('check_secret', { name: 'API_KEY' })).json).toMatchObject({
      exists: true,
      version: 1,
      rotation_due_at: null,
    });
    expect((await agent.call('check_secret', { name: 'OTHER' })).json).toEqual({
      name: 'OTHER',
      exists: false,
    });
    expect((await agent.call('check_secret', { name: 'API_NONE' })).json).toEqual({
      name: 'API_NONE',
      exists: false,
    });
  });

  it('rotate_secret: creates a new version, returns no value, and masks the new one', async () => {
    await put('API_ROTATED', 'old-value-of-it');
    const { text, json } = await agent.call('rotate_secret', { name: 'API_ROTATED', length: 40 });
    expect(json).toMatchObject({ rotated: true, name: 'API_ROTATED', version: 2 });
    const { value } = await call(
      at.url,
      at.key,
      'GET',
      `/orgs/${at.org}/secrets/by-name/API_ROTATED?environment=staging`,
    );
    expect(value).toHaveLength(40);
    expect(text).not.toContain(value);
    expect((await agent.run(['echo', value])).text).toContain('[svc:API_ROTATED]');
    expect(await agent.call('rotate_secret', { name: 'OTHER' })).toMatchObject({ isError: true });
  });

  it('rotate_secret: a value that the agent could guess is not generated', async () => {
    await put('API_GUESSED', 'old-value-of-it');
    for (const weak of [
      { length: 8, charset: 'ab' },
      { length: 8 },
      { length: 40, charset: 'ab' },
      { length: 19, charset: 'digits' },
    ])
      expect(
        await agent.call('rotate_secret', { name: 'API_GUESSED', ...weak }),
        JSON.stringify(weak),
      ).toMatchObject({ isError: true });
    expect(
      await call(at.url, at.key, 'GET', `/orgs/${at.org}/secrets/by-name/API_GUESSED?environment=staging`),
    ).toMatchObject({
      version: 1,
    });
    expect(
      (await agent.call('rotate_secret', { name: 'API_GUESSED', length: 20, charset: 'digits' })).json,
    ).toMatchObject({ version: 2 });
  });
});

describe('run_command', () => {
  it('run_command: values are in env and stdin, and masked in the output', async () => {
    const script =
      'process.stdin.on("data", (d) => console.log("in:" + d)); console.log("env:" + process.env.URL); console.error(process.env.URL.length)';
    const ran = await agent.run([process.execPath, '-e', script], {
      env: { URL: 'x://{{svc:API_KEY}}@h' },
      stdin: '{{svc:app/config}}!',
    });
    expect(ran.isError).toBe(false);
    expect(ran.json).toEqual({ exit_code: 0, timed_out: false });
    expect(ran.text).toContain('env:x://[svc:API_KEY]@h');
    expect(ran.text).toContain('in:[svc:app/config]!');
    expect(ran.text).toContain(String(`x://${VALUE}@h`.length));
  });

  it('run_command: exit codes, missing programs, and directories', async () => {
    fs.mkdirSync(path.join(machine.work, 'sub'), { recursive: true });
    expect(await agent.run(['sh', '-c', 'exit 7'])).toMatchObject({ isError: true, json: { exit_code: 7 } });
    expect((await agent.run(['no-such-program'])).text).toContain('does not exist');
    expect((await agent.run(['pwd'], { cwd: 'sub' })).text).toContain(path.join(machine.work, 'sub'));
    fs.symlinkSync('/', path.join(machine.work, 'root'));
    for (const cwd of ['..', '/', 'root', 'none', '/etc'])
      expect((await agent.run(['pwd'], { cwd })).isError).toBe(true);
  });

  it('run_command: processes that a program starts are killed when it exits or times out', async () => {
    const file = path.join(machine.work, 'pid');
    const alive = () => {
      try {
        process.kill(Number(fs.readFileSync(file, 'utf8')), 0);
        return true;
      } catch {
        return false;
      }
    };
    expect((await agent.run(['sh', '-c', 'sleep 600 & echo $! > pid; echo ok'])).json.exit_code).toBe(0);
    await until(() => !alive());
    const late = await agent.run(
      ['sh', '-c', 'trap "" TERM; sleep 600 & echo $! > pid; echo begun; wait; sleep 600'],
      {
        timeout_seconds: 1,
      },
    );
    expect(late).toMatchObject({ isError: true, json: { timed_out: true } });
    expect(late.text).toContain('begun');
    await until(() => !alive());
  });

  it('run_command: a large output is cut after masking, and does not exhaust memory', async () => {
    const script = `for (let n = 0; n < 3000; n++) process.stdout.write("y".repeat(n % 97) + process.env.K)`;
    const ran = await agent.run([process.execPath, '-e', script], {
      env: { K: '{{svc:API_KEY}}' },
      max_characters: 1000,
    });
    expect(ran.text.length).toBeLessThan(1300);
    expect(ran.text).toContain('characters are omitted');
    expect(ran.text).not.toMatch(/correct|horse|battery/);
    const endless = await agent.run(['sh', '-c', 'yes "$K"'], {
      env: { K: '{{svc:API_KEY}}' },
      timeout_seconds: 1,
    });
    expect(endless.text).not.toMatch(/correct|horse|battery/);
    expect(endless.text.length).toBeLessThan(25_000);
  });
});

describe('http_request', () => {
  const ask = (given: object) => agent.call('http_request', { url: `${echo.url}/v1`, ...given });

  it('http_request: values are used in headers, basic_auth, query and body, and masked in the whole response', async () => {
    const { text, json, isError } = await ask({
      method: 'POST',
      query: { key: '{{svc:API_KEY}}', q: 'a b' },
      headers: { Authorization: 'Bearer {{svc:API_KEY}}', 'Content-Type': 'application/json' },
      body: '{"config": "{{svc:app/config}}"}',
    });
    expect(isError).toBe(false);
    expect(json.status).toBe(200);
    const seen = echo.seen.at(-1);
    expect(seen?.url).toBe(`/v1?key=${VALUE}&q=a+b`);
    expect(seen?.headers.authorization).toBe(`Bearer ${VALUE}`);
    expect(JSON.parse(seen?.body ?? '').config).toBe('{"debug": true, "password": "a\\"b"}');
    expect(json.headers['x-echo']).toBe('Bearer [svc:API_KEY]');
    expect(text).not.toMatch(/correct-horse|debug/);
    const basic = await ask({ basic_auth: { username: 'me', password: '{{svc:API_KEY}}' } });
    expect(echo.seen.at(-1)?.headers.authorization).toBe(
      `Basic ${Buffer.from(`me:${VALUE}`).toString('base64')}`,
    );
    expect(basic.text).toContain('[svc:API_KEY]');
    expect(basic.text).not.toContain(Buffer.from(`me:${VALUE}`).toString('base64').slice(6, 20));
    await ask({
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'c={{svc:app/config}}',
    });
    expect(new URLSearchParams(echo.seen.at(-1)?.body).get('c')).toContain('"debug"');
  });

  it('http_request: a large response is cut', async () => {
    const { text } = await ask({ url: `${echo.url}/large`, max_characters: 500 });
    expect(text.length).toBeLessThan(1500);
  });
});

describe('audit log', () => {
  it('audit log: each use of a secret creates an entry with a reason', async () => {
    await agent.run(['true'], { env: { K: '{{svc:API_KEY}}' } });
    await agent.call('http_request', { url: echo.url, headers: { A: '{{svc:API_KEY}}' } });
    const { data } = await call(
      at.url,
      at.key,
      'GET',
      `/orgs/${at.org}/audit-log?actor=${agentId}&action=secret.read&limit=2`,
    );
    expect(data.map((entry: { reason: string }) => entry.reason)).toEqual([
      expect.stringMatching(
        /^mcp http_request: GET http:\/\/127\.0\.0\.1:\d+\/ headers A; sha256 [\w-]{43}$/,
      ),
      expect.stringMatching(/^mcp run_command: \["true"\] in "\." env K; sha256 [\w-]{43}$/),
    ]);
    expect(data[0]).toMatchObject({ resource_name: 'API_KEY', outcome: 'success' });
  });
});

describe('credential', () => {
  const refusal = (env: NodeJS.ProcessEnv) => machine.svc(['mcp'], { env });

  it('credential: an API key, a session token and a member’s session are refused, and a key is not sent', async () => {
    const session = await call(at.url, at.key, 'POST', `/orgs/${at.org}/access-tokens`, {
      scopes: ['secrets:read'],
      ttlSeconds: 600,
    });
    for (const SVC_TOKEN of [at.key, session.token]) {
      const ran = await refusal({ SVC_TOKEN });
      expect(ran).toMatchObject({ code: 4, stdout: '' });
      expect(ran.stderr).toContain('svc agent create');
      expect(ran.stderr).not.toContain(SVC_TOKEN);
    }
    const unreachable = await refusal({ SVC_TOKEN: at.key, SVC_URL: 'http://127.0.0.1:1' });
    expect(unreachable.stderr).toContain('AGENT_CREDENTIAL_NEEDED');
  });

  it('credential: every tool fails with a revoked credential', async () => {
    const other = await credential();
    const ended = await mcp(machine, ['--allow-run'], { SVC_TOKEN: other.token });
    await call(at.url, at.key, 'DELETE', `/orgs/${at.org}/agent-credentials/${other.id}`);
    for (const answer of [
      await ended.call('list_secrets'),
      await ended.run(['echo', 'x'], { env: { K: '{{svc:API_KEY}}' } }),
    ]) {
      expect(answer.isError).toBe(true);
      expect(answer.text).toContain('TOKEN_REVOKED');
    }
    await ended.close();
  });

  it('--allow-read: read_secret exists only with it, and returns the value', async () => {
    const reader = await mcp(machine, ['--allow-read'], { SVC_TOKEN: token });
    expect((await reader.call('read_secret', { name: 'API_KEY' })).json).toEqual({
      name: 'API_KEY',
      value: VALUE,
    });
    expect((await reader.call('read_secret', { name: 'OTHER' })).isError).toBe(true);
    expect((await reader.call('http_request', { url: echo.url })).isError).toBe(true);
    await reader.close();
  });

  it('close: when the client disconnects, commands are stopped, and the server exits', async () => {
    const TMPDIR = path.join(machine.dir, 'tmp');
    fs.mkdirSync(TMPDIR);
    const leaving = await mcp(machine, ['--allow-run'], { SVC_TOKEN: token, TMPDIR });
    const file = path.join(machine.work, 'left');
    leaving.run(['sh', '-c', 'trap "" TERM; echo $$ > left; sleep 600; sleep 600']).catch(() => {});
    await until(() => fs.existsSync(file) && fs.readFileSync(file, 'utf8').endsWith('\n'));
    await leaving.close();
    await until(() => {
      try {
        process.kill(Number(fs.readFileSync(file, 'utf8')), 0);
        return false;
      } catch {
        return true;
      }
    });
    await until(() => fs.readdirSync(TMPDIR).length === 0);
  });
});
