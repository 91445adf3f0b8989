// A browser for tests: one passkey, one cookie jar, the newest JWT; and an org whose owner has enrolled.

import { newToken } from '../../../src/auth/authentication/token';
import { nobody } from '../../../src/auth/authorize';
import { newId } from '../../../src/db/ids';
import type { MemberRow, Role } from '../../../src/db/schema';
import { commit } from '../../../src/gate/answer/commit';
import { mirror } from '../../../src/gate/journal/mirror';
import type { Call } from '../../../src/gate/request/call';
import type { Plan } from '../../../src/gate/request/plan';
import { revision } from '../../../src/gate/request/writes';
import { faults } from '../faults';
import { inCore, keyring, keysOf } from '../gate';
import { newMember } from '../people';
import { type Answer, BOOTSTRAP, type Caller, callerOf, send } from '../world';
import { newPasskey, type Passkey, type Spoil } from './passkey';

export const ORIGIN = 'http://localhost';
const COOKIE = '__Host-svc_refresh';

let addresses = 0;

interface Jar {
  token: string;
  cookie: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  member: any;
}

/** A browser at an address of its own. */
export function newBrowser(passkey: Passkey) {
  const address = `198.18.${++addresses >> 8}.${addresses & 255}`;
  const jar: Jar = { token: '', cookie: '', member: null };
  const browser = {
    passkey,
    address,
    get token() {
      return jar.token;
    },
    get cookie() {
      return jar.cookie;
    },
    get member() {
      return jar.member;
    },
    async auth(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
      const answer = await send('POST', `/api/v1/auth${path}`, {
        body,
        headers: { 'CF-Connecting-IP': address, Origin: ORIGIN, ...headers },
      });
      const set = new RegExp(`${COOKIE}=([^;]*)`).exec(answer.headers.get('set-cookie') ?? '')?.[1];
      if (set !== undefined) jar.cookie = set;
      if (answer.status === 200 && answer.json.token)
        Object.assign(jar, { token: answer.json.token, member: answer.json.member });
      return answer;
    },
    async enrol(url: string, spoil: Spoil = {}): Promise<Answer> {
      const token = new URL(url).hash.slice(1);
      const options = await browser.auth('/enrol/options', { token });
      if (options.status !== 200) return options;
      return browser.auth('/enrol', { token, response: await passkey.create(options.json, spoil) });
    },
    options: async (): Promise<Answer['json']> => (await browser.auth('/login/options', {})).json,
    async login(spoil: Spoil = {}): Promise<Answer> {
      return browser.auth('/login', { response: await passkey.get(await browser.options(), spoil) });
    },
    confirmOptions: async (token = jar.token): Promise<Answer['json']> =>
      (await browser.auth('/confirm/options', {}, { Authorization: `Bearer ${token}` })).json,
    /**
     * Confirms the session, by this passkey or another; the answer's token and cookie take the place of those
     * at hand.
     */
    async confirm(spoil: Spoil = {}, by: Passkey = passkey): Promise<Answer> {
      const headers = { Authorization: `Bearer ${jar.token}` };
      return browser.auth(
        '/confirm',
        { response: await by.get(await browser.confirmOptions(), spoil) },
        headers,
      );
    },
    refresh: (cookie = jar.cookie, headers: Record<string, string> = {}): Promise<Answer> =>
      browser.auth('/refresh', undefined, { Cookie: `theme=dark; ${COOKIE}=${cookie}`, ...headers }),
    logout: (cookie = jar.cookie, headers: Record<string, string> = {}): Promise<Answer> =>
      browser.auth('/logout', undefined, { Cookie: `${COOKIE}=${cookie}`, ...headers }),
    whoami: () => send('GET', '/api/v1/whoami', { token: jar.token }),
    get o() {
      return callerOf(jar.member.org_id, jar.token);
    },
  };
  return browser;
}
export type Browser = ReturnType<typeof newBrowser>;

/** The same person in one more browser. */
export async function another(browser: Browser): Promise<Browser> {
  const other = newBrowser(browser.passkey);
  const answer = await other.login();
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${answer.text}`);
  return other;
}

/** A new org, and the enrolment URL of its owner. */
export async function newOrgToEnrol() {
  const { json, status, text } = await send('POST', '/api/v1/orgs', {
    token: BOOTSTRAP,
    body: { name: 'an org', owner: { email: 'ann@example.com', name: 'Ann' } },
  });
  if (status !== 201) throw new Error(`no org: ${status} ${text}`);
  return {
    ...callerOf(json.org.id, json.api_key.token),
    owner: json.owner.id as string,
    url: json.owner.enrolment_url as string,
  };
}

/** An org whose owner has enrolled, and is signed in. */
export async function newSignedIn(options: Parameters<typeof newPasskey>[1] = {}) {
  const o = await newOrgToEnrol();
  const browser = newBrowser(await newPasskey(ORIGIN, options));
  const answer = await browser.enrol(o.url);
  if (answer.status !== 200) throw new Error(`not enrolled: ${answer.status} ${answer.text}`);
  return { o, browser };
}

/** Changes rows by a commit, as an operation would. */
export async function change(org: string, plan: (call: Call<unknown>, now: number) => Plan): Promise<void> {
  const { row, answer } = await keysOf({ id: org });
  await inCore({ id: org }, async (core) => {
    const request = { id: newId('req'), ip: '203.0.113.7', user_agent: null, reason: null, place: null };
    const ask = {
      org,
      action: 'member.update',
      keys: { row, answer },
      idempotency: null,
      one_time: null,
      request,
    };
    const call = {
      core,
      ask,
      caller: nobody,
      need: { scopes: [], kinds: [] },
      recheck: () => null,
    } as unknown as Call<unknown>;
    const draft = {
      actor: { kind: 'system', id: null, parent_id: null, name: null },
      action: 'member.update',
    };
    const outcome = await commit(call, () => draft as never, {
      locks: () => ['change'],
      plan: (now) => plan(call, now),
    });
    if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
    if (!faults.lags) await mirror(core).follow();
  });
}

/** Gives a member another enrolment URL, good until a time. */
export async function newEnrolment(
  org: string,
  member: string,
  ends = Date.now() + 86_400_000,
): Promise<string> {
  const { token, hash } = newToken('enrolment', org, (await keyring().deployment()).tokenTag);
  await change(org, (call, now) => ({
    status: 200,
    data: null,
    writes: [
      revision(call, 'member', call.core.rows.get('member', member) as MemberRow, {
        enrolment_hash: hash,
        enrolment_made_at: now,
        enrolment_ends_at: ends,
      }),
    ],
  }));
  return `${ORIGIN}/enrol#${token}`;
}

/** Adds a member who is yet to enrol; answers their id and enrolment URL. */
export async function invite(o: Caller, role: Role, fields: { environments?: string[] } = {}) {
  const { id, enrolment_url } = await newMember(o, role, fields);
  return { id, url: enrolment_url };
}

/** A member of a role who has enrolled, in their browser. */
export async function signIn(o: Caller, role: Role, fields: { environments?: string[] } = {}) {
  const { url } = await invite(o, role, fields);
  const browser = newBrowser(await newPasskey(ORIGIN));
  const answer = await browser.enrol(url);
  if (answer.status !== 200) throw new Error(`not enrolled: ${answer.status} ${answer.text}`);
  return browser;
}
