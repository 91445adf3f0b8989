// The access that an operation needs, in words.
import { type FullNeed, usualKinds } from '../auth/actions';
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

/** The callers that most operations accept, in words. */
export const usualCallers = listOf(usualKinds);

function callersOf(route: Route): string {
  const { scopes, kinds, owner } = route.need;
  if (kinds.includes('system')) return `Accepts ${listOf(kinds)}.`;
  if (owner && !kinds.includes('api_key')) return 'Accepts a browser session of an owner.';
  if (owner) return 'Accepts a browser session of an owner, or an API key with the scope `*` and no limits.';
  const names = scopes.map((scope) => `\`${scope}\``);
  const needed =
    names.length === 0
      ? 'no scope'
      : names.length === 1
        ? `the scope ${names[0]}`
        : `one of the scopes ${names.join(', ')}`;
  const others = kinds === usualKinds ? '' : ` Accepts ${listOf(kinds)}.`;
  return `Needs ${needed}.${others}`;
}

function listOf(kinds: FullNeed['kinds']): string {
  const words = kinds.map((kind) => kindNames[kind]);
  return [words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' or ');
}
