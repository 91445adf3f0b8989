// Sends the requests of the client. Invariants: a change whose outcome is unknown is made only once, however
// often its member repeats it; repeating a request that was held and then approved completes it.

/** How long the same change counts as a repeat, in milliseconds. */
const REPEATED_WITHIN = 300_000;

/** The Idempotency-Keys of changes whose outcome is unknown, by the digest of the request. */
const unknown = new Map<string, { key: string; until: number }>();

/**
 * A change is the same only if it applies to the same state: the service refuses a key that it knows from
 * another.
 */
async function digestOf(url: string, { method, body }: RequestInit, headers: Headers): Promise<string> {
  const bytes = await new Blob([
    `${method} ${url}\n${headers.get('If-Match') ?? ''}\n`,
    (body as ArrayBuffer | undefined) ?? '',
  ]).arrayBuffer();
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).join();
}

/**
 * Sends a change under the key of its earlier attempt, if nobody knows how that ended: the connection broke,
 * or the service failed. The client does so for its own retries, but a member who presses the button again
 * starts a new call, which has a new key.
 */
async function once(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('Idempotency-Key')) return fetch(url, init);
  const digest = await digestOf(url, init, headers);
  const earlier = unknown.get(digest);
  if (earlier && Date.now() < earlier.until) headers.set('Idempotency-Key', earlier.key);
  unknown.set(digest, { key: headers.get('Idempotency-Key') ?? '', until: Date.now() + REPEATED_WITHIN });
  const response = await fetch(url, { ...init, headers });
  // The connection can still break in the middle of the response.
  await response.clone().arrayBuffer();
  if (response.status < 500) unknown.delete(digest);
  return response;
}

/** Sends a request, and repeats it with its approval if it was held and is approved. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await once(url, init);
  if (response.status !== 403) return response;
  const { error } = await response
    .clone()
    .json()
    .catch(() => ({}));
  if (error?.code !== 'APPROVAL_REQUIRED' || error.approval?.status !== 'approved') return response;
  const headers = new Headers(init.headers);
  headers.set('Approval-Id', error.approval.id);
  return fetch(url, { ...init, headers });
}
