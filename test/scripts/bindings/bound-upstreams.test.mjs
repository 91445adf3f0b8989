// Workers that call an API through the entrypoint `Upstream`: from a second Worker, with a stand-in for the
// API. `npm run test:sdks` installs the SDK of OpenAI, whose test is skipped without it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { BOOTSTRAP, CALLER, startBound } from '../../packages/bound.mjs';

const KEY = 'sk-stand-in-0123456789abcdef';
const SDK = path.join(root, '.sdks/node_modules/openai');

/** An API that wants the key, and shows what it was sent. */
const API = `
const wanted = 'Bearer ${KEY}';
const chunk = (text) => 'data: ' + JSON.stringify({
  id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm',
  choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
}) + '\\n\\n';
const streamed = (texts) => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  (async () => {
    for (const text of texts) await writer.write(new TextEncoder().encode(text));
    await writer.close();
  })();
  return new Response(readable, { headers: { 'Content-Type': 'text/event-stream' } });
};
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.headers.get('authorization') !== wanted)
      return Response.json({ error: { message: 'no key' } }, { status: 401 });
    if (request.headers.get('upgrade') === 'websocket') {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener('message', ({ data }) => server.send('echo ' + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/v1/chat/completions') {
      const { stream, messages } = await request.json();
      const said = 'You said ' + messages[0].content;
      return stream
        ? streamed([chunk('You '), chunk('said '), chunk(messages[0].content), 'data: [DONE]\\n\\n'])
        : Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [
            { index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' },
          ] });
    }
    if (pathname === '/v1/files') {
      let bytes = 0;
      for await (const part of request.body) bytes += part.length;
      return Response.json({ id: 'file-1', object: 'file', bytes, filename: 'a', purpose: 'batch', created_at: 1 });
    }
    if (pathname === '/v1/moved')
      return new Response(null, { status: 307, headers: { Location: '/v1/models' } });
    if (pathname === '/v1/away')
      return new Response(null, { status: 307, headers: { Location: 'http://127.0.0.1:1/v1/models' } });
    return Response.json({ path: pathname, headers: [...request.headers] });
  },
};`;

let api;
let service;
let org;
let trust;
let base;

const call = (method, at, body) => service.call(method, `/orgs/${org.id}${at}`, org.token, body);

async function created(at, body) {
  const { status, json } = await call('POST', at, body);
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

/** The caller, with the SDK of OpenAI where it is installed. */
async function scripted() {
  if (!fs.existsSync(SDK)) return CALLER;
  const contents = `import OpenAI from 'openai'; globalThis.OpenAI = OpenAI;\n${CALLER}`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path.dirname(SDK) },
    bundle: true,
    write: false,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers', 'node:*'],
    logLevel: 'error',
  });
  return outputFiles[0].text;
}

before(async () => {
  api = new Miniflare(
    convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      modules: true,
      script: API,
      compatibilityDate: '2026-01-01',
    }),
  );
  base = `http://127.0.0.1:${(await api.ready).port}/v1`;
  const variables = { ALLOW_PRIVATE_TARGETS: 'true', PUBLIC_URL: 'http://127.0.0.1:8787' };
  service = await startBound({}, variables);
  const { json } = await service.call('POST', '/orgs', BOOTSTRAP, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  org = { id: json.org.id, token: json.api_key.token };
  await created('/secrets', { name: 'OPENAI_KEY', type: 'generic', value: KEY });
  await created('/upstreams', {
    name: 'openai',
    base_url: base,
    environment: 'production',
    auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{OPENAI_KEY}}' }],
    allow: [
      { methods: ['POST'], paths: ['/chat/completions', '/files'] },
      { methods: ['GET'], paths: ['/models', '/moved', '/away', '/socket'] },
    ],
  });
  const sent = { issuer: 'cloudflare:service-binding', claims: { name: 'chat' }, scopes: ['secrets:use'] };
  trust = await created('/trusts', { name: 'chat', ...sent });
  const props = { org: org.id, trust: trust.id, name: 'chat', upstream: 'openai' };
  await service.rebind({ chat: { entrypoint: 'Upstream', props, as: 'OPENAI', script: await scripted() } });
});
after(async () => {
  await service?.stop();
  await api?.dispose();
});

const run = (code, args = {}) => service.run('chat', code, { base, ...args });

it('upstream: a Worker without a key calls the API, and the answer shows asterisks', async () => {
  const answer = await run('return (await env.OPENAI.fetch(base + "/models")).json()');
  assert.equal(answer.path, '/v1/models', JSON.stringify(answer));
  const { authorization, via } = Object.fromEntries(answer.headers);
  assert.deepEqual([authorization, via], [`Bearer ${'*'.repeat(KEY.length)}`, '1.1 svc-use']);
  const { json } = await call('GET', '/audit-log?action=secret.use');
  const [{ actor, ip }] = json.data;
  assert.deepEqual([actor.kind, actor.id, actor.name, ip], ['workload', trust.id, 'chat', null]);
});

it('attack: a request that a Worker passes on, and URLs elsewhere, are not sent', async () => {
  for (const code of [
    'return env.OPENAI.fetch(request)',
    'return env.OPENAI.fetch(base.replace("/v1", "/v2") + "/models")',
    'return env.OPENAI.fetch(base + "/../v2/models")',
    'return env.OPENAI.fetch(base + "/models%2f..%2fkeys")',
    'return env.OPENAI.fetch(base.replace("http:", "https:") + "/models")',
    'return env.OPENAI.fetch(base.replace("127.0.0.1", "localhost") + "/models")',
    'return env.OPENAI.fetch(base + "/keys")',
    'return env.OPENAI.fetch(base + "/away")',
  ]) {
    const told = await run(`const answer = await (async () => { ${code} })();
      return [answer.status, answer.headers.get('svc-error')]`);
    assert.deepEqual(told, [403, 'USE_NOT_ALLOWED'], `${code}: ${JSON.stringify(told)}`);
  }
});

it('attack: nothing but fetch can be called', async () => {
  for (const name of ['get', 'values', 'queue', 'scheduled', 'env', 'ctx', 'connect2']) {
    const { thrown } = await run('return env.OPENAI[name]({})', { name });
    assert.ok(thrown, name);
  }
  assert.ok((await run('await env.OPENAI.connect("127.0.0.1:1").opened')).thrown, 'connect');
});

it('upstream: a stream arrives, an upload of unknown length is sent, and redirects are followed', async () => {
  const text = await run(`const answer = await env.OPENAI.fetch(base + '/chat/completions', {
      method: 'POST', body: JSON.stringify({ stream: true, messages: [{ content: 'hello' }] }),
    });
    let text = '';
    for await (const part of answer.body) text += new TextDecoder().decode(part);
    return text;`);
  assert.equal(text.match(/^data: /gm)?.length, 4, text);
  const uploaded = await run(`const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    (async () => {
      for (let n = 0; n < 64; n++) await writer.write(new Uint8Array(16384));
      await writer.close();
    })();
    return (await env.OPENAI.fetch(base + '/files', { method: 'POST', body: readable })).json();`);
  assert.equal(uploaded.bytes, 1_048_576, JSON.stringify(uploaded));
  const moved = await run('return (await env.OPENAI.fetch(base + "/moved")).json()');
  assert.equal(moved.path, '/v1/models', JSON.stringify(moved));
});

it('upstream: a WebSocket passes', async () => {
  const said = await run(`const { webSocket, status } = await env.OPENAI.fetch(base + '/socket', {
      headers: { Upgrade: 'websocket' },
    });
    if (!webSocket) return status;
    webSocket.accept();
    const heard = new Promise((done) => webSocket.addEventListener('message', ({ data }) => done(data)));
    webSocket.send('hello');
    return heard;`);
  assert.equal(said, 'echo hello');
});

it("upstream: OpenAI's SDK works unchanged", {
  skip: fs.existsSync(SDK) ? false : 'openai is not in .sdks',
}, async () => {
  const client = `const client = new OpenAI({ apiKey: 'unused', baseURL: base, maxRetries: 0,
    fetch: (input, init) => env.OPENAI.fetch(input, init) });`;
  const messages = "model: 'm', messages: [{ role: 'user', content: 'hello' }]";
  const whole = await run(`${client}
    const { choices } = await client.chat.completions.create({ ${messages} });
    return choices[0].message.content;`);
  assert.equal(whole, 'You said hello', JSON.stringify(whole));
  const streamed = await run(`${client}
    let text = '';
    for await (const part of await client.chat.completions.create({ ${messages}, stream: true }))
      text += part.choices[0].delta.content;
    return text;`);
  assert.equal(streamed, 'You said hello', JSON.stringify(streamed));
  const file = await run(`${client}
    return client.files.create({ purpose: 'batch', file: new File([new Uint8Array(100000)], 'a') });`);
  assert.ok(file.bytes > 100_000, JSON.stringify(file));
  const refused = await run(
    `${client} return client.get('/keys').catch((error) => [error.status, error.code])`,
  );
  assert.deepEqual(refused, [403, 'USE_NOT_ALLOWED'], JSON.stringify(refused));
});

it('revocation: a trust that ends ends its calls', async () => {
  assert.equal((await call('DELETE', `/trusts/${trust.id}`)).status, 204);
  const told = await run(
    'const a = await env.OPENAI.fetch(base + "/models"); return [a.status, (await a.json()).error.code]',
  );
  assert.deepEqual(told, [401, 'TOKEN_REVOKED']);
});
