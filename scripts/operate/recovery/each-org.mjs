// One call of the bootstrap token for each organisation of a vault. Invariants: an organisation whose gate
// does not answer is named and costs no other organisation anything; a service that answers nothing at all is
// an `ExpectedError`.
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { readHealth } from '../vault/health.mjs';
import { bootstrapCaller, orgsOf, progress } from '../vault/vault.mjs';

/** How long one organisation may answer 503 before the others go on without it, in milliseconds. */
const PATIENCE = 10_000;

/**
 * @typedef {{ org: string, status: number | null, code: string, message: string }} Left an organisation
 *   without success; `status` is null if its gate gave no answer
 */

/** Whether a vault responds there: the token is not sent anywhere else. @param {string} url */
export async function answers(url) {
  try {
    const answer = await fetch(new URL('/healthz', url), {
      redirect: 'error',
      signal: AbortSignal.timeout(10_000),
    });
    return (await answer.text()) !== '' && answer.headers.has('request-id');
  } catch {
    return false;
  }
}

/** What the service says of its database, by these checks. @param {string} url @param {string[]} names */
export async function problemsWith(url, names) {
  const body = await fetch(new URL('/healthz', url), {
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })
    .then((answer) => answer.json())
    .catch(() => undefined);
  const failing = readHealth(body)?.checks.filter(({ name, ok }) => !ok && names.includes(name)) ?? [];
  return failing.map(({ message }) => message);
}

/**
 * Calls one path of each organisation, and goes on where one fails. One that was deleted meanwhile is left
 * out.
 * @param {{ url: string, token?: string, path: string, body?: unknown | ((org: string) => unknown), except?:
 *   string[], only?: string[], what: string, within: number }} task `except`: organisations that are not
 *   called; `only`: those that are, also if the database does not list them; `what`: for the progress bar;
 *   `within`: how long a call may take
 * @returns {Promise<{ orgs: string[], done: Map<string, any>, left: Left[], skipped: string[] }>}
 */
export async function eachOrg({ url, token, path, body, except = [], only = [], what, within }) {
  const list = bootstrapCaller(url, token);
  const call = bootstrapCaller(url, token, { patience: PATIENCE, within, quiet: true });
  const orgs = only.length ? only : await orgsOf(list);
  const unknown = except.filter((id) => !orgs.includes(id));
  if (unknown.length)
    throw new ExpectedError(
      `--except names ${unknown.map(harmless).join(', ')}, which is no organisation of this vault`,
    );
  const done = new Map();
  /** @type {Left[]} */
  const left = [];
  const bar = progress(what);
  try {
    for (const [at, id] of orgs.entries()) {
      bar.at(at, orgs.length);
      if (except.includes(id)) continue;
      const answer = await asked(
        () => call('POST', `/orgs/${id}${path}`, typeof body === 'function' ? body(id) : body),
        url,
      );
      if (answer.status === 200) done.set(id, answer.json);
      else if (answer.status !== 404 || only.length || (await orgsOf(list)).includes(id))
        left.push(leftOf(id, answer));
    }
    bar.at(orgs.length, orgs.length);
  } finally {
    bar.end();
  }
  return { orgs: orgs.filter((id) => !except.includes(id)), done, left, skipped: except };
}

/**
 * The answer; null status if only this organisation gives none.
 * @param {() => Promise<{ status: number, json: any }>} ask
 * @param {string} url
 */
async function asked(ask, url) {
  try {
    return await ask();
  } catch (error) {
    // A service that is gone is another fault than a gate that does not answer.
    if (!(error instanceof ExpectedError) || !(await answers(url))) throw error;
    return { status: null, json: null };
  }
}

/** @param {string} org @param {{ status: number | null, json: any }} answer @returns {Left} */
const leftOf = (org, { status, json }) => ({
  org,
  status,
  code: harmless(json?.error?.code ?? ''),
  message: harmless(json?.error?.message ?? (status === null ? 'its gate does not answer' : '')),
});

/** One line for each. @param {Left[]} left */
export const linesOf = (left) =>
  left
    .map(
      ({ org, status, code, message }) =>
        `  ${org}: ${[status ?? 'no answer', code, message].filter(Boolean).join(' ')}`,
    )
    .join('\n');

/** What to do about organisations whose gates do not answer. */
export const BAD_GATE =
  'An organisation that stays at 503 may have a broken gate: look for gate_unreachable in the log, and see "A broken gate" in docs/operations/gates.md. If the log has database_diverged for it, do not reset its gate: see "Changes that adoption gives up" in docs/operations/backup-and-restore.md. --except ORG leaves one out.';
