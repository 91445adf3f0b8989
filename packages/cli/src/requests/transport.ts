// How svc sends requests, beneath the client: the credential, the state that a change applies to, and what
// happens if approval is required. Invariant: with --wait, exactly the same request is repeated once it is
// approved, with the token that is current by then.
import type { Host } from '../host.ts';
import { clean } from '../text.ts';
import { VERSION } from '../version.ts';
import { type Asking, awaitDecision } from './approvals.ts';
import { jsonIn } from './bounded.ts';
import type { Fetch, Seen } from './seen.ts';

/** What sending needs of the context of a command. */
interface Sending extends Asking {
  readonly host: Host;
  readonly options: { wait?: boolean };
  readonly seen: Seen;
}

/**
 * A placeholder for an API key, which is sent directly: otherwise each command would leave a session token
 * behind.
 */
export const DIRECT = 'api-key';

interface Held {
  error?: { code?: string; approval?: { id?: string } };
}

/** The fetch of the client. @param key an API key to send directly */
export function fetchOf(context: Sending, key?: string): Fetch {
  const plain = context.host.fetch ?? fetch;
  let authorization: string | null = null;
  const send: Fetch = (url, init) => {
    const headers = new Headers(init.headers);
    if (key && headers.get('Authorization') === `Bearer ${DIRECT}`)
      headers.set('Authorization', `Bearer ${key}`);
    authorization = headers.get('Authorization') ?? authorization;
    headers.set('User-Agent', `svc/${VERSION}`);
    return plain(url, { ...init, headers });
  };
  const held: Fetch = async (url, init) => {
    const response = await send(url, init);
    if (response.status !== 403 || !context.options.wait) return response;
    const refusal = (await jsonIn(response.clone())) as Held | null;
    const id = refusal?.error?.code === 'APPROVAL_REQUIRED' ? refusal.error.approval?.id : undefined;
    if (!id || !/^apr_[A-Za-z0-9]{1,60}$/.test(id)) return response;
    context.out.note(`Waiting for approval ${id}: ${new URL(url).origin}/console/approvals/${id}`);
    const decision = await decisionOn(context, id);
    if (decision instanceof Response) return decision;
    const headers = new Headers(init.headers);
    headers.set('Approval-Id', id);
    // While waiting, the token may have been renewed, and the client's timeout has passed.
    if (authorization) headers.set('Authorization', authorization);
    return send(url, { ...init, headers, signal: AbortSignal.timeout(30_000) });
  };
  return context.seen.guarding(held, (line) => context.out.note(clean(line)));
}

/** Waits for the decision. Returns a refusal unless it is an approval. */
async function decisionOn(context: Asking, id: string): Promise<'approved' | Response> {
  try {
    const { status } = await awaitDecision(context, id);
    return status === 'approved' ? status : notGiven(`The approval ${id} is ${clean(status)}.`);
  } catch (error) {
    return notGiven(
      `The approval ${id} cannot be read: ${error instanceof Error ? error.message : 'unknown error'}`,
    );
  }
}

/**
 * A refusal as an API response: an error thrown beneath the client would be treated as a connection failure.
 */
const notGiven = (message: string) =>
  Response.json({ error: { code: 'APPROVAL_NOT_GIVEN', message } }, { status: 403 });
