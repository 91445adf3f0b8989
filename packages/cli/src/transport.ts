// How svc sends requests, beneath the client: the credential, and what happens if approval is required. Invariant: with --wait, exactly the same
// request is repeated once it is approved.
import type { Context } from './context.ts';
import { clean } from './text.ts';
import { VERSION } from './version.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A placeholder for an API key, which is sent directly: otherwise each command would leave a session token behind. */
export const DIRECT = 'api-key';

interface Held {
  error?: { code?: string; approval?: { id?: string } };
}

/** The fetch of the client. @param key an API key to send directly */
export function fetchOf(context: Context, key?: string): Fetch {
  const plain = context.host.fetch ?? fetch;
  const send: Fetch = (url, init) => {
    const headers = new Headers(init.headers);
    if (key && headers.get('Authorization') === `Bearer ${DIRECT}`) headers.set('Authorization', `Bearer ${key}`);
    headers.set('User-Agent', `svc/${VERSION}`);
    return plain(url, { ...init, headers });
  };
  return async (url, init) => {
    const response = await send(url, init);
    if (response.status !== 403 || !context.options.wait) return response;
    const held = (await response
      .clone()
      .json()
      .catch(() => null)) as Held | null;
    const id = held?.error?.code === 'APPROVAL_REQUIRED' ? held.error.approval?.id : undefined;
    if (!id || !/^apr_[A-Za-z0-9]{1,60}$/.test(id)) return response;
    context.out.note(`Waiting for approval ${id}: ${new URL(url).origin}/console/approvals/${id}`);
    const decision = await decisionOn(send, new URL(url), init, id);
    if (decision !== 'approved') return notGiven(id, decision);
    const headers = new Headers(init.headers);
    headers.set('Approval-Id', id);
    // The client's timeout has passed while waiting for the decision.
    return send(url, { ...init, headers, signal: AbortSignal.timeout(30_000) });
  };
}

/** Waits for the decision and returns it. */
async function decisionOn(send: Fetch, url: URL, init: RequestInit, id: string): Promise<string> {
  const [, prefix] = /^(\/api\/v1\/orgs\/[^/]+)\//.exec(url.pathname) ?? [];
  const Authorization = new Headers(init.headers).get('Authorization') ?? '';
  for (;;) {
    const response = await send(`${url.origin}${prefix}/approvals/${id}?wait=25`, { headers: { Authorization }, redirect: 'manual' });
    if (!response.ok) return 'unknown';
    const { status } = (await response.json()) as { status?: unknown };
    if (status !== 'pending') return String(status);
  }
}

/** A refusal as an API response: an error thrown beneath the client would be treated as a connection failure. */
function notGiven(id: string, decision: string): Response {
  const error = { code: 'APPROVAL_NOT_GIVEN', message: `The approval ${id} is ${clean(decision)}.` };
  return Response.json({ error }, { status: 403 });
}
