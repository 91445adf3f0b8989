// The limits of svc mcp that are stored with an agent credential.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { call, newOrg } from '../../../../test/packages/vault.mjs';
import { Machine } from '../harness.ts';
import { type Echo, mcp, startEcho } from './client.ts';

let at: { url: string; org: string; key: string };
let machine: Machine;
let echo: Echo;

beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  machine = new Machine({
    SVC_URL: at.url,
    SVC_ORG_ID: at.org,
    SVC_ENVIRONMENT: 'staging',
    SVC_TOKEN: at.key,
  });
  echo = await startEcho();
  await call(at.url, at.key, 'PUT', `/orgs/${at.org}/secrets/by-name/API_KEY?environment=staging`, {
    value: 'correct-horse-battery',
  });
});
afterAll(() => echo?.close());

/** The token of a new agent, created with options of svc mcp. */
async function created(options: string[]): Promise<string> {
  const argv = [
    'agent',
    'create',
    'triage',
    '--scopes',
    'secrets:read',
    '--environments',
    'staging',
    ...options,
  ];
  const { code, stdout, stderr } = await machine.svc(argv);
  expect([code, stderr]).toEqual([0, expect.stringContaining('Created agent credential')]);
  return stdout.trim();
}

describe('limits', () => {
  slow('limits: a server without options has those of the credential', async () => {
    const token = await created(['--bind', `API_KEY=${echo.host},header=Authorization`]);
    const agent = await mcp(machine, [], { SVC_TOKEN: token });
    try {
      const names = (await agent.client.listTools()).tools.map(({ name }) => name);
      expect(names).toContain('http_request');
      expect(names).not.toContain('run_command');
      expect(names).not.toContain('read_secret');
      expect(agent.stderr()).toContain('limits: stored with the credential');
      const url = `http://${echo.host}/`;
      const given = await agent.call('http_request', {
        url,
        headers: { Authorization: 'Bearer {{svc:API_KEY}}' },
      });
      expect([given.isError, given.text]).toEqual([false, expect.any(String)]);
      expect(
        (await agent.call('http_request', { url, headers: { 'X-Other': '{{svc:API_KEY}}' } })).isError,
      ).toBe(true);
    } finally {
      await agent.close();
    }
  });

  it('limits: options cannot exceed those of the credential', async () => {
    const bind = `API_KEY=${echo.host},header=Authorization`;
    const token = await created(['--bind', bind, '--allow-run', '--allow-command', 'psql']);
    const refused = async (...options: string[]) => {
      const { code, stderr } = await machine.svc(['mcp', ...options], { env: { SVC_TOKEN: token } });
      return [code, /does not allow (.*)\.$/m.exec(stderr)?.[1]];
    };
    expect(await refused('--allow-read')).toEqual([2, '--allow-read']);
    expect(await refused('--allow-host', 'evil.example')).toEqual([2, '--allow-host evil.example']);
    expect(await refused('--bind', `API_KEY=${echo.host}`)).toEqual([2, `--bind API_KEY=${echo.host}`]);
    expect(await refused('--allow-run')).toEqual([2, '--allow-run without --allow-command']);
    expect(await refused('--allow-run', '--allow-command', 'sh')).toEqual([2, '--allow-command sh']);
    const agent = await mcp(machine, ['--bind', bind], { SVC_TOKEN: token });
    try {
      expect((await agent.client.listTools()).tools.map(({ name }) => name)).not.toContain('run_command');
    } finally {
      await agent.close();
    }
  });

  it('limits: a stored binding holds whatever options the server has', async () => {
    const token = await created(['--bind', `API_KEY=${echo.host},header=Authorization`, '--allow-read']);
    const agent = await mcp(machine, ['--allow-read'], { SVC_TOKEN: token });
    try {
      const { isError, text } = await agent.call('read_secret', { name: 'API_KEY' });
      expect([isError, text]).toEqual([true, expect.stringContaining('is bound to')]);
    } finally {
      await agent.close();
    }
  });

  it('limits: svc agent update replaces them, and --allow-command alone is refused', async () => {
    const token = await created(['--allow-read']);
    const { id } = await call(at.url, token, 'GET', '/whoami');
    const { code } = await machine.svc(['agent', 'update', id, '--allow-host', 'api.example.com']);
    expect(code).toBe(0);
    expect((await call(at.url, token, 'GET', '/whoami')).mcp_limits).toMatchObject({
      hosts: ['api.example.com'],
      read: false,
    });
    expect((await machine.svc(['agent', 'update', id, '--allow-command', 'psql'])).code).toBe(2);
  });
});
