// --wait: exactly the held request is repeated once it is approved. The vault is a stand-in, because people decide approvals.
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine } from './harness.ts';

const ID = 'apr_0HrZKtC4bqXw2vJm8yNd1L';
const ORG = 'org_0HrZKtC4bqXw2vJm8yNd1L';
interface Seen {
  method: string;
  url: string;
  approval: string | undefined;
  body: string;
}
let server: http.Server;
let machine: Machine;
let seen: Seen[] = [];
let decisions: string[] = [];
let named = ID;

beforeAll(async () => {
  server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { method = '', url = '', headers } = request;
    seen.push({ method, url, approval: headers['approval-id'] as string | undefined, body });
    const reply = (status: number, json: object) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(json));
    };
    if (url.includes('/approvals/')) return reply(200, { id: ID, status: decisions.shift() });
    if (headers['approval-id'] === ID) return reply(200, { name: 'A', environment: 'staging', version: 2, value: 'v', expires_at: null });
    reply(403, { error: { code: 'APPROVAL_REQUIRED', message: 'Held.', docs: 'https://x', approval: { id: named, status: 'pending' } } });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  machine = new Machine({ SVC_URL: `http://127.0.0.1:${port}`, SVC_ORG_ID: ORG, SVC_TOKEN: 'svcag_x', SVC_ENVIRONMENT: 'staging' });
});
afterAll(() => server.close());

const run = async (argv: string[], said: string[], stdin?: string) => {
  [seen, decisions] = [[], said];
  return machine.svc(argv, { stdin });
};

describe('approval', () => {
  it('approval: with --wait exactly the same request is repeated once it is approved', async () => {
    const ran = await run(['set', 'A', '--wait'], ['pending', 'approved'], 'horse');
    expect(ran.code, ran.stderr).toBe(0);
    const calls = seen.filter(({ url }) => !url.includes('/approvals/'));
    expect(calls).toHaveLength(2);
    expect(calls[1]).toEqual({ ...calls[0], approval: ID });
    expect(seen.filter(({ url }) => url.includes('/approvals/')).map(({ url }) => url)).toEqual(
      Array(2).fill(`/api/v1/orgs/${ORG}/approvals/${ID}?wait=25`),
    );
    expect(ran.stderr).toContain(`/console/approvals/${ID}`);
  });

  it('approval: a rejected or cancelled request is not repeated', async () => {
    for (const decision of ['rejected', 'cancelled', 'expired']) {
      expect((await run(['get', 'A', '--wait'], [decision])).code).toBe(4);
      expect(seen.filter(({ approval }) => approval)).toEqual([]);
    }
  });

  it('approval: without --wait svc does not wait; with --approval the header is sent immediately', async () => {
    expect((await run(['get', 'A'], [])).code).toBe(8);
    expect(seen).toHaveLength(1);
    expect(await run(['get', 'A', '--approval', ID], [])).toMatchObject({ code: 0, stdout: 'v' });
    expect(seen.map(({ approval }) => approval)).toEqual([ID]);
  });

  it('approval: a malformed id is not used in a path', async () => {
    named = '../../whoami';
    expect((await run(['get', 'A', '--wait'], ['approved'])).code).toBe(8);
    expect(seen).toHaveLength(1);
    named = ID;
  });
});
