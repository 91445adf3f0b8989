// A vault of an attacker: it answers what a test says, and records what it gets.
import http from 'node:http';
import { RESPONSES, SCHEMAS } from '../src/requests/shapes.ts';

export interface Hostile {
  url: string;
  /** The headers and body of each request. */
  stolen: string[];
  /** Bodies of answers by path with query, in JSON; `{}` for others. */
  answers: Record<string, string>;
  /** Answers requests itself; undefined for the answers above. */
  handler: ((request: http.IncomingMessage, response: http.ServerResponse) => void) | undefined;
  close(): void;
}

export async function startHostile(): Promise<Hostile> {
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    hostile.stolen.push(`${JSON.stringify(request.headers)} ${body}`);
    if (hostile.handler) return hostile.handler(request, response);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(hostile.answers[request.url ?? ''] ?? '{}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const hostile: Hostile = { url, stolen: [], answers: {}, handler: undefined, close };
  return hostile;
}

/** An answer with every field of its schema: each text is this one, and the fields given are set. */
export function answerOf(schema: string, text: string, fields: object = {}): Record<string, unknown> {
  const made = (SCHEMAS[schema] ?? '').split(' ').map((field) => {
    const [name = '', kinds = ''] = field.split(':');
    return [name.replace('?', ''), sample(kinds.split('|')[0] ?? '', text)];
  });
  return { ...Object.fromEntries(made), next_cursor: null, has_more: false, ...fields };
}

function sample(kind: string, text: string): unknown {
  if (kind.startsWith('@')) return answerOf(kind.slice(1), text);
  if (kind.startsWith('[')) return [answerOf(kind.slice(2, -1), text)];
  return { string: text, number: 1, boolean: true, array: [], object: {} }[kind] ?? null;
}

/** Every operation of the document with its status and the schema of its answer. */
export const OPERATIONS = Object.entries(RESPONSES).map(([key, schema]) => {
  const at = key.lastIndexOf(' ');
  return { operation: key.slice(0, at), status: Number(key.slice(at + 1)), schema };
});

const matchers = OPERATIONS.map(({ operation, status, schema }) => {
  const [method, at = ''] = operation.split(' ');
  return {
    method,
    at: new RegExp(`^/api/v1${at.replace(/\{\w+\}/g, '[^/]+')}$`),
    literals: at.replace(/\{\w+\}/g, '').length,
    status,
    schema,
  };
}).sort((one, other) => other.literals - one.literals);

/** Answers every operation with every field of its schema, all texts this one. */
export const answeringEverything =
  (text: string, fields: object = {}): NonNullable<Hostile['handler']> =>
  ({ method, url = '' }, response) => {
    const { pathname } = new URL(url, 'http://vault');
    const found = matchers.find((one) => one.method === method && one.at.test(pathname));
    response.writeHead(found?.status ?? 204, { 'Content-Type': 'application/json' });
    response.end(found && JSON.stringify(answerOf(found.schema, text, fields)));
  };
