// What /healthz answers, for the scripts that wait for it or report it. Pure. Invariant: whatever does not
// have its format is no vault, and no character of its text can control the terminal.
import { harmless } from '../../shared/terminal.mjs';

/** @typedef {{ name: string, ok: boolean, message: string }} Check */
/** @typedef {{ status: 'ok' | 'degraded' | 'down', checks: Check[] }} Health */

/** @param {any} body @returns {Health | undefined} undefined if no vault answered */
export function readHealth(body) {
  if (!['ok', 'degraded', 'down'].includes(body?.status) || !Array.isArray(body.checks)) return undefined;
  const checks = body.checks.map(({ name, ok, message }) => ({
    name: harmless(String(name)),
    ok: ok === true,
    message: harmless(String(message ?? (ok === true ? 'works' : 'failing'))),
  }));
  return { status: body.status, checks };
}

/**
 * Parts that take up to a minute after a start or a deployment: the scheduled run must have come, and its
 * message through the queue.
 */
const WAITED_FOR = new Set(['schedule', 'queue']);

/** Whether callers are served, and nothing is missing that only needs time. @param {Health} health */
export const isServing = ({ status, checks }) =>
  status !== 'down' && !checks.some(({ name, ok }) => !ok && WAITED_FOR.has(name));

/** Why no key opens anything: no wait changes that. @param {Health} health @returns {string | undefined} */
export const keyProblem = ({ checks }) => checks.find(({ name, ok }) => name === 'keys' && !ok)?.message;

/** One line for each failing check. @param {Health} health */
export const problemsOf = ({ checks }) =>
  checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
