// The browser session: who is signed in, and the JWT that every call bears. Invariants: the JWT is in the memory of this page alone; the
// cookie that renews it cannot be seen from here; and one tab at a time renews, so that none uses a cookie that another has just used.
import { computed, signal } from '@preact/signals';
import type { components } from '@secrets-vault/client';
import { startAuthentication } from '@simplewebauthn/browser';
import { callPublic, RefusedError } from './public-api';

type SignedIn = components['schemas']['SignedIn'];
export type Me = SignedIn['member'];

/** `starting` until the first renewal was tried. */
export const state = signal<'starting' | 'out' | 'in'>('starting');
export const me = signal<Me | null>(null);
/** Why the last session ended, for the sign-in page. */
export const ended = signal('');
export const org = computed(() => me.value?.org_id ?? '');

let held: { token: string; until: number } | null = null;
let renewal: Promise<string> | null = null;

function begin(answer: SignedIn): string {
  held = { token: answer.token, until: Date.parse(answer.expiresAt) };
  me.value = answer.member;
  state.value = 'in';
  ended.value = '';
  return answer.token;
}

function end(why: string): void {
  held = null;
  me.value = null;
  ended.value = why;
  state.value = 'out';
}

const alone = <Result>(work: () => Promise<Result>): Promise<Result> =>
  navigator.locks ? (navigator.locks.request('refresh', work) as Promise<Result>) : work();

/** A new JWT by the cookie. A session that is over signs out; a network that is down does not. */
export function renew(): Promise<string> {
  renewal ??= alone(() => callPublic('/auth/refresh', {}))
    .then((answer) => begin(answer as SignedIn))
    .catch((error) => {
      if (error instanceof RefusedError && error.status === 401) end(state.value === 'in' ? 'Your session has ended. Sign in again.' : '');
      throw error;
    })
    .finally(() => {
      renewal = null;
    });
  return renewal;
}

/** The JWT for a call, renewed a minute before it ends. */
export const token = async (): Promise<string> => (held && held.until - Date.now() > 60_000 ? held.token : renew());

async function assert(path: '/auth/login' | '/auth/confirm', bearer?: string): Promise<void> {
  const optionsJSON = await callPublic(`${path}/options`, {}, bearer);
  const response = await startAuthentication({ optionsJSON: optionsJSON as Parameters<typeof startAuthentication>[0]['optionsJSON'] });
  begin((await callPublic(path, { response }, bearer)) as SignedIn);
}

/** Signs in with a passkey. */
export const signIn = (): Promise<void> => assert('/auth/login');

/** Asks for the passkey again, as what is sensitive needs it within five minutes. */
export const confirmAgain = async (): Promise<void> => assert('/auth/confirm', await token());

/** Ends the session at the service, then here. */
export async function signOut(): Promise<void> {
  await callPublic('/auth/logout', {});
  end('You are signed out.');
}

/** Signs in by the cookie, if there is one. */
export async function start(): Promise<void> {
  await renew().catch(() => {
    if (state.value === 'starting') state.value = 'out';
  });
}
