// Sends requests of a program to the vault, and its answers back, as they come. Invariants: the program's own
// credential is not sent on, and the vault's does not reach the program; what one side breaks off is broken
// off on the other.
import http from 'node:http';
import https from 'node:https';
import type { Duplex, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream';
import { CREDENTIAL_HEADERS } from './access.ts';
import { Kept } from './kept.ts';

/** How calls reach the vault. */
export interface Gateway {
  origin: string;
  org: string;
  reason: string | undefined;
  /** The credential, or another one after the vault refused it. */
  token(refused?: string): Promise<string | null>;
  /** Told of a call that needs an approval. Resolves to its id once the call may be repeated with it. */
  held(approval: { id: string; status: string }): Promise<string | null>;
}

/** One request of a program. */
export interface Incoming {
  request: http.IncomingMessage;
  upstream: string;
  /** The path behind the base URL, and the query, as they were sent. */
  path: string;
  /** Where the program reaches the upstream, without a slash at the end. */
  own: string;
}

/** Those of one connection, those that the vault reads itself, and those that bring a credential. */
const NOT_SENT = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'host', 'expect', 'cookie', 'cookie2'],
  ...['approval-id', 'x-access-reason', 'x-access-call', 'dpop', 'forwarded', 'via', 'referer'],
  ...CREDENTIAL_HEADERS,
]);
const OF_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'trailer', 'upgrade'],
]);
/** The most of a refusal that is read. */
const MOST_REFUSAL = 64 * 1024;
const AGENTS = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };

const pairsOf = (raw: readonly string[]): [name: string, value: string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] as string]] : []));

const listed = (value: string | undefined): string[] =>
  (value ?? '').split(',').map((name) => name.trim().toLowerCase());

function headersFor({ request }: Incoming, { reason, origin }: Gateway, token: string, approval?: string) {
  const own = listed(request.headers.connection);
  // A name may be that of a property of objects.
  const sent: Record<string, string[]> = Object.create(null);
  for (const [name, value] of pairsOf(request.rawHeaders)) {
    const lower = name.toLowerCase();
    // safety: proxy-own-credential
    if (NOT_SENT.has(lower) || (own.includes(lower) && lower !== 'content-length')) continue;
    sent[lower] = [...(sent[lower] ?? []), value];
  }
  return {
    ...sent,
    host: new URL(origin).host,
    authorization: `Bearer ${token}`,
    ...(reason !== undefined && { 'x-access-reason': reason }),
    ...(approval !== undefined && { 'approval-id': approval }),
    ...('transfer-encoding' in request.headers && { 'transfer-encoding': 'chunked' }),
  };
}

/** @param agent false for a connection of its own */
function ask(
  incoming: Incoming,
  gateway: Gateway,
  token: string,
  { approval, agent }: { approval?: string; agent?: false } = {},
): http.ClientRequest {
  const { request, upstream, path } = incoming;
  const url = new URL(gateway.origin);
  const isPlain = url.protocol === 'http:';
  return (isPlain ? http : https).request({
    agent: agent ?? (isPlain ? AGENTS.http : AGENTS.https),
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (isPlain ? 80 : 443),
    method: request.method,
    path: `/api/v1/orgs/${gateway.org}/use/${upstream}${path}`,
    headers: headersFor(incoming, gateway, token, approval) as http.OutgoingHttpHeaders,
  });
}

/** The headers of an answer. Addresses of the vault's route become those that the program knows. */
function headersBack({ upstream, own }: Incoming, { org }: Gateway, answer: http.IncomingMessage): string[] {
  const connection = listed(answer.headers.connection);
  const route = new RegExp(`https?://[^/\\s<>"]+/api/v1/orgs/${org}/use/${upstream}(?=[/?#>]|$)`, 'g');
  return pairsOf(answer.rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (OF_CONNECTION.has(lower) || connection.includes(lower)) return [];
    return [name, /^(location|content-location|link)$/.test(lower) ? value.replace(route, own) : value];
  });
}

/** Answers a request of a program that may use the upstream. */
export async function forward(incoming: Incoming, response: http.ServerResponse, gateway: Gateway) {
  const { request } = incoming;
  const kept = new Kept(request);
  try {
    const token = (await gateway.token()) as string;
    let answer = await first(ask(incoming, gateway, token), response, (outgoing) => kept.send(outgoing));
    const refusal = answer.headers['svc-error'] === undefined ? undefined : await bodyOf(answer);
    const again = refusal && (await repetition(answer, refusal, gateway, token, kept));
    if (again && !response.destroyed) {
      answer = await first(
        ask(incoming, gateway, again.token, { approval: again.approval }),
        response,
        (outgoing) => outgoing.end(kept.whole),
      );
    }
    response.writeHead(
      answer.statusCode ?? 502,
      answer.statusMessage,
      headersBack(incoming, gateway, answer) as unknown as http.OutgoingHttpHeader[],
    );
    response.flushHeaders();
    if (refusal && !again) response.end(refusal);
    // An error of either side destroys the other.
    else pipeline(answer, response, () => {});
  } catch (error) {
    if (response.destroyed) return;
    if (response.headersSent) response.destroy();
    else refuse(response, 502, 'VAULT_UNREACHABLE', reasonOf(error));
  } finally {
    kept.forget();
  }
}

const reasonOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return `The vault cannot be reached${typeof code === 'string' ? ` (${code})` : ''}.`;
};

/** The head of the vault's answer. The request ends with whoever asked for it. */
function first(
  outgoing: http.ClientRequest,
  response: http.ServerResponse,
  send: (outgoing: http.ClientRequest) => void,
): Promise<http.IncomingMessage> {
  return new Promise((done, fail) => {
    response.once('close', () => outgoing.destroy());
    outgoing.once('response', done).on('error', fail);
    outgoing.setNoDelay(true);
    send(outgoing);
  });
}

/** With what a refused call is to be repeated, if its body is there as a whole. */
async function repetition(
  answer: http.IncomingMessage,
  refusal: Buffer,
  gateway: Gateway,
  token: string,
  kept: Kept,
): Promise<{ token: string; approval?: string } | null> {
  const code = answer.headers['svc-error'];
  if (code === 'TOKEN_EXPIRED' || code === 'UNAUTHENTICATED') {
    const other = kept.isWhole ? await gateway.token(token).catch(() => null) : null;
    return other === null ? null : { token: other };
  }
  if (code !== 'APPROVAL_REQUIRED') return null;
  const held = heldIn(refusal.toString());
  const approval = held && (await gateway.held(held));
  if (!approval || !kept.isWhole) return null;
  return { token: (await gateway.token()) as string, approval };
}

/** The body of a refusal of the vault. */
async function bodyOf(answer: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += chunk.length;
    if (size > MOST_REFUSAL) throw new Error('The refusal is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function heldIn(text: string): { id: string; status: string } | null {
  try {
    const { id, status } = JSON.parse(text).error.approval;
    return /^apr_[A-Za-z0-9]{1,60}$/.test(id) ? { id, status: String(status) } : null;
  } catch {
    return null;
  }
}

/** Passes a WebSocket on. */
export async function upgrade(incoming: Incoming, socket: Duplex, head: Buffer, gateway: Gateway) {
  const token = (await gateway.token()) as string;
  // The token may have been renewed meanwhile, and 'close' is not told twice.
  // safety: proxy-upgrade-gone
  if (socket.destroyed) return;
  const outgoing = ask(incoming, gateway, token, { agent: false });
  // Its bytes are no body: a declared one would be read from whatever follows.
  // safety: proxy-upgrade-body
  for (const name of ['content-length', 'transfer-encoding']) outgoing.removeHeader(name);
  outgoing.setHeader('Connection', 'Upgrade');
  outgoing.setHeader('Upgrade', 'websocket');
  socket.once('close', () => outgoing.destroy());
  socket.on('error', () => outgoing.destroy());
  outgoing.once('error', () => socket.destroy());
  outgoing.once('response', (answer) => {
    socket.write(headOf(answer, headersBack(incoming, gateway, answer), ['Connection', 'close']));
    pass(answer, socket);
  });
  outgoing.once('upgrade', (answer, other, more) => {
    socket.write(headOf(answer, answer.rawHeaders, []));
    if (more.length) other.unshift(more);
    if (head.length) socket.unshift(head);
    pass(socket, other);
    pass(other, socket);
  });
  outgoing.end();
}

/** Passes bytes on until one side ends. A socket is destroyed before it says so, and pipelines then throw. */
function pass(from: Readable, to: Writable): void {
  // safety: proxy-pass-destroyed
  if (to.destroyed) from.destroy();
  else pipeline(from, to, () => to.destroy());
}

const headOf = (answer: http.IncomingMessage, headers: readonly string[], more: readonly string[]): string =>
  [
    `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ''}`,
    ...pairsOf([...headers, ...more]).map((pair) => pair.join(': ')),
    '\r\n',
  ].join('\r\n');

/** A refusal of svc proxy itself, in the form of the vault's. */
export function refuse(response: http.ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ error: { code, message } });
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'Svc-Error': code,
      Connection: 'close',
    })
    .end(body);
}
