// The egress guard: the only place that fetches user-chosen addresses. Invariants: a target is https on a
// public address and an allowed port, checked when it is stored and again before each request; redirects are
// not followed; one timeout covers the whole exchange; only the given headers are sent, and only the start of
// the response is read. The platform connects by name, so a name may resolve differently between this look-up
// and the connection. In production, `global_fetch_strictly_public` keeps such a request on the public
// Internet.
import ipaddr from 'ipaddr.js';
import QuickLRU from 'quick-lru';
import { concat } from '../crypto/bytes';
import { version } from '../version';

export interface Egress {
  /** Allows http and private addresses, for development and tests. */
  allowPrivate: boolean;
  /** Well-known ports that this kind of target uses: 6443 for a Kubernetes API server. */
  ports?: readonly number[];
}

const MOST_CHARACTERS = 2048;

/** The lowest allowed port other than 443. */
const LEAST_PORT = 1024;

/**
 * Ports above 1023 that browsers block (https://fetch.spec.whatwg.org/#port-blocking), and those of
 * databases, brokers and control planes.
 */
const SERVICE_PORTS = new Set([
  ...[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
    6697, 10080,
  ],
  ...[
    1433, 1521, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 5985, 5986, 6379,
    6443, 8500, 9042, 9092,
  ],
  ...[9200, 9300, 10250, 10255, 11211, 27017, 27018, 27019],
]);

/**
 * Names that never belong to a public host, including their subdomains (RFC 6761, 6762, 8375, and names of
 * local networks).
 */
const PRIVATE_NAMES = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
];

/** In a public range, but answered by the cloud host itself: Azure's WireServer. */
const HOST_ADDRESSES = new Set(['168.63.129.16']);

/** Global unicast: other addresses are not routed or contain an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is public: not loopback, private, link-local, carrier-grade NAT, multicast,
 * documentation or otherwise reserved.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  // safety: egress-public-address
  if (address.range() !== 'unicast' || HOST_ADDRESSES.has(address.toString())) return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

/**
 * Why a URL is not an allowed target, worded to follow its name; null if it is. `guardedFetch` resolves names
 * later.
 */
export function checkTarget(text: string, { allowPrivate, ports = [] }: Egress): string | null {
  if (text.length > MOST_CHARACTERS) return `must have at most ${MOST_CHARACTERS} characters`;
  // A parser would drop or change these characters: the stored URL must be the checked one.
  if (/[\s\p{C}\\]/u.test(text) || !URL.canParse(text))
    return 'must be a URL without spaces, control characters or backslashes';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    return 'must begin with https://';
  if (!/^https?:\/\/[^/?#]/i.test(text)) return 'must have a host after https://';
  // safety: egress-no-user-info
  if (/^https?:\/\/[^/?#]*@/i.test(text)) return 'must not contain a user name or password';
  if (text.includes('#')) return 'must not have a fragment';
  return portProblem(url, ports) ?? (allowPrivate ? null : hostProblem(url.hostname));
}

function portProblem({ port }: URL, ports: readonly number[]): string | null {
  // The parser omits the scheme's default port.
  if (port === '' || port === '443' || ports.includes(Number(port))) return null;
  // safety: egress-ports
  return Number(port) < LEAST_PORT || SERVICE_PORTS.has(Number(port))
    ? 'must have port 443, or a port from 1024 that no well-known service uses'
    : null;
}

const notPublic = 'must name a public host';

/**
 * The parser has normalised the host: an IPv4 address is four decimal numbers in any notation, Unicode is
 * Punycode, and letters are lower case.
 */
function hostProblem(host: string): string | null {
  if (host.startsWith('[')) return isPublicAddress(host.slice(1, -1)) ? null : notPublic;
  if (ipaddr.IPv4.isValid(host)) return isPublicAddress(host) ? null : notPublic;
  const name = host.replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > 253 || !labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)))
    return 'must name a valid host';
  // safety: egress-private-names
  const isPrivate =
    labels.length < 2 || PRIVATE_NAMES.some((ending) => name === ending || name.endsWith(`.${ending}`));
  return isPrivate ? notPublic : null;
}

// ---------------------------------------------------------------- requests

/** One timeout for resolving, connecting, sending and reading. */
const TIMEOUT = 10_000;
/** Bytes of a response that are read by default. */
const READ = 65_536;

export interface GuardedRequest {
  method?: string;
  /** All headers to send, in addition to User-Agent and those of HTTP itself. */
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  /** Bytes of the response to read. */
  read?: number;
  /** Asked right before the request is sent: if not, nothing is sent. */
  mayBegin?(): Promise<boolean>;
  /** Only for tests. */
  timeout?: number;
}

/**
 * Why there was no response: not allowed, withheld by `mayBegin`, name not found, private address, no
 * connection, or timeout.
 */
export type Unreachable =
  | 'target_refused'
  | 'withheld'
  | 'name_not_found'
  | 'private_address'
  | 'connection_failed'
  | 'timeout';

export interface Answered {
  status: number;
  headers: Headers;
  /** The start of the response. */
  text: string;
  ms: number;
}

/** With the start of the response as bytes too. */
export interface AnsweredBytes extends Answered {
  bytes: Uint8Array;
}

/** Sends one request to a user-chosen address. A redirect is returned like any response. Never throws. */
export async function guardedFetch(
  egress: Egress,
  url: string,
  request: GuardedRequest = {},
): Promise<AnsweredBytes | { unreachable: Unreachable; ms: number }> {
  const began = Date.now();
  const signal = AbortSignal.timeout(request.timeout ?? TIMEOUT);
  const ended = (unreachable: Unreachable) => ({ unreachable, ms: Date.now() - began });
  // safety: egress-checked-before-request
  if (checkTarget(url, egress) !== null) return ended('target_refused');
  try {
    const found = egress.allowPrivate ? null : await lookUp(new URL(url).hostname, signal);
    // safety: egress-name-looked-up
    if (found) return ended(found);
    // safety: call-begins-under-permit
    if (request.mayBegin && !(await request.mayBegin())) return ended('withheld');
    const response = await fetch(url, {
      method: request.method ?? 'POST',
      headers: { 'User-Agent': `secrets-vault-service/${version}`, ...request.headers },
      ...(request.body !== undefined && { body: request.body }),
      // safety: egress-redirects-not-followed
      redirect: 'manual',
      signal,
    });
    const bytes = await startOf(response, request.read ?? READ, signal);
    return {
      status: response.status,
      headers: response.headers,
      text: textOf(bytes),
      bytes,
      ms: Date.now() - began,
    };
  } catch {
    // The platform's error message may contain the URL.
    return ended(signal.aborted ? 'timeout' : 'connection_failed');
  }
}

export interface GuardedStream {
  method: string;
  /** All headers to send, in addition to those of HTTP itself. */
  headers: [name: string, value: string][];
  body: ReadableStream<Uint8Array> | Uint8Array | null;
  /** Ends the exchange, the body of the response included. */
  signal: AbortSignal;
}

/**
 * Like `guardedFetch`, but streams both ways: the caller bounds time and bytes. The body of the response is
 * as it was sent, compressed or not. Never throws.
 */
export async function guardedStream(
  egress: Egress,
  url: string,
  { method, headers, body, signal }: GuardedStream,
): Promise<Response | { unreachable: Unreachable }> {
  // safety: stream-checked-before-request
  if (checkTarget(url, egress) !== null) return { unreachable: 'target_refused' };
  try {
    const found = egress.allowPrivate ? null : await lookUp(new URL(url).hostname, signal);
    // safety: stream-name-looked-up
    if (found) return { unreachable: found };
    return await fetch(url, {
      method,
      headers,
      body: body as BodyInit | null,
      // safety: stream-redirects-not-followed
      redirect: 'manual',
      encodeResponseBody: 'manual',
      signal,
    } as RequestInit);
  } catch {
    // The platform's error message may contain the URL.
    return { unreachable: signal.aborted ? 'timeout' : 'connection_failed' };
  }
}

/** The first bytes of a response's body; the rest is not read. */
async function startOf({ body }: Response, most: number, signal: AbortSignal): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop);
  const parts: Uint8Array[] = [];
  try {
    for (let left = most; left > 0; ) {
      const { value, done } = await reader.read();
      if (signal.aborted) throw new Error('timeout');
      if (done) break;
      parts.push(value.subarray(0, left));
      left -= value.length;
    }
    return concat(...parts);
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Without a last character that is cut off. */
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });

// ---------------------------------------------------------------- names

/**
 * DNS over HTTPS as JSON:
 * https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/
 */
const RESOLVER = 'https://cloudflare-dns.com/dns-query';
const ADDRESSES = { A: 1, AAAA: 28 } as const;
/** How long an isolate caches a look-up. */
const LOOKED_UP_FOR = 30_000;
const lookedUp = new QuickLRU<string, 'public' | 'private_address'>({ maxSize: 1000, maxAge: LOOKED_UP_FOR });

/** Null if all addresses of a host are public. */
async function lookUp(host: string, signal: AbortSignal): Promise<Unreachable | null> {
  if (host.startsWith('[') || ipaddr.IPv4.isValid(host)) return null;
  const known = lookedUp.get(host);
  if (known) return known === 'public' ? null : known;
  const types = Object.keys(ADDRESSES) as (keyof typeof ADDRESSES)[];
  const found = (await Promise.all(types.map((type) => addressesOf(host, type, signal)))).flat();
  if (found.length === 0) return 'name_not_found';
  // safety: egress-every-address-public
  const isPublic = found.every(isPublicAddress);
  lookedUp.set(host, isPublic ? 'public' : 'private_address');
  return isPublic ? null : 'private_address';
}

/** Throws if the resolver does not respond; then nothing is sent. */
async function addressesOf(
  host: string,
  type: keyof typeof ADDRESSES,
  signal: AbortSignal,
): Promise<string[]> {
  const response = await fetch(`${RESOLVER}?${new URLSearchParams({ name: host, type })}`, {
    headers: { Accept: 'application/dns-json' },
    redirect: 'error',
    signal,
  });
  if (!response.ok) throw new Error('the resolver did not respond');
  const answer = JSON.parse(textOf(await startOf(response, READ, signal))) as {
    Status?: unknown;
    Answer?: { type: number; data: unknown }[];
  };
  // 0: found; 3: the name does not exist.
  if (answer.Status !== 0 && answer.Status !== 3) throw new Error('the resolver did not respond');
  return (answer.Answer ?? [])
    .filter((record) => record.type === ADDRESSES[type])
    .map(({ data }) => String(data));
}
