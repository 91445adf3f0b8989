// Calls to a platform: authentication, retries, rate limits and errors, implemented once for all adapters.
// Invariants: every call goes through the egress guard to the effective address; redirects are not followed;
// errors contain nothing of the target's responses except the status and the vendor's code; once a call has
// ended the sync, the target is not called again.
import type { GuardedRequest } from '../../delivery/egress';
import { rebased } from '../platforms';
import type { Call, Fetch, Permit, Reply, Vendor } from './call';
import { type Again, codeLike, type Judged, judge, purposeOf } from './judge';
import { TargetError, unreadable } from './target-error';

export interface Client {
  /** Makes a call, with retries; throws a `TargetError`. */
  call(call: Call): Promise<Reply>;
  /** The URL of a next page if it has the same host as the previous call; throws otherwise. */
  next(link: string, from: string): string;
  /** Runs calls that must not be cut apart. */
  whole<T>(run: () => Promise<T>): Promise<T>;
}

/** The clock of a client: tests control it. */
export interface Clock {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Between 0 and 1. */
  random(): number;
}

/** The clock where none is given. */
export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
};

export interface ClientOptions {
  vendor: Vendor;
  /** The deployment's override of this platform's base URL. */
  base: string | undefined;
  fetch: Fetch;
  clock?: Clock;
  /** One attempt per call, as in a dry run. */
  once?: boolean;
  /** Without one, calls may always begin. */
  permit?: Permit;
}

/** Delays before further attempts of a call, if the target does not send one. */
const BACKOFF = [500, 1000, 2000];
/** The longest total waiting time since the last successful call. */
const MOST_WAITED = 30_000;
/** The most bytes of a response that are read: pages of long lists may contain values. */
const MOST_READ = 8_388_608;
/** The most pages of a listing, and the most characters in all of them: an endless listing ends the sync. */
const MOST_PAGES = 5000;
const MOST_LISTED = 33_554_432;
/** Milliseconds between attempts of a pending call. */
const POLL = 2000;
const MOST_POLLS = 20;

interface State {
  /** Until when a rate limit pauses all calls. */
  pausedUntil: number;
  /** Milliseconds waited since the last successful call, and until when waiting is already counted. */
  waited: number;
  countedUntil: number;
  /** The error that ended the sync. */
  end: Error | null;
  /** No further call may begin. */
  isWithheld: boolean;
  calls: number;
  pages: number;
  listed: number;
  /** Texts in all calls that could be mistaken for a vendor's code. */
  sent: Set<string>;
}

/** A client for one sync; `calls` counts the sent requests. */
export function createClient(options: ClientOptions): Client & { calls(): number } {
  const state: State = {
    pausedUntil: 0,
    waited: 0,
    countedUntil: 0,
    end: null,
    isWithheld: false,
    calls: 0,
    pages: 0,
    listed: 0,
    sent: new Set(),
  };
  const clock = options.clock ?? systemClock;
  return {
    calls: () => state.calls,
    call: (call) => attempt(options, state, clock, call),
    whole: (run) => options.permit?.whole(run) ?? run(),
    next(link, from) {
      const url = URL.canParse(link, from) ? new URL(link, from) : null;
      const { origin } = new URL(from);
      const own = new URL(rebased(from, options.base));
      // safety: sync-pages-same-host
      if (url && !url.username && !url.password && (url.origin === origin || url.origin === own.origin))
        return `${origin}${pathOf(url, own, options.base)}${url.search}`;
      throw new TargetError(
        { code: 'TARGET_REJECTED', message: 'The target returned a next page on another host.' },
        'sync',
      );
    },
  };
}

/** The path of a link, without the path of the base URL that its host may have added. */
function pathOf({ origin, pathname }: URL, own: URL, base: string | undefined): string {
  const prefix = base === undefined ? '' : new URL(base).pathname.replace(/\/+$/, '');
  return origin === own.origin && prefix && pathname.startsWith(`${prefix}/`)
    ? pathname.slice(prefix.length)
    : pathname;
}

async function attempt(options: ClientOptions, state: State, clock: Clock, call: Call): Promise<Reply> {
  // safety: sync-pages-bounded
  if (purposeOf(call) === 'list' && ++state.pages > MOST_PAGES) throw unreadable();
  let isRepeat = false;
  let before: TargetError | null = null;
  // An earlier attempt may have been carried out, so its error tells more than that there is no other one.
  const one = (each: Call) =>
    once(options, state, clock, each).catch((error: unknown) => {
      // safety: lost-answers-handed-over
      throw state.isWithheld && before && !options.permit?.isHandedOver() ? before : error;
    });
  for (let tries = 0; ; tries++) {
    let judged: Judged | null = isRepeat && call.settle ? await one(call.settle.call) : null;
    // safety: sync-settled-before-repeated
    if (judged?.kind === 'ok' && call.settle?.done(judged.reply)) return judged.reply;
    // If the settle call is refused, the write is repeated: a duplicate version is better than none.
    if (judged === null || judged.kind === 'ok' || judged.kind === 'final') judged = await one(call);
    if (judged.kind === 'ok') return { ...judged.reply, isRepeat };
    // No response, or an error of the target: the write may have been done.
    isRepeat ||= judged.kind === 'retry';
    before = judged.error;
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

/** One attempt, after any rate limit pause. */
async function once(options: ClientOptions, state: State, clock: Clock, call: Call): Promise<Judged> {
  while (state.pausedUntil > clock.now() && !state.end) await clock.sleep(state.pausedUntil - clock.now());
  // safety: sync-ended-target-not-called
  if (state.end) throw state.end;
  state.calls++;
  const request = await requestOf(options, call);
  const answered = await options.fetch(request.url, request);
  // safety: sync-withheld-target-not-called
  if ('unreachable' in answered && answered.unreachable === 'withheld') {
    state.isWithheld = true;
    state.end = options.permit?.refusal() ?? new Error('withheld without a permit');
    throw state.end;
  }
  // safety: sync-listing-bounded
  if (purposeOf(call) === 'list' && 'text' in answered) state.listed += answered.text.length;
  if (state.listed > MOST_LISTED) throw unreadable();
  for (const text of codeLike(call.json ?? call.form)) state.sent.add(text);
  const sent = [request.body, request.url, ...Object.values(request.headers ?? {})].join('\n');
  const judged = judge(
    options.vendor,
    call,
    answered,
    clock.now(),
    (text) => state.sent.has(text) || sent.includes(text),
  );
  // A wait in progress counts from here.
  if (judged.kind === 'ok') state.waited = Math.max(0, state.countedUntil - clock.now());
  return judged;
}

/** How long to wait before the next attempt; null for none. */
function waitBefore(
  options: ClientOptions,
  state: State,
  clock: Clock,
  tries: number,
  judged: Again,
): number | null | 'too_long' {
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

async function requestOf(
  { vendor, base, permit }: ClientOptions,
  call: Call,
): Promise<GuardedRequest & { url: string }> {
  const url = rebased(call.url, base);
  const { method } = call;
  const body = call.form
    ? new URLSearchParams(call.form).toString()
    : call.json === undefined
      ? undefined
      : JSON.stringify(call.json);
  const type = call.form ? 'application/x-www-form-urlencoded' : 'application/json';
  const given = {
    Accept: 'application/json',
    ...(body !== undefined && { 'Content-Type': type }),
    ...(call.bare ? {} : vendor.headers),
    ...call.headers,
  };
  const headers =
    vendor.sign && !call.bare ? await vendor.sign({ method, url, headers: given, body: body ?? '' }) : given;
  return {
    url,
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(permit && { mayBegin: permit.mayBegin }),
    read: MOST_READ,
  };
}
