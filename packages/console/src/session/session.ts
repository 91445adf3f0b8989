// The browser session: the signed-in member, and the JWT for every request. Invariants: the JWT is only in
// the memory of this page; the cookie that renews it is not readable by scripts; one tab at a time renews, so
// that no tab uses a cookie that another has just used.
import { batch, computed, signal } from '@preact/signals';
import type { components } from '@secrets-vault/client';
import { startAuthentication } from '@simplewebauthn/browser';
import { dropValues, hasUnsaved } from '../changes/unsaved';
import { callPublic, RefusedError } from './public-api';

type SignedIn = components['schemas']['SignedIn'];
export type Me = SignedIn['member'];

/** `starting` until the first renewal has been tried. */
export const state = signal<'starting' | 'out' | 'in'>('starting');
export const me = signal<Me | null>(null);
/** Why the last session ended, for the sign-in page. */
export const ended = signal('');
/** Whether the page is kept hidden until the member signs in again, because it has unsaved input. */
export const isKept = signal(false);
export const org = computed(() => me.value?.org_id ?? '');

let held: { token: string; until: number; since: number } | null = null;
let renewal: Promise<string> | null = null;

/** How long typed values of secrets and the rest of a page are kept, in milliseconds. */
const VALUES_KEPT_FOR = 2 * 60_000;
const KEPT_FOR = 10 * 60_000;
/** When the page began to be kept, and its timers. Timers stand still while a computer sleeps. */
let kept: { since: number; timers: ReturnType<typeof setTimeout>[] } = { since: 0, timers: [] };

function keep(why: string): void {
  const soon = () => {
    dropValues('typed');
    ended.value = `${why} Your input is still there, without values of secrets.`;
  };
  const late = () => {
    drop();
    ended.value = why;
  };
  kept = { since: Date.now(), timers: [setTimeout(soon, VALUES_KEPT_FOR), setTimeout(late, KEPT_FOR)] };
}

/** Drops what may no longer be kept, before the page is shown again. */
function dropOld(member: string): void {
  for (const timer of kept.timers) clearTimeout(timer);
  // Another person must not find anything of the previous member. Their session is the one of this page too
  // once they have signed in in another tab.
  if (me.value && me.value.id !== member) drop();
  if (!isKept.value) return;
  const age = Date.now() - kept.since;
  if (age > VALUES_KEPT_FOR) dropValues('typed');
  if (age > KEPT_FOR) drop();
}

function begin(answer: SignedIn): string {
  dropOld(answer.member.id);
  batch(() => {
    held = { token: answer.token, until: Date.parse(answer.expiresAt), since: Date.now() };
    me.value = answer.member;
    state.value = 'in';
    isKept.value = false;
    ended.value = '';
  });
  return answer.token;
}

function drop(): void {
  batch(() => {
    isKept.value = false;
    me.value = null;
  });
}

/** @param keeps whether unsaved input is kept until the member signs in again */
function end(why: string, keeps = false): void {
  // A kept page stays as it is when a renewal fails again.
  if (keeps && isKept.value) return;
  const isKeeping = keeps && hasUnsaved();
  for (const timer of kept.timers) clearTimeout(timer);
  if (isKeeping) keep(why);
  batch(() => {
    held = null;
    isKept.value = isKeeping;
    if (!isKeeping) me.value = null;
    ended.value = isKeeping
      ? `${why} Your input is still there. Values of secrets are removed from it after 2 minutes.`
      : why;
    state.value = 'out';
  });
  dropValues('read');
}

const alone = <Result>(work: () => Promise<Result>): Promise<Result> =>
  navigator.locks ? (navigator.locks.request('refresh', work) as Promise<Result>) : work();

/** Renews the JWT with the cookie. An ended session signs out; a network failure does not. */
export function renew(): Promise<string> {
  renewal ??= alone(() => callPublic('/auth/refresh', {}))
    .then((answer) => begin(answer as SignedIn))
    .catch((error) => {
      if (!(error instanceof RefusedError) || error.status !== 401) throw error;
      const wasIn = state.value === 'in' || isKept.value;
      end(wasIn ? 'Your session has ended. Sign in again.' : '', true);
      throw wasIn
        ? new RefusedError(401, {
            code: 'SESSION_ENDED',
            message: 'Your session had ended, so nothing was done. Try again.',
          })
        : error;
    })
    .finally(() => {
      renewal = null;
    });
  return renewal;
}

/** The JWT for a request, renewed a minute before it expires. */
export const token = async (): Promise<string> =>
  held && held.until - Date.now() > 60_000 ? held.token : renew();

/** For how long the role of a member is not checked again, in milliseconds. */
const ROLE_FOR = 60_000;

/**
 * Back at the page: the role may have changed, or the session may have ended, while the member was elsewhere.
 */
export function checkRole(): void {
  if (!document.hidden && held && Date.now() - held.since > ROLE_FOR) void renew().catch(() => {});
}

async function assert(path: '/auth/login' | '/auth/confirm', bearer?: string): Promise<void> {
  const optionsJSON = await callPublic(`${path}/options`, {}, bearer);
  const response = await startAuthentication({
    optionsJSON: optionsJSON as Parameters<typeof startAuthentication>[0]['optionsJSON'],
  });
  begin((await callPublic(path, { response }, bearer)) as SignedIn);
}

/** Signs in with a passkey. */
export const signIn = (): Promise<void> => assert('/auth/login');

/** Asks for the passkey again: sensitive operations need a confirmation within the last five minutes. */
export const confirmAgain = async (): Promise<void> => assert('/auth/confirm', await token());

/** Ends the session in the service, then here. */
export async function signOut(): Promise<void> {
  await callPublic('/auth/logout', {});
  end('You are signed out.');
}

/** The delay before the cookie is tried again after the service was busy or unreachable. */
const WAITS = [500, 2000, 5000, 10_000];

/**
 * Signs in with the cookie, if there is one. If the service is busy, the session does not end: the request is
 * retried.
 */
export async function start(): Promise<void> {
  for (const wait of [...WAITS, null]) {
    const failed = await renew().then(
      () => null,
      (error: unknown) => error,
    );
    if (!failed) return;
    if (wait === null) end('The service is busy or unreachable. Try again in a minute.');
    else if (failed instanceof RefusedError && failed.status < 500 && failed.status !== 429) return end('');
    else await new Promise((done) => setTimeout(done, wait));
  }
}
