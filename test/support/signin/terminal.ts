// A terminal for tests: it signs in by device code (RFC 8628), from an address of its own, without cookie or
// Origin.

import { type Answer, callerOf, send } from '../world';
import type { Browser } from './browser';

let addresses = 0;

interface Codes {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

/** A terminal at an address of its own. */
export function newTerminal(client_name = 'svc on ann-laptop') {
  const address = `198.19.${++addresses >> 8}.${addresses & 255}`;
  let codes = {} as Codes;
  let jar = { token: '', refresh_token: '', member: { id: '', org_id: '' } };
  const terminal = {
    address,
    get codes() {
      return codes;
    },
    get token() {
      return jar.token;
    },
    get refreshToken() {
      return jar.refresh_token;
    },
    get member() {
      return jar.member;
    },
    async auth(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
      const answer = await send('POST', `/api/v1/auth${path}`, {
        body,
        headers: { 'CF-Connecting-IP': address, ...headers },
      });
      if (answer.status === 200 && answer.json.token) jar = answer.json;
      return answer;
    },
    async start(): Promise<Answer> {
      const answer = await terminal.auth('/device', { client_name });
      if (answer.status === 200) codes = answer.json;
      return answer;
    },
    poll: (device_code = codes.device_code) => terminal.auth('/device/token', { device_code }),
    refresh: (refresh_token = jar.refresh_token, headers: Record<string, string> = {}) =>
      terminal.auth('/refresh', { refresh_token }, headers),
    whoami: () => send('GET', '/api/v1/whoami', { token: jar.token }),
    get o() {
      return callerOf(jar.member.org_id, jar.token);
    },
  };
  return terminal;
}
export type Terminal = ReturnType<typeof newTerminal>;

/** What a member does with a code in their browser. */
export const decide = (
  browser: Browser,
  what: 'lookup' | 'confirm' | 'deny',
  user_code: string,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  browser.auth(`/device/${what}`, { user_code }, { Authorization: `Bearer ${browser.token}`, ...headers });

/** A terminal that a member has signed in. */
export async function signInTerminal(browser: Browser, client_name?: string): Promise<Terminal> {
  const terminal = newTerminal(client_name);
  await terminal.start();
  const confirmed = await decide(browser, 'confirm', terminal.codes.user_code);
  if (confirmed.status !== 200) throw new Error(`not confirmed: ${confirmed.status} ${confirmed.text}`);
  const answer = await terminal.poll();
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${answer.text}`);
  return terminal;
}
