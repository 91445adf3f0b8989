// The head of an upstream's answer, as its caller gets it. Pure. Invariants: values are masked in all of it;
// nothing in it acts on this service's own origin, or sends a client there.
import { maskedText } from './mask';

export interface AnswerOf {
  upstream: string;
  /** The upstream's base URL, and what was really asked. */
  base_url: string;
  url: string;
  /** Where callers reach the upstream: this service's route, without a slash at its end. */
  route: string;
  values: readonly string[];
}

/** Those of one connection, those that act on an origin, and what describes the encoding that was undone. */
const NOT_PASSED = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'content-length', 'content-encoding', 'http2-settings'],
  ...['set-cookie', 'set-cookie2', 'alt-svc', 'clear-site-data', 'strict-transport-security', 'refresh'],
  ...['service-worker-allowed', 'nel', 'report-to', 'reporting-endpoints', 'authentication-info'],
  ...['content-security-policy', 'content-security-policy-report-only', 'sec-websocket-extensions'],
  ...['sec-websocket-accept', 'x-content-type-options', 'speculation-rules'],
]);
const NOT_PASSED_PREFIXES = ['access-control-', 'svc-', 'proxy-', 'set-cookie'];

const isPassed = (name: string): boolean =>
  !NOT_PASSED.has(name) && !NOT_PASSED_PREFIXES.some((prefix) => name.startsWith(prefix));

/** Headers that this service uses itself. */
const isRenamed = (name: string): boolean => /^(request-id|ratelimit.*|x-ratelimit-.*)$/.test(name);

/**
 * A reference of the upstream as its caller can use it: below the base URL it leads to this service's route,
 * elsewhere it is absolute. Null if it leads to this service itself, where the caller's credential means
 * more.
 */
export function rewritten(reference: string, { base_url, url, route }: AnswerOf): string | null {
  if (!URL.canParse(reference, url)) return null;
  const target = new URL(reference, url);
  const base = new URL(base_url);
  const path = base.pathname.replace(/\/$/, '');
  const isBelow = target.pathname === path || target.pathname.startsWith(`${path}/`);
  if (target.origin === base.origin && isBelow && target.username === '' && target.password === '')
    return `${route}${target.pathname.slice(path.length) || '/'}${target.search}${target.hash}`;
  // safety: use-no-way-to-this-origin
  return target.host === new URL(route).host ? null : target.href;
}

/** The references of a Link header, each rewritten; null if one leads to this service itself. */
function linksOf(value: string, answer: AnswerOf): string | null {
  let isOurs = false;
  const links = value.replace(/<([^<>]*)>/g, (_, reference: string) => {
    const link = rewritten(reference.trim(), answer);
    isOurs ||= link === null;
    return `<${link}>`;
  });
  return isOurs ? null : links;
}

/** Bytes of a header as characters, and as text where they spell UTF-8: both are masked. */
function maskedHeader(values: readonly string[], value: string): string {
  const once = maskedText(values, value);
  if (!/[\x80-\xff]/.test(once) || /[^\0-\xff]/.test(once)) return once;
  const text = new TextDecoder().decode(Uint8Array.from(once, (char) => char.charCodeAt(0)));
  return maskedText(values, text) === text ? once : maskedText(values, text);
}

const LOCATIONS = ['location', 'content-location'];

/** The headers of an answer for its caller. */
export function answerHeaders(given: Headers, answer: AnswerOf): Headers {
  const { values, upstream } = answer;
  const lower = values.map((value) => value.toLowerCase());
  const named = (given.get('connection') ?? '').toLowerCase().split(',');
  const listed = new Set(named.map((name) => name.trim()));
  const headers = new Headers();
  for (const [name, value] of given) {
    if (!isPassed(name) || listed.has(name)) continue;
    // The platform writes names in lower case. A name cannot be masked, so it goes.
    if (maskedText(lower, name) !== name) continue;
    const masked = maskedHeader(values, value);
    const shown = LOCATIONS.includes(name)
      ? rewritten(masked, answer)
      : name === 'link'
        ? linksOf(masked, answer)
        : masked;
    if (shown !== null) headers.append(isRenamed(name) ? `Svc-Upstream-${name}` : name, shown);
  }
  headers.set('Svc-Upstream', upstream);
  headers.set('Content-Security-Policy', 'sandbox');
  return headers;
}

/** The reason of an answer. */
export const answerReason = (reason: string, values: readonly string[]): string =>
  maskedHeader(values, reason).replace(/[^\x20-\x7e]/g, '');
