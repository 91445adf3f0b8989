// How svc calls the vault, beneath the client: who calls, and what happens where an approval is needed. Invariant: with --wait the very same
// request is repeated once it is approved, and no other.
import type { Context } from './context.ts';
import { clean } from './text.ts';
import { VERSION } from './version.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Stands for an API key, which is used as it is: session tokens of it would be left behind by each command. */
export const DIRECT = 'api-key';

interface Held {
  error?: { code?: string; approval?: { id?: string } };
}

/** The fetch of the client. @param key an API key that is used as it is */
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
    context.out.note(`Waiting for approval ${id}: ${new URL(url).origin}/approvals`);
    const decision = await decisionOn(send, new URL(url), init, id);
    if (decision !== 'approved') return notGiven(id, decision);
    const headers = new Headers(init.headers);
    headers.set('Approval-Id', id);
    // The client's limit in time has passed while people decided.
    return send(url, { ...init, headers, signal: AbortSignal.timeout(30_000) });
  };
}

/** What was decided, once it is. */
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

/** A refusal in the form of the API: what is thrown beneath the client would count as a broken connection. */
function notGiven(id: string, decision: string): Response {
  const error = { code: 'APPROVAL_NOT_GIVEN', message: `The approval ${id} is ${clean(decision)}.` };
  return Response.json({ error }, { status: 403 });
}
