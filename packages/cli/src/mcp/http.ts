// http_request: a request with values in its headers, query or body. Invariants: it is sent only to an
// allowed host, and no redirect is followed; a value cannot start another header; the response, including
// headers, is limited in size and masked.
import { CliError, usage } from '../errors.ts';
import { clean } from '../text.ts';
import { VERSION } from '../version.ts';
import { type Call, callOf, json, sorted } from './calls.ts';
import { checkedAddress, checkUse, HEADER_NAME } from './hosts.ts';
import { Gathered } from './output.ts';
import { expand, hasReference, referencesIn } from './references.ts';
import type { Session } from './session.ts';

export interface Ask {
  method: string;
  url: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  basic_auth?: { username: string; password: string };
  body?: string;
  timeout: number;
  characters: number;
}

export interface Answer {
  status: number;
  status_text: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Headers that the connection sets, those by which some servers act on another path, method or host than that
 * of the request, and those by which a response comes in parts or compressed: a value in it could then not be
 * masked.
 */
const NOT_SET =
  /^(host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|via|alt-used|destination|base-url|request-uri|proxy(-.*)?|sec-.*|forwarded|(x-)?(.*-)?(forwarded|original|rewrite|unencoded|override|accel)-.*|x-(http-)?(method|host|path|url|uri|destinationurl|script-name|proxy-.*)(-override)?|range|if-range|accept-encoding)$/i;
/** Characters allowed in a header value: no line break, which would start another header. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Sends a request. */
export async function httpRequest(session: Session, ask: Ask, signal: AbortSignal): Promise<Answer> {
  const { headers = {}, query = {}, basic_auth, body } = ask;
  if (hasReference(decoded(ask.url)))
    throw usage(
      'url cannot contain a secret: addresses are logged.',
      'Place it in headers, basic_auth, body or query',
    );
  const url = checkedAddress(ask.url, session.reachable);
  checkTexts(ask);
  checkHeaders(headers, basic_auth !== undefined);
  if (body !== undefined && /^(GET|HEAD)$/.test(ask.method)) throw usage(`${ask.method} cannot have a body.`);
  const uses = [
    ...Object.entries(headers).map(([name, text]) => ({ text, header: name.toLowerCase() })),
    ...Object.values(basic_auth ?? {}).map((text) => ({ text, header: 'authorization' })),
    ...[...Object.values(query), body ?? ''].map((text) => ({ text, header: undefined })),
  ];
  for (const { text, header } of uses) checkUse(referencesIn([text]), session.policy, { url, header });
  const names = referencesIn(uses.map(({ text }) => text));
  const values = await session.values(names, requestCall(ask, url));
  const value = (name: string) => values.get(name) as string;
  for (const [name, text] of Object.entries(query)) url.searchParams.append(name, expand(text, value));
  const sent = new Headers({ 'User-Agent': `svc-mcp/${VERSION}` });
  for (const [name, text] of Object.entries(headers)) sent.set(name, headerValue(name, expand(text, value)));
  if (basic_auth)
    sent.set('Authorization', basic(expand(basic_auth.username, value), expand(basic_auth.password, value)));
  const content =
    body === undefined ? undefined : expand(body, escapedFor(sent.get('Content-Type') ?? '', value));
  return send(session, url, { method: ask.method, headers: sent, body: content }, ask, signal);
}

/** What an approval of this request covers: all of it but the limits of time and size. */
function requestCall({ method, query = {}, headers = {}, basic_auth, body }: Ask, { href }: URL): Call {
  const names = Object.keys(headers).sort();
  const parts = [
    `${method} ${href}`,
    ...(Object.keys(query).length ? [`query ${json(query)}`] : []),
    ...(names.length ? [`headers ${names.join(' ')}`] : []),
    ...(basic_auth ? ['basic_auth'] : []),
    ...(body === undefined ? [] : [`body ${json(body)}`]),
  ];
  return callOf('http_request', parts.join(' '), {
    method,
    href,
    query: Object.entries(query),
    headers: sorted(headers),
    basic_auth,
    body,
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Refuses what would be sent as something else than the agent wrote. */
function checkTexts({ query = {}, body = '', basic_auth }: Ask): void {
  if (Object.keys(query).some(hasReference))
    throw usage('The name of a query parameter cannot contain a secret. Place it in the value.');
  const texts = [
    ...Object.entries(query).flat(),
    body,
    basic_auth?.username ?? '',
    basic_auth?.password ?? '',
  ];
  // The platform would send another character instead.
  if (texts.some((text) => /\p{Cs}/u.test(text)))
    throw usage('The request contains half of a character (a lone surrogate).');
}

/** @param isBasic whether basic_auth sets the Authorization header */
function checkHeaders(headers: Record<string, string>, isBasic: boolean): void {
  const names = [
    ...Object.keys(headers).map((name) => name.toLowerCase()),
    ...(isBasic ? ['authorization'] : []),
  ];
  const twice = names.find((name, at) => names.indexOf(name) < at);
  // One would replace the other.
  if (twice)
    throw usage(
      `The header ${clean(twice)} is set twice${twice === 'authorization' && isBasic ? ': by headers and by basic_auth' : ''}.`,
    );
  for (const [name, text] of Object.entries(headers)) {
    // Servers that pass headers on as variables read `_` as `-`.
    if (!HEADER_NAME.test(name) || NOT_SET.test(name.replaceAll('_', '-')))
      throw usage(`The header ${clean(name)} cannot be set.`);
    headerValue(name, text);
  }
}

function headerValue(name: string, text: string): string {
  // safety: mcp-header-break
  if (!HEADER_VALUE.test(text))
    throw usage(
      `The header ${clean(name)} would contain a line break or another character that headers cannot contain.`,
    );
  return text;
}

function basic(username: string, password: string): string {
  if (username.includes(':')) throw usage('The user name in basic_auth must not contain a colon.');
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** A value within a body: escaped for its content type, so that it stays one value. */
function escapedFor(contentType: string, value: (name: string) => string): (name: string) => string {
  if (/^\s*application\/([\w.-]+\+)?json\b/i.test(contentType))
    return (name) => JSON.stringify(value(name)).slice(1, -1);
  if (/^\s*application\/x-www-form-urlencoded\b/i.test(contentType))
    return (name) => encodeURIComponent(value(name));
  return value;
}

async function send(
  session: Session,
  url: URL,
  init: RequestInit,
  { timeout, characters }: Ask,
  signal: AbortSignal,
): Promise<Answer> {
  const ends = AbortSignal.any([signal, session.closing.signal, AbortSignal.timeout(timeout * 1000)]);
  try {
    // safety: mcp-no-redirect
    const response = await fetch(url, { ...init, redirect: 'manual', signal: ends });
    return await answerOf(session, response, characters);
  } catch (error) {
    signal.throwIfAborted();
    throw failed(url.host, error, ends.aborted ? timeout : undefined);
  }
}

/** A response, read up to a limit and masked. */
export async function answerOf(session: Session, response: Response, characters: number): Promise<Answer> {
  const body = new Gathered();
  if (response.body) for await (const chunk of response.body) if (!body.push(chunk)) break;
  const headers: Record<string, string> = {};
  for (const [name, text] of response.headers) {
    const key = session.mask(name);
    const shown = session.mask(Buffer.from(text, 'latin1')).slice(0, 2_000);
    headers[key] = key in headers ? `${headers[key]}\n${shown}` : shown;
  }
  return {
    status: response.status,
    status_text: session.mask(response.statusText),
    headers,
    body: body.shown(session, characters),
  };
}

/** That there is no response. @param waited in seconds, if the time is up */
export function failed(who: string, error: unknown, waited: number | undefined): CliError {
  const why = (error as { cause?: { code?: unknown } }).cause?.code;
  const what =
    waited === undefined
      ? `cannot be reached${typeof why === 'string' ? ` (${why})` : ''}`
      : `did not respond within ${waited} s`;
  return new CliError(`${who} ${what}. The request may have taken effect.`, {
    exit: 'unreachable',
    code: 'REQUEST_FAILED',
  });
}
