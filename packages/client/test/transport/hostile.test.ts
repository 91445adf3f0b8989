// Servers that are no vault, or are hostile: huge and endless bodies, wrong types, connections that hang.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createVault, type VaultOptions } from '@secrets-vault/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { thrown, until } from '../support.ts';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

let url: string;
let handler: Handler;
let requests: string[] = [];
const server = http.createServer((request, response) => {
  requests.push(`${request.method} ${request.url}`);
  handler(request, response);
});
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const open: { close(): void }[] = [];
afterEach(() => {
  for (const vault of open.splice(0)) vault.close();
  requests = [];
});

function client(options: Partial<VaultOptions> = {}) {
  const vault = createVault({
    url,
    org: 'org_1',
    credential: 'svcag_x',
    environment: 'production',
    retries: 0,
    ...options,
  });
  open.push(vault);
  return vault;
}

const answers =
  (body: unknown, status = 200): Handler =>
  (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  };

const INFO = { id: 'sec_1', name: 'A', environment: 'production', version: 1, expires_at: null };
const UNEXPECTED = { code: 'UNEXPECTED_RESPONSE' };

describe('size of a response', () => {
  /** A body without an end; returns how much was taken of it. */
  const endless = (status: number, type = 'application/json', chunk = Buffer.alloc(1024 * 1024, ' ')) => {
    const taken = { bytes: 0, isClosed: false };
    handler = (_, response) => {
      response.writeHead(status, { 'Content-Type': type });
      response.on('close', () => (taken.isClosed = true));
      const more = () => {
        while (!taken.isClosed && response.write(chunk)) taken.bytes += chunk.length;
        if (!taken.isClosed) response.once('drain', more);
      };
      more();
    };
    return taken;
  };

  slow('response: an endless body is refused at its bound, and the connection is closed', async () => {
    for (const [status, most] of [
      [200, 128],
      [403, 1],
    ] as const) {
      const taken = endless(status);
      expect(await thrown(client({ timeout: 300_000 }).get('A'))).toMatchObject({
        ...UNEXPECTED,
        status,
        message: expect.stringContaining('larger than any'),
      });
      await until(() => taken.isClosed);
      expect(taken.bytes / 1024 / 1024).toBeLessThan(most + 32);
    }
    expect(requests).toHaveLength(2);
  });

  slow('response: one that calls itself a stream has the same bound and the same timeout', async () => {
    for (const type of ['application/x-ndjson', 'text/event-stream']) {
      const taken = endless(200, type);
      expect(await thrown(client({ timeout: 300_000 }).get('A'))).toMatchObject({
        ...UNEXPECTED,
        message: expect.stringContaining('larger than any'),
      });
      await until(() => taken.isClosed);
      expect(taken.bytes / 1024 / 1024).toBeLessThan(128 + 32);
      handler = (_, response) => response.writeHead(200, { 'Content-Type': type }).write('{');
      expect(await thrown(client({ timeout: 200 }).get('A'))).toMatchObject({ code: 'TIMED_OUT' });
      expect(await thrown(client({ timeout: 200 }).values())).toMatchObject({ code: 'TIMED_OUT' });
    }
  });

  it('response: one that calls itself a stream has the same bound where its whole text or bytes are asked for', async () => {
    const read = (parseAs: 'text' | 'blob' | 'arrayBuffer', timeout: number) =>
      client({ timeout }).api.GET('/orgs/{org_id}/audit-log', {
        params: { path: { org_id: 'org_1' }, query: { format: 'ndjson' } },
        parseAs,
      });
    const taken = endless(200, 'application/x-ndjson');
    expect(await thrown(read('text', 300_000))).toMatchObject({
      ...UNEXPECTED,
      message: expect.stringContaining('larger than any'),
    });
    await until(() => taken.isClosed);
    expect(taken.bytes / 1024 / 1024).toBeLessThan(128 + 32);
    handler = (_, response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('{');
    for (const parseAs of ['blob', 'arrayBuffer'] as const)
      expect(await thrown(read(parseAs, 200))).toMatchObject({ code: 'TIMED_OUT' });
  });

  it('stream: who asks for one gets it as it arrives', async () => {
    handler = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      response.write('{}\n');
    };
    const { data } = await client({ timeout: 200 }).api.GET('/orgs/{org_id}/audit-log', {
      params: { path: { org_id: 'org_1' }, query: { format: 'ndjson' } },
      parseAs: 'stream',
    });
    const reader = (data as unknown as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('{}\n');
    await reader.cancel();
  });

  it('response: a declared length past the bound is refused before the body is read', async () => {
    handler = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '999999999999' });
      response.write('{');
    };
    expect(await thrown(client({ timeout: 5_000 }).get('A'))).toMatchObject(UNEXPECTED);
  });

  it('response: what is decompressed counts', async () => {
    const bomb = gzipSync(Buffer.alloc(3 * 1024 * 1024, ' '));
    expect(bomb.length).toBeLessThan(10_000);
    handler = (_, response) => {
      response.writeHead(403, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
      response.end(bomb);
    };
    expect(await thrown(client().get('A'))).toMatchObject({
      ...UNEXPECTED,
      message: expect.stringContaining('larger than any'),
    });
  });

  slow('response: 16 MiB of values of control characters are read', async () => {
    const value = '\u001f'.repeat(8 * 1024);
    const names = Array.from({ length: 2000 }, (_, n) => `N${n}`);
    handler = answers({
      environment: 'production',
      values: Object.fromEntries(names.map((name) => [name, value])),
      versions: Object.fromEntries(names.map((name) => [name, 1])),
      withheld: [],
    });
    const values = await client().values();
    expect([values.size, values.get('N1999')?.reveal() === value]).toEqual([2000, true]);
  });

  it('stream: an event without an end is given up, and the stream is opened again', async () => {
    const taken = endless(200, 'text/event-stream', Buffer.from(`data: ${'x'.repeat(64 * 1024)}\n`));
    const told: unknown[] = [];
    client({ cache: false }).onChange((change) => told.push(change));
    await until(() => requests.length > 1);
    expect([taken.bytes < 32 * 1024 * 1024, told]).toEqual([true, []]);
  });

  slow('pages: values without a last page end', async () => {
    let n = 0;
    handler = (request, response) => {
      const isPage = request.url?.includes('limit=');
      const values = {
        environment: 'production',
        values: { [`N${++n}`]: 'v' },
        versions: {},
        withheld: [],
        next_cursor: `c${n}`,
      };
      return isPage
        ? answers(values)(request, response)
        : answers({ error: { code: 'RESULT_TOO_LARGE' } }, 422)(request, response);
    };
    expect(await thrown(client().values())).toMatchObject(UNEXPECTED);
    expect(n).toBeLessThan(1000);
  });

  it('connection: one that hangs within the body times out', async () => {
    handler = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.write('{');
    };
    expect(await thrown(client({ timeout: 200 }).get('A'))).toMatchObject({ code: 'TIMED_OUT' });
  });
});

describe('shape of a response', () => {
  const VALUES = { environment: 'production', values: { A: 'x' }, versions: { A: 1 }, withheld: [] };
  it.each([
    ['get', {}],
    ['get', []],
    ['get', { ...INFO, value: { toString: 'x' } }],
    ['get', { ...INFO, value: 'x', name: null }],
    ['get', { ...INFO, value: 'x', expires_at: 5 }],
    ['values', {}],
    ['values', { ...VALUES, values: ['x'] }],
    ['values', { ...VALUES, values: { A: null } }],
    ['values', { ...VALUES, versions: { A: '1' } }],
    ['values', { ...VALUES, withheld: 'A' }],
    ['find', {}],
    ['find', { data: {} }],
    ['find', { data: [{ name: 'A' }] }],
    ['set', {}],
    ['set', { ...INFO, version: '1' }],
    ['rotate', { data: [INFO] }],
  ])('response: %s refuses %j', async (method, body) => {
    handler = answers(body);
    const vault = client();
    const calls = {
      get: () => vault.get('A'),
      values: () => vault.values(),
      find: () => vault.find('A'),
      set: () => vault.set('A', 'x'),
      rotate: () => vault.rotate('A'),
    };
    expect(await thrown(calls[method as 'get']())).toMatchObject(UNEXPECTED);
  });

  it('response: an empty body is no value', async () => {
    handler = (_, response) => response.writeHead(200, { 'Content-Length': '0' }).end();
    expect(await thrown(client().get('A'))).toMatchObject(UNEXPECTED);
    expect(await thrown(client().values())).toMatchObject(UNEXPECTED);
  });

  it('token: one of another type is not sent', async () => {
    for (const body of [{}, { token: 5, expiresAt: 'x' }, { token: 'svcsess_x' }]) {
      handler = answers(body);
      for (const credential of ['svc_live_x', { oidc: 'jwt', trustId: 'trs_1' }])
        expect(await thrown(client({ credential }).get('A'))).toMatchObject(UNEXPECTED);
    }
    const saved: unknown[] = [];
    const session = { token: 'old', expiresAt: '2020-01-01T00:00:00Z', refresh_token: 'svcref_x' };
    handler = answers({ token: 'svcsess_x', expiresAt: '2030-01-01T00:00:00Z' });
    const terminal = { load: () => session, save: (one: unknown) => void saved.push(one) };
    expect(await thrown(client({ credential: { terminal } }).get('A'))).toMatchObject(UNEXPECTED);
    expect([saved, requests.filter((line) => line.includes('by-name'))]).toEqual([[], []]);
  });

  it('stream: events of another shape are ignored, and later ones are told', async () => {
    const odd = [
      'null',
      '5',
      '[]',
      '{}',
      '{"data":null}',
      '{"type":"SECRET_UPDATED","data":{"name":5,"environment":"e"}}',
      'x',
    ];
    const good =
      '{"type":"SECRET_UPDATED","data":{"name":"A","environment":"e","former_name":{},"version":"x"}}';
    handler = (request, response) => {
      if (!request.url?.includes('/stream')) return answers({}, 500)(request, response);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const text of [...odd, good]) response.write(`data: ${text}\n\n`);
    };
    const told: unknown[] = [];
    client({ cache: false }).onChange((change) => told.push(change));
    await until(() => told.length > 0);
    expect(told).toEqual([{ type: 'SECRET_UPDATED', environment: 'e', names: ['A'] }]);
    expect(requests).toHaveLength(1);
  });

  it('stream: texts that no vault sends are not remembered, and the stream opens again', async () => {
    const odd = { type: 'SECRET_UPDATED', data: { name: 'x'.repeat(301), environment: 'e' } };
    const good = { type: 'SECRET_UPDATED', data: { name: 'A', environment: 'e' } };
    const resumed: unknown[] = [];
    handler = (request, response) => {
      resumed.push(request.headers['last-event-id']);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`id: 7\ndata: {}\n\nid: 日本\ndata: {}\n\nid: ${'9'.repeat(301)}\ndata: {}\n\n`);
      response.end(`data: ${JSON.stringify(odd)}\n\ndata: ${JSON.stringify(good)}\n\n`);
    };
    const told: unknown[] = [];
    client({ cache: false }).onChange(({ names }) => told.push(names));
    await until(() => resumed.length > 1);
    expect([resumed.slice(0, 2), told[0]]).toEqual([[undefined, '7'], ['A']]);
  });
});
