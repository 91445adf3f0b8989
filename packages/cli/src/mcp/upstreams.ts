// http_request and list_upstreams: HTTP APIs that the vault calls. Invariants: the vault places the secrets
// and masks the answer, so no value reaches this machine; the agent chooses neither the credential of the
// call nor its approval; what is sent is the path that the agent wrote.
import { staysBelow } from '@secrets-vault/client';
import { CliError, usage } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';
import { VERSION } from '../version.ts';
import { HEADER_NAME } from './hosts.ts';
import { type Answer, answerOf, failed, HEADER_VALUE } from './http.ts';
import { heldBy, notYet, type Session } from './session.ts';

export interface Ask {
  upstream: string;
  method: string;
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  timeout: number;
  characters: number;
}

/** Of a refusal, what a model needs. */
interface Refusal {
  error?: {
    code?: unknown;
    message?: unknown;
    remedy?: unknown;
    approval?: { id?: unknown; status?: unknown };
  };
}

/**
 * Headers of the connection, of the vault's own API, and those that bring a credential: the vault reads the
 * caller from them.
 */
const NOT_SET =
  /^(host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|via|accept-encoding|cookie2?|origin|referer|authorization|x-api-key|api-key|x-goog-api-key|approval-id|x-access-.*|dpop|svc-.*|cf-.*|proxy-.*|sec-.*|forwarded|x-forwarded-.*|x-(http-)?method(-override)?)$/i;

/** The most of a refusal that is read, in bytes. */
const MOST_REFUSAL = 64 * 1024;

export async function listUpstreams(session: Session) {
  const { vault } = session;
  const rows = await everything(async (query) => {
    const { data } = await vault.api.GET('/orgs/{org_id}/upstreams', {
      params: { path: { org_id: vault.org }, query },
    });
    return data;
  });
  // safety: mcp-upstreams-masked
  return session.masked({ upstreams: rows.map(({ name, base_url, allow }) => ({ name, base_url, allow })) });
}

/** Sends a request through an upstream. */
export async function useUpstream(session: Session, ask: Ask, signal: AbortSignal): Promise<Answer> {
  const url = addressOf(session, ask);
  const headers = headersOf(session, ask);
  const init = { method: ask.method, headers, body: ask.body, redirect: 'manual' as const };
  const ends = AbortSignal.any([signal, session.closing.signal, AbortSignal.timeout(ask.timeout * 1000)]);
  try {
    const send = () => fetch(url, { ...init, signal: ends });
    const first = await send();
    const response = await afterApproval(session, first, headers, send);
    return await answerOf(session, response, ask.characters);
  } catch (error) {
    if (error instanceof CliError) throw error;
    signal.throwIfAborted();
    throw failed('The vault', error, ends.aborted ? ask.timeout : undefined);
  }
}

/** The address of the call. Refuses a path that would be sent as another one. */
function addressOf(session: Session, { upstream, path, query = {} }: Ask): URL {
  const whole = `${session.origin}/api/v1/orgs/${session.vault.org}/use/${upstream}${path}`;
  // safety: mcp-use-path
  if (
    !path.startsWith('/') ||
    path.includes('#') ||
    !staysBelow(path) ||
    !URL.canParse(whole) ||
    new URL(whole).href !== whole
  )
    throw usage(
      'path must begin with / and be written as URLs are: percent-encoded, without . and .. as segments.',
    );
  const url = new URL(whole);
  for (const [name, text] of Object.entries(query)) url.searchParams.append(name, text);
  return url;
}

function headersOf(session: Session, { method, path, upstream, headers = {}, body }: Ask): Headers {
  if (body !== undefined && /^(GET|HEAD)$/.test(method)) throw usage(`${method} cannot have a body.`);
  const sent = new Headers({ 'User-Agent': `svc-mcp/${VERSION}` });
  for (const [name, text] of Object.entries(headers)) {
    // Servers that pass headers on as variables read `_` as `-`.
    // safety: mcp-use-headers
    if (!HEADER_NAME.test(name) || NOT_SET.test(name.replaceAll('_', '-')))
      throw usage(`The header ${clean(name)} cannot be set. The vault adds the credential by itself.`);
    if (!HEADER_VALUE.test(text))
      throw usage(`The header ${clean(name)} would contain a character that headers cannot contain.`);
    sent.append(name, text);
  }
  sent.set('Authorization', `Bearer ${session.token}`);
  sent.set('X-Access-Reason', session.reasonFor('http_request', `${method} ${upstream} ${path}`));
  return sent;
}

/**
 * The answer of the upstream. A call that an approval covers is repeated with it: the vault compares the
 * whole call with what deciders were shown.
 */
async function afterApproval(
  session: Session,
  response: Response,
  headers: Headers,
  send: () => Promise<Response>,
): Promise<Response> {
  if (!isRefusal(response)) return response;
  const refusal = await refusalOf(response);
  const held = heldBy(refusal.error ?? {});
  if (!held) throw asError(refusal);
  const name = 'the call';
  if (held.status !== 'approved')
    throw notYet([{ name, ...held }], undefined, `${session.origin}/console/approvals/${held.id}`);
  headers.set('Approval-Id', held.id);
  const again = await send();
  if (isRefusal(again)) throw asError(await refusalOf(again));
  return again;
}

/** Whether an answer is the vault's own. What is neither its own nor an upstream's comes from elsewhere. */
function isRefusal(response: Response): boolean {
  if (response.headers.has('Svc-Upstream')) return false;
  if (response.headers.has('Svc-Error') || response.status === 401) return true;
  throw new CliError(`The answer, ${response.status}, is not from the vault. A proxy may have answered.`, {
    exit: 'failure',
    code: 'UNEXPECTED_RESPONSE',
    status: response.status,
  });
}

async function refusalOf(response: Response): Promise<Refusal> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_REFUSAL) break;
  }
  try {
    return (JSON.parse(Buffer.concat(chunks).toString()) ?? {}) as Refusal;
  } catch {
    return {};
  }
}

function asError({ error = {} }: Refusal): CliError {
  const text = (value: unknown) => (typeof value === 'string' ? clean(value) : undefined);
  return new CliError(text(error.message) ?? 'The vault refused the call.', {
    exit: 'refused',
    code: text(error.code) ?? 'UNEXPECTED_RESPONSE',
    next: text(error.remedy),
  });
}
