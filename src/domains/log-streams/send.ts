// Sends one request of a log stream through the egress guard. Invariant: of an answer, only the status, the
// retry time and whether the target took the batch are used.
import { guardedFetch } from '../../delivery/egress';
import type { Settings } from '../../env';
import { retryAfterOf } from '../webhooks/deliver';
import type { Whole } from './encryption';
import type { Failure } from './gate/states';
import { type Batch, isTaken, requestOf } from './targets';

export type Sent = { taken: true; status: number } | ({ taken: false } & Failure);

const failure = (error: string, status: number | null = null, retry_after: number | null = null): Sent => ({
  taken: false,
  error,
  status,
  retry_after,
});

export async function send(
  settings: Settings,
  whole: Whole,
  batch: Batch,
  mayBegin?: () => Promise<boolean>,
): Promise<Sent> {
  const { url, ...request } = await requestOf(whole, batch, Date.now());
  const got = await guardedFetch(settings, url, { ...request, ...(mayBegin && { mayBegin }) });
  if ('unreachable' in got) return failure(got.unreachable);
  const { status } = got;
  if (isTaken(batch.kind, status, got.text)) return { taken: true, status };
  const error = status < 300 ? 'not_taken' : status < 400 ? 'redirect' : 'rejected';
  return failure(error, status, retryAfterOf(got.headers.get('Retry-After')));
}
