// Local targets of the vault: a Kubernetes API server with one Secret, and a receiver of webhooks and
// messages.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Target {
  url: string;
  /** The bodies of the requests, oldest first. */
  received: string[];
  /** The content of the Secret of the API server. */
  data: Record<string, string>;
  /** If set, responds with this status instead of success. */
  status: number;
  /** Delays responses while it is set. */
  wait: Promise<void> | null;
  stop: () => Promise<void>;
}

/** A merge patch of the Secret, or a complete new one. */
function apply(target: Target, method: string, body: string): void {
  const { data = {} } = JSON.parse(body) as { data?: Record<string, string | null> };
  if (method === 'POST') target.data = {};
  for (const [name, value] of Object.entries(data)) {
    if (value === null) delete target.data[name];
    else target.data[name] = value;
  }
}

/** Starts a target on a free port. */
export async function startTarget(): Promise<Target> {
  const server = http.createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    const isSecret = request.url?.includes('/secrets') ?? false;
    if (target.wait) await target.wait;
    const { status } = target;
    if (!isSecret) target.received.push(body);
    else if (status === 200 && request.method !== 'GET') apply(target, request.method ?? '', body);
    response.writeHead(status, { 'Content-Type': isSecret ? 'application/json' : 'text/plain' });
    response.end(isSecret ? JSON.stringify({ kind: 'Secret', data: target.data }) : 'ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target: Target = { url, received: [], data: {}, status: 200, wait: null, stop };
  return target;
}
