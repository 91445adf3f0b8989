// Writing an audit entry, and what goes with it: each use of a break-glass token raises an event. Runs inside the turn of its outcome.
import type { Draft, Entry } from './chain';
import type { Core } from './core';

export function record(core: Core, draft: Draft, status: number, now: number): Entry {
  const { actor } = draft;
  if (actor.kind === 'break_glass' && actor.id !== null) {
    core.outbox.emergency(actor.id, now);
    core.due.at('minutes', now + 60_000);
  }
  return core.chain.append(draft, status, now);
}
