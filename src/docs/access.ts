// The access that an operation needs, in words.
import { kindNames } from '../auth/authorize';
import type { Route } from '../http/route';

/** The access that a route needs, in words. */
export function accessOf(route: Route): string {
  if (route.public) return 'Needs no credential.';
  const confirmation = route.need.fresh
    ? ' A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).'
    : '';
  return callersOf(route) + confirmation;
}

function callersOf(route: Route): string {
  const { scopes, kinds, owner } = route.need;
  const words = kinds.map((kind) => kindNames[kind]);
  const who = `Accepts ${[words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' or ')}`;
  if (kinds.includes('system')) return `${who}.`;
  if (owner) return 'Accepts a browser session of an owner, or an API key with the scope `*` and no limits.';
  if (scopes.length === 0) return `${who}. No scope is needed.`;
  const names = scopes.map((scope) => `\`${scope}\``);
  return names.length === 1 ? `${who} with the scope ${names[0]}.` : `${who} with one of the scopes ${names.join(', ')}.`;
}
