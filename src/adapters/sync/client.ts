// Calls to a platform: authentication, retries, rate limits and errors, written once for all adapters. Invariants: every call goes through the egress
// guard, to the address in effect; no redirect is followed; what the target answers reaches no error but for its status and the vendor's own code; once
// a call has ended the sync, the target is not called again.
import type { z } from '@hono/zod-openapi';
import type { Answered, GuardedRequest, Unreachable } from '../../delivery/egress';
import { rebased } from '../platforms';
import { waitOf } from './rate-limits';
import { type SyncCode, TargetError } from './target-error';

/** What a vendor does in its own way. */
export interface Vendor {
  /** Headers of every call: authentication above all. */
  headers?: Record<string, string>;
  /** Signs a call at the address in effect; gives all headers. */
  sign?(request: { method: string; url: string; headers: Record<string, string>; body: string }): Promise<Record<string, string>>;
  /** The vendor's own error code in the body of a response. */
  code?(body: unknown): unknown;
  /** What the caller can do about an error: a sentence of ours. */
  advice?(reply: Reply): string | null;
  /** What a response means where its status alone does not say so: errors in a 200, rate limits in a 400, permissions in other words. */
  meaning?(reply: Reply): Meaning | null;
}

/** `unauthenticated`: the credential itself is refused, whatever it is used for. `auth`: it may not do this. */
export type Meaning = 'rate_limit' | 'unauthenticated' | 'auth' | 'not_found' | 'rejected' | 'ok';

/** What a call is for: the refusal of a token, or of a listing, ends the sync. */
export type Purpose = 'token' | 'list' | 'write';

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The vendor's own URL; `PLATFORM_BASE_URLS` replaces its origin. */
  url: string;
  /** By default `list` for GET, else `write`. */
  purpose?: Purpose;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Statuses and codes of the vendor that the adapter deals with itself, beside 2xx. */
  expects?: readonly (number | string)[];
  /** Statuses and codes which say that it cannot be done yet: it is tried again until the waits are spent. */
  pending?: readonly (number | string)[];
  /** For a write that must not be done twice: before another try this is asked, and the write is over where its reply says so. */
  settle?: { call: Call; done(reply: Reply): boolean };
  /** Whether the vendor's headers are left out: token calls. */
  bare?: boolean;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** The body as JSON; undefined for what is none. */
  body: unknown;
  /** The vendor's own error code, if there is one. */
  code: string | null;
  /** Whether an earlier try of this call may have been carried out: it got no answer, or a 5xx. */
  isRepeat: boolean;
}

export interface Client {
  /** Makes a call, with retries; throws a `TargetError`. */
  call(call: Call): Promise<Reply>;
  /** The URL of a next page, if it leads to the same host as the call before; throws otherwise. */
  next(link: string, from: string): string;
}

/** What time is for a client: tests drive it. */
export interface Clock {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Between 0 and 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
};

export type Fetch = (url: string, request: GuardedRequest) => Promise<Answered | { unreachable: Unreachable; ms: number }>;

export interface ClientOptions {
  vendor: Vendor;
  /** The base URL of the deployment for this platform. */
  base: string | undefined;
  fetch: Fetch;
  clock?: Clock;
  /** One try a call, as in a dry run. */
  once?: boolean;
}

/** Tries of a call after the first, and the waits before them where the target names none. */
const BACKOFF = [500, 1000, 2000];
/** Waits since the last call that succeeded. */
const MOST_WAITED = 30_000;
/** Bytes of a response that are read: pages of long lists with their values among them. */
const MOST_READ = 8_388_608;
/** Pages of a listing, and characters in all of them: a target that never ends ends the sync. */
const MOST_PAGES = 5000;
const MOST_LISTED = 33_554_432;
/** Milliseconds before asking again what is pending. */
const POLL = 2000;
const MOST_POLLS = 20;

interface State {
  /** Until when a rate limit pauses all calls. */
  pausedUntil: number;
  /** Milliseconds waited since the last call that succeeded, and until when waiting is counted. */
  waited: number;
  countedUntil: number;
  /** What ended the sync. */
  end: TargetError | null;
  calls: number;
  pages: number;
  listed: number;
  /** Texts in all calls that may pass for a vendor's code. */
  sent: Set<string>;
}

/** A client of one sync; `calls` counts what was sent. */
export function createClient(options: ClientOptions): Client & { calls(): number } {
  const state: State = { pausedUntil: 0, waited: 0, countedUntil: 0, end: null, calls: 0, pages: 0, listed: 0, sent: new Set() };
  const clock = options.clock ?? systemClock;
  return {
    calls: () => state.calls,
    call: (call) => attempt(options, state, clock, call),
    next(link, from) {
      const url = URL.canParse(link, from) ? new URL(link, from) : null;
      const { origin } = new URL(from);
      const own = new URL(rebased(from, options.base));
      // safety: sync-pages-same-host
      if (url && !url.username && !url.password && (url.origin === origin || url.origin === own.origin))
        return `${origin}${pathOf(url, own, options.base)}${url.search}`;
      throw new TargetError({ code: 'TARGET_REJECTED', message: 'The target named a next page on another host.' }, 'sync');
    },
  };
}

/** The path of a link, without the path of the base URL that its host may have put in front. */
function pathOf({ origin, pathname }: URL, own: URL, base: string | undefined): string {
  const prefix = base === undefined ? '' : new URL(base).pathname.replace(/\/+$/, '');
  return origin === own.origin && prefix && pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
}

async function attempt(options: ClientOptions, state: State, clock: Clock, call: Call): Promise<Reply> {
  // safety: sync-pages-bounded
  if (purposeOf(call) === 'list' && ++state.pages > MOST_PAGES) throw unreadable();
  let isRepeat = false;
  for (let tries = 0; ; tries++) {
    let judged: Judged | null = isRepeat && call.settle ? await once(options, state, clock, call.settle.call) : null;
    // safety: sync-settled-before-repeated
    if (judged?.kind === 'ok' && call.settle?.done(judged.reply)) return judged.reply;
    // Where the question is refused, the write is repeated: a second version is better than none.
    if (judged === null || judged.kind === 'ok' || judged.kind === 'final') judged = await once(options, state, clock, call);
    if (judged.kind === 'ok') return { ...judged.reply, isRepeat };
    // No answer, or an error of the target: the write may have been done.
    isRepeat ||= judged.kind === 'retry';
    const wait = judged.kind === 'final' ? null : waitBefore(options, state, clock, tries, judged);
    if (wait === null || wait === 'too_long') {
      const { error } = judged;
      if (error.ends !== 'name') state.end ??= error;
      throw error;
    }
    if (judged.kind === 'rate_limit') state.pausedUntil = Math.max(state.pausedUntil, clock.now() + wait);
    else await clock.sleep(wait);
  }
}

const purposeOf = ({ purpose, method }: Call): Purpose => purpose ?? (method === 'GET' ? 'list' : 'write');

/** One try, once no rate limit pauses it. */
async function once(options: ClientOptions, state: State, clock: Clock, call: Call): Promise<Judged> {
  while (state.pausedUntil > clock.now() && !state.end) await clock.sleep(state.pausedUntil - clock.now());
  // safety: sync-ended-target-not-called
  if (state.end) throw state.end;
  state.calls++;
  const request = await requestOf(options, call);
  const answered = await options.fetch(request.url, request);
  // safety: sync-listing-bounded
  if (purposeOf(call) === 'list' && 'text' in answered) state.listed += answered.text.length;
  if (state.listed > MOST_LISTED) throw unreadable();
  for (const text of codeLike(call.json ?? call.form)) state.sent.add(text);
  const sent = [request.body, request.url, ...Object.values(request.headers ?? {})].join('\n');
  const judged = judge(options.vendor, call, answered, clock.now(), (text) => state.sent.has(text) || sent.includes(text));
  // A wait that goes on counts from here.
  if (judged.kind === 'ok') state.waited = Math.max(0, state.countedUntil - clock.now());
  return judged;
}

/** How long to wait before the next try; null for no other try. */
function waitBefore(options: ClientOptions, state: State, clock: Clock, tries: number, judged: Again): number | null | 'too_long' {
  const backoff = BACKOFF[tries] ?? (judged.kind === 'pending' && tries < MOST_POLLS ? POLL : undefined);
  if (options.once || backoff === undefined) return null;
  const wait = judged.after ?? backoff * (0.75 + clock.random() / 2);
  const until = clock.now() + wait;
  const added = Math.max(0, until - Math.max(clock.now(), state.countedUntil));
  // safety: sync-wait-bounded
  if (state.waited + added > MOST_WAITED) return judged.after === null ? null : 'too_long';
  state.waited += added;
  state.countedUntil = Math.max(state.countedUntil, until);
  return wait;
}

async function requestOf({ vendor, base }: ClientOptions, call: Call): Promise<GuardedRequest & { url: string }> {
  const url = rebased(call.url, base);
  const { method } = call;
  const body = call.form ? new URLSearchParams(call.form).toString() : call.json === undefined ? undefined : JSON.stringify(call.json);
  const type = call.form ? 'application/x-www-form-urlencoded' : 'application/json';
  const given = {
    Accept: 'application/json',
    ...(body !== undefined && { 'Content-Type': type }),
    ...(call.bare ? {} : vendor.headers),
    ...call.headers,
  };
  const headers = vendor.sign && !call.bare ? await vendor.sign({ method, url, headers: given, body: body ?? '' }) : given;
  return { url, method, headers, ...(body !== undefined && { body }), read: MOST_READ };
}

interface Again {
  kind: 'rate_limit' | 'retry' | 'pending';
  /** Milliseconds that the target asks for. */
  after: number | null;
  error: TargetError;
}

type Judged = { kind: 'ok'; reply: Reply } | { kind: 'final'; error: TargetError } | Again;

/** What came of one try. */
function judge(vendor: Vendor, call: Call, answered: Awaited<ReturnType<Fetch>>, now: number, isSent: (text: string) => boolean): Judged {
  const purpose = purposeOf(call);
  if ('unreachable' in answered) {
    const error = new TargetError({ code: 'TARGET_UNREACHABLE', message: 'The target did not answer.' }, stops(purpose));
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
  const is = (list: Call['expects'] = []) => list.includes(status) || (reply.code !== null && list.includes(reply.code));
  const wait = waitOf(reply, now);
  const meaning = vendor.meaning?.(reply) ?? meaningOf(reply);
  if (meaning === 'ok' || (is(call.expects) && meaning !== 'rate_limit')) return { kind: 'ok', reply };
  const advice = vendor.advice?.(reply) ?? null;
  const message = told(reply, isSent) + (advice === null ? '' : ` ${advice}`);
  if (meaning === 'rate_limit' || (status >= 500 && wait !== null)) {
    const seconds = wait === null ? null : Math.ceil(wait / 1000);
    return { kind: 'rate_limit', after: wait, error: new TargetError({ code: 'TARGET_RATE_LIMITED', message }, stops(purpose), seconds) };
  }
  const isPending = is(call.pending);
  const isRefused = meaning === 'unauthenticated' || status === 401;
  const ends = isRefused || purpose !== 'write' ? 'sync' : 'name';
  if (isPending || status >= 500) {
    const error = new TargetError({ code: 'TARGET_REJECTED', message }, ends);
    return { kind: isPending ? 'pending' : 'retry', after: null, error };
  }
  return { kind: 'final', error: new TargetError({ code: codeFor(meaning, purpose, status), message }, ends) };
}

/** A target that is gone, or asks to wait, ends the sync: before the first write for every name, later for the names that are open. */
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

/** What vendors' codes look like: words, or a short number. */
const CODE = /^([A-Za-z][A-Za-z_.-]{0,63}|[0-9]{1,6})$/;

/** An error in our words: the status, and the vendor's own code where it can be nothing else. */
function told({ status, code }: Reply, isSent: (text: string) => boolean): string {
  // A target that lies may give back what it was sent, now or earlier.
  // safety: sync-errors-hold-no-values
  const isCode = code !== null && CODE.test(code) && !isSent(code);
  return `The target answered with status ${status}${isCode ? ` (${code})` : ''}.`;
}

/** What a call sends that may pass for a code: its texts, and what they are in base64. */
function* codeLike(sent: unknown): Generator<string> {
  if (typeof sent === 'string') {
    if (CODE.test(sent)) yield sent;
    const decoded = sent.length <= 88 && /^[A-Za-z0-9+/]+={0,2}$/.test(sent) && sent.length % 4 === 0 ? atob(sent) : '';
    if (CODE.test(decoded)) yield decoded;
  } else if (typeof sent === 'object' && sent !== null) for (const each of Object.values(sent)) yield* codeLike(each);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A body that has to be an object; throws for what is none, so that a listing is never read as empty. */
export function object(reply: Reply): Record<string, unknown> {
  if (typeof reply.body === 'object' && reply.body !== null && !Array.isArray(reply.body)) return reply.body as Record<string, unknown>;
  throw unreadable();
}

/** A value that has to be a list. */
export function array<T = Record<string, unknown>>(value: unknown): T[] {
  if (Array.isArray(value)) return value as T[];
  throw unreadable();
}

/** A part of an answer in the shape that its vendor documents: what else it holds is left out. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw unreadable();
}

/** The target answered in another shape than its vendor documents. */
export const unreadable = () =>
  new TargetError({ code: 'TARGET_REJECTED', message: 'The target answered in a shape that its vendor does not document.' }, 'sync');

/** A path of segments, each encoded. */
export const path = (...segments: (string | number)[]): string => segments.map((segment) => encodeURIComponent(segment)).join('/');
