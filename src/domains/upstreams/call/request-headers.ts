// Which of a caller's headers go to an upstream. Pure. Invariant: what identifies the caller, what belongs to
// one connection, and what would change the meaning of a call after it was judged stays here.

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Those of one connection (RFC 9110 §7.6.1), and those that `fetch` sets itself. */
const OF_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'host', 'content-length', 'expect'],
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions', 'sec-websocket-accept'],
];

/** Headers in which a caller's credential can come. */
export const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Those that are this service's, or that tell where the caller is. */
const OURS = [
  ...[...CREDENTIAL_HEADERS, 'cookie', 'cookie2', 'approval-id', 'x-access-reason', 'x-access-call', 'dpop'],
  ...['forwarded', 'via', 'origin', 'referer', 'x-real-ip', 'true-client-ip', 'accept-encoding'],
];

/**
 * Headers that make another method, path or host of a request (CVE-2018-14773), or name a proxy
 * (CVE-2016-5385).
 */
const OVERRIDES = [
  ...['x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-method'],
  ...['x-original-url', 'x-original-uri', 'x-rewrite-url', 'x-request-uri', 'x-envoy-original-path'],
  ...['x-host', 'x-original-host', 'x-real-host', 'x-http-host-override', 'proxy'],
];

const KEPT_HERE = new Set([...OF_CONNECTION, ...OURS, ...OVERRIDES]);
const KEPT_PREFIXES = ['cf-', 'x-forwarded-', 'svc-', 'proxy-'];

/**
 * A name as servers compare it: CGI and what follows it read an underscore as a hyphen (RFC 3875 §4.1.18,
 * CVE-2025-64484).
 */
export const asCompared = (name: string): string => name.toLowerCase().replaceAll('_', '-');

function isKeptHere(given: string): boolean {
  // safety: use-headers-compared-as-servers-do
  const name = asCompared(given);
  return KEPT_HERE.has(name) || KEPT_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Those of the body, of conditions and of browsers, and further names of methods. */
const OF_CALL = /^(range|(if|content|sec|x-http-method|x-method)(-.*)?)$/;

/** Whether `auth` of an upstream can set a header: a credential, or one that stands for nothing else. */
export function isPlaceable(given: string): boolean {
  const name = asCompared(given);
  const isCredential = name === 'cookie' || CREDENTIAL_HEADERS.some((header) => header === name);
  return isCredential || !(isKeptHere(name) || OF_CALL.test(name));
}

/** What of a caller's headers can be sent on, in lower case and sorted. */
export function sendable(headers: Headers): [name: string, value: string][] {
  const named = (headers.get('connection') ?? '').toLowerCase().split(',');
  const listed = new Set(named.map((name) => name.trim()));
  return (
    [...headers]
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      // safety: use-headers-kept-here
      .filter(([name]) => !isKeptHere(name) && !listed.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
  );
}

/**
 * Headers that an approval does not cover, since they differ from one attempt to the next. A held call is
 * sent without them.
 */
const NOT_COVERED =
  /^(user-agent|accept-language|traceparent|tracestate|baggage|idempotency-key|x-amz-date|sec-websocket-(key|version|extensions)|(amz-sdk-|x-stainless-|x-stripe-client-).*)$/;

/** What of these an approval covers. */
export const covered = (headers: HeaderList): HeaderList =>
  headers.filter(([name]) => !NOT_COVERED.test(name));

/** The name that this service has in `Via`. */
export const VIA = 'svc-use';

/** Whether a request already came through an upstream of this service. */
export const isLoop = (headers: Headers): boolean =>
  new RegExp(`(^|[\\s,])${VIA}([\\s,]|$)`, 'i').test(headers.get('via') ?? '');

export const isWebSocket = (method: string, headers: Headers): boolean =>
  method === 'GET' && headers.get('upgrade')?.trim().toLowerCase() === 'websocket';
