// Tests of svc mcp: the official client, which starts the built svc, and a third-party server that echoes its
// requests.
import http from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { BIN, type Machine } from '../harness.ts';

export interface Answered {
  isError: boolean;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at.
  json: any;
}

export interface Agent {
  client: Client;
  pid: number;
  stderr(): string;
  call(name: string, given?: object): Promise<Answered>;
  run(command: string[], more?: object): Promise<Answered>;
  close(): Promise<void>;
}

/** Starts svc mcp the way an MCP client does. */
export async function mcp(machine: Machine, argv: string[], env: Record<string, string>): Promise<Agent> {
  const all = { ...machine.env, ...env } as Record<string, string>;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', ...argv],
    env: all,
    cwd: machine.work,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (data) => (said += data));
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  const call = async (name: string, given: object = {}) => {
    const result = (await client.callTool({
      name,
      arguments: given as Record<string, unknown>,
    })) as CallToolResult;
    const texts = result.content.map((block) => (block.type === 'text' ? block.text : ''));
    return {
      isError: Boolean(result.isError),
      text: texts.join('\n'),
      get json() {
        return JSON.parse(texts[0] ?? '');
      },
    };
  };
  return {
    client,
    pid: transport.pid as number,
    stderr: () => said,
    call,
    run: (command, more = {}) => call('run_command', { command, ...more }),
    close: () => client.close(),
  };
}

export interface Echo {
  host: string;
  url: string;
  seen: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[];
  close(): void;
}

/** A server that echoes each request, in its headers and its body. @param other the target of /redirect */
export async function startEcho(other = 'http://127.0.0.1:1'): Promise<Echo> {
  const seen: Echo['seen'] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { method = '', url = '', headers } = request;
    seen.push({ method, url, headers, body });
    if (url.startsWith('/redirect')) return response.writeHead(307, { Location: `${other}${url}` }).end();
    if (url.startsWith('/large')) return response.end('x'.repeat(3_000_000));
    const repeated = String(headers.authorization ?? '');
    response.writeHead(200, { 'X-Echo': repeated, 'Set-Cookie': `token=${encodeURIComponent(repeated)}` });
    response.end(JSON.stringify({ method, url, headers, body }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return { host, url: `http://${host}`, seen, close: () => server.close() };
}
