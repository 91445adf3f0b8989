// Evaluates one attempt of a call: done, finally refused, or to be retried. Pure. Invariant: errors contain
// nothing of the target's response except the status and the vendor's code.
import type { Call, Fetch, Meaning, Purpose, Reply, Vendor } from './call';
import { waitOf } from './rate-limits';
import { type SyncCode, TargetError } from './target-error';

/** The purpose of a call, if not set explicitly. */
export const purposeOf = ({ purpose, method }: Call): Purpose =>
  purpose ?? (method === 'GET' ? 'list' : 'write');

export interface Again {
  kind: 'rate_limit' | 'retry' | 'pending';
  /** Milliseconds that the target asks to wait. */
  after: number | null;
  error: TargetError;
}

export type Judged = { kind: 'ok'; reply: Reply } | { kind: 'final'; error: TargetError } | Again;

/** The result of one attempt. */
export function judge(
  vendor: Vendor,
  call: Call,
  answered: Awaited<ReturnType<Fetch>>,
  now: number,
  isSent: (text: string) => boolean,
): Judged {
  const purpose = purposeOf(call);
  if ('unreachable' in answered) {
    const error = new TargetError(
      { code: 'TARGET_UNREACHABLE', message: 'The target did not respond.' },
      stops(purpose),
    );
    return answered.unreachable === 'target_refused' || answered.unreachable === 'private_address'
      ? { kind: 'final', error }
      : { kind: 'retry', after: null, error };
  }
  const { status, headers, text } = answered;
  const body = parsed(text);
  const code = vendor.code?.(body);
  const reply: Reply = {
    status,
    headers,
    body,
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
    isRepeat: false,
  };
  const is = (list: Call['expects'] = []) =>
    list.includes(status) || (reply.code !== null && list.includes(reply.code));
  const wait = waitOf(reply, now);
  const meaning = vendor.meaning?.(reply) ?? meaningOf(reply);
  if (meaning === 'ok' || (is(call.expects) && meaning !== 'rate_limit')) return { kind: 'ok', reply };
  const advice = vendor.advice?.(reply) ?? null;
  const message = messageOf(reply, isSent) + (advice === null ? '' : ` ${advice}`);
  if (meaning === 'rate_limit' || (status >= 500 && wait !== null)) {
    const seconds = wait === null ? null : Math.ceil(wait / 1000);
    return {
      kind: 'rate_limit',
      after: wait,
      error: new TargetError({ code: 'TARGET_RATE_LIMITED', message }, stops(purpose), seconds),
    };
  }
  const isPending = is(call.pending);
  const isRefused = meaning === 'unauthenticated' || status === 401;
  const ends = isRefused || purpose !== 'write' ? 'sync' : 'name';
  if (isPending || status >= 500) {
    const error = new TargetError({ code: 'TARGET_REJECTED', message }, ends);
    return { kind: isPending ? 'pending' : 'retry', after: null, error };
  }
  return {
    kind: 'final',
    error: new TargetError({ code: codeFor(meaning, purpose, status), message }, ends),
  };
}

/**
 * A target that is unavailable or asks to wait ends the sync: before the first write for every name, later
 * for the remaining names.
 */
const stops = (purpose: Purpose): 'sync' | 'stop' => (purpose === 'write' ? 'stop' : 'sync');

function meaningOf({ status, headers }: Reply): Meaning {
  if (status >= 200 && status <= 299) return 'ok';
  const isLimited = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
  if (status === 429 || (status === 403 && isLimited)) return 'rate_limit';
  if (status === 401) return 'unauthenticated';
  if (status === 403) return 'auth';
  return status === 404 ? 'not_found' : 'rejected';
}

function codeFor(meaning: Meaning, purpose: Purpose, status: number): SyncCode {
  const isRefused = meaning === 'auth' || meaning === 'unauthenticated';
  if (isRefused || (purpose === 'token' && status >= 400)) return 'TARGET_AUTH';
  return meaning === 'not_found' && purpose === 'list' ? 'TARGET_NOT_FOUND' : 'TARGET_REJECTED';
}

const ANSWERED = 'The target answered with status ';

/**
 * Whether a later call may succeed although nothing has changed here: the target did not answer, asked to
 * wait, or failed itself.
 */
export const isAway = ({ code, message }: { code?: string; message?: string }): boolean =>
  code === 'TARGET_UNREACHABLE' ||
  code === 'TARGET_RATE_LIMITED' ||
  message?.startsWith(`${ANSWERED}5`) === true;

/** The form of vendors' codes: words, or a short number. */
const CODE = /^([A-Za-z][A-Za-z_.-]{0,63}|[0-9]{1,6})$/;

/** An error in our words: the status, and the vendor's code if it cannot be anything else. */
function messageOf({ status, code }: Reply, isSent: (text: string) => boolean): string {
  // A malicious target may return what it was sent, now or earlier.
  // safety: sync-errors-hold-no-values
  const isCode = code !== null && CODE.test(code) && !isSent(code);
  return `${ANSWERED}${status}${isCode ? ` (${code})` : ''}.`;
}

/** Sent texts that could be mistaken for a code, also in base64. */
export function* codeLike(sent: unknown): Generator<string> {
  if (typeof sent === 'string') {
    if (CODE.test(sent)) yield sent;
    const decoded =
      sent.length <= 88 && /^[A-Za-z0-9+/]+={0,2}$/.test(sent) && sent.length % 4 === 0 ? atob(sent) : '';
    if (CODE.test(decoded)) yield decoded;
  } else if (typeof sent === 'object' && sent !== null)
    for (const each of Object.values(sent)) yield* codeLike(each);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
