// A server that speaks a vendor's wire format, as strict as the vendor documents: what a test does not expect
// is refused, as the vendor would. It runs in Node, and without the rest of the project, so that vendors' own
// clients, tests and benches use the same one.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeRequest {
  method: string;
  /** The path as it was sent, percent-encoded. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** The body as it was sent. */
  text: string;
  /** The body as JSON; undefined for what is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a vendor looks into it field by field.
  json: any;
}

export interface FakeAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is a text. */
  body?: unknown;
}

export interface Fake {
  url: string;
  /** What was asked, oldest first. */
  requests: FakeRequest[];
  /** Requests that write; a vendor that reads by POST puts its own in place. */
  writes(): FakeRequest[];
  /**
   * Answers in place of the vendor's for as long as it returns one. `drop` ends the connection; `after` does
   * so once the vendor has done it.
   */
  interrupt: ((request: FakeRequest, n: number) => FakeAnswer | 'drop' | 'after' | null) | null;
  close(): Promise<void>;
}

/** Starts a server on loopback. `answer` is the vendor: it sees each request once, in order. */
export async function startFake(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): Promise<Fake> {
  const requests: FakeRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = await read(incoming);
    requests.push(request);
    const instead = fake.interrupt?.(request, requests.length) ?? null;
    if (instead === 'drop') return incoming.socket.destroy();
    const answered = instead && instead !== 'after' ? instead : await answer(request);
    if (instead === 'after') return incoming.socket.destroy();
    send(outgoing, answered);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const fake: Fake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    writes: () => requests.filter(({ method }) => method !== 'GET' && method !== 'HEAD'),
    interrupt: null,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return fake;
}

async function read(incoming: IncomingMessage): Promise<FakeRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString('utf8');
  const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
  return {
    method: incoming.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers: incoming.headers,
    text,
    json: parsed(text),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function send(outgoing: ServerResponse, { status, headers = {}, body }: FakeAnswer) {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  outgoing.writeHead(status, { ...(text && { 'Content-Type': 'application/json' }), ...headers });
  outgoing.end(text);
}
