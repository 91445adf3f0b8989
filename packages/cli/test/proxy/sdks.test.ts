// Vendors' SDKs, unchanged, under svc proxy: by base URL and through the HTTPS proxy, against servers that
// speak their wire formats. `npm run test:upstream-sdks` installs them; `npm test` skips these tests.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, newOrg } from '../../../../test/packages/vault.mjs';
import { Machine } from '../harness.ts';

const folder = path.resolve(import.meta.dirname, '../../../../.sdks/upstreams');
const isInstalled = fs.existsSync(path.join(folder, 'node_modules/stripe'));
const python = path.join(folder, 'venv/bin/python');
const VALUE = 'sk_live_5Tz8Qw3Lx7Vn2Kp9Rb4';
const AWS_ID = 'AKIAIOSFODNN7EXAMPLE';

let machine: Machine;
let base: string;
const keys: string[] = [];

const events = (...data: object[]): string =>
  data
    .map((one) => `${'type' in one ? `event: ${one.type}\n` : ''}data: ${JSON.stringify(one)}\n\n`)
    .join('');
const chunk = (content: string) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});
const delta = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
});
const ANSWERS: Record<string, (url: string, body: string) => [type: string, body: string, link?: string]> = {
  openai: () => ['text/event-stream', `${events(chunk('Hel'), chunk('lo'))}data: [DONE]\n\n`],
  anthropic: () => [
    'text/event-stream',
    events(
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      delta('Hel'),
      delta('lo'),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ),
  ],
  stripe: (_, body) => [
    'application/json',
    JSON.stringify({ id: 'ch_1', object: 'charge', amount: Number(new URLSearchParams(body).get('amount')) }),
  ],
  github: (url) => [
    'application/json',
    JSON.stringify([{ number: url.includes('page=2') ? 2 : 1 }]),
    url.includes('page=2') ? undefined : `<${base}${url.split('?')[0]}?page=2>; rel="next"`,
  ],
  dynamodb: () => ['application/x-amz-json-1.0', '{"TableNames":["orders"]}'],
};
const stand = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { url = '', headers } = request;
  const name = url.split('/')[1] ?? '';
  keys.push(`${name} ${headers['x-api-key'] ?? headers.authorization}`);
  const [type, text, link] = (ANSWERS[name] as (typeof ANSWERS)[string])(url, body);
  response.writeHead(200, { 'Content-Type': type, ...(link && { Link: link }) }).end(text);
});

beforeAll(async () => {
  await new Promise<void>((done) => stand.listen(0, 'localhost', done));
  base = `http://localhost:${(stand.address() as AddressInfo).port}`;
  const at = await newOrg(inject('vaultUrl'));
  const api = (way: string, body: object) => call(at.url, at.key, 'POST', `/orgs/${at.org}${way}`, body);
  for (const [name, value] of [
    ['KEY', VALUE],
    ['AWS_ID', AWS_ID],
  ])
    await api('/secrets', { name, type: 'api_key', value, environment: 'staging' });
  const header = (name: string, value: string) => [{ type: 'header', name, value }];
  for (const [name, auth] of Object.entries({
    openai: header('Authorization', 'Bearer {{KEY}}'),
    anthropic: header('x-api-key', '{{KEY}}'),
    stripe: header('Authorization', 'Bearer {{KEY}}'),
    github: header('Authorization', 'Bearer {{KEY}}'),
    dynamodb: [
      {
        type: 'aws_sigv4',
        access_key_id: '{{AWS_ID}}',
        secret_access_key: '{{KEY}}',
        region: 'us-east-1',
        service: 'dynamodb',
      },
    ],
  }))
    await api('/upstreams', {
      name,
      base_url: `${base}/${name}`,
      environment: 'staging',
      auth,
      allow: [{ methods: ['GET', 'POST'], paths: ['/*'] }],
    });
  const { token } = await api('/agent-credentials', {
    name: 'sdks',
    scopes: ['secrets:use'],
    environments: ['staging'],
    ttlSeconds: 3600,
  });
  machine = new Machine({ SVC_URL: at.url, SVC_ORG_ID: at.org, SVC_TOKEN: token });
});
afterAll(() => stand.close());

const under = async (command: string[]) => {
  const { code, stdout, stderr } = await machine.spawn(['proxy', '--', ...command]).done;
  expect([code, stderr.replace(/^Upstreams: .*\n/m, '')]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const ways = () => [
  { way: 'base URLs', start: [] as string[], args: [] as string[] },
  {
    way: 'the HTTPS proxy',
    start: ['env', 'NO_PROXY=', 'no_proxy='],
    args: [base.replace('http:', 'https:')],
  },
];

describe.skipIf(!isInstalled)('SDKs', () => {
  it('SDKs: openai, anthropic, stripe and octokit work unchanged in both ways', async () => {
    const file = path.join(folder, 'program.mjs');
    fs.copyFileSync(path.join(import.meta.dirname, 'sdks/program.mjs'), file);
    for (const { way, start, args } of ways()) {
      keys.length = 0;
      expect(await under([...start, process.execPath, file, ...args]), way).toEqual({
        openai: 'Hello',
        anthropic: 'Hello',
        stripe: ['ch_1', 500],
        octokit: [1, 2],
      });
      expect(keys, way).toEqual([
        `openai Bearer ${VALUE}`,
        `anthropic ${VALUE}`,
        `stripe Bearer ${VALUE}`,
        `github Bearer ${VALUE}`,
        `github Bearer ${VALUE}`,
      ]);
    }
  });

  it.skipIf(!fs.existsSync(python))('SDKs: boto3 works unchanged in both ways', async () => {
    for (const { way, start, args } of ways()) {
      keys.length = 0;
      const file = path.join(import.meta.dirname, 'sdks/program.py');
      expect(await under([...start, python, file, ...args]), way).toEqual(['orders']);
      expect(keys[0], way).toMatch(new RegExp(`^dynamodb AWS4-HMAC-SHA256 Credential=${AWS_ID}/`));
    }
  });
});
