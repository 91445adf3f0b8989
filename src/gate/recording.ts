// What goes with an audit entry, in the turn in which it is appended: its requests are counted as uses of the credential that made
// them, and each by a break-glass token raises an event; patterns of names are noted in full now and then, else as a digest. Invariant: no entry is appended but through here.
import type { Chain } from './chain';
import type { Due } from './due';
import type { Outbox } from './outbox';
import type { NotedPatterns } from './patterns';
import type { Uses } from './uses';

export const recording = (chain: Chain, uses: Uses, outbox: Outbox, due: Due, patterns: NotedPatterns): Chain => ({
  ...chain,
  append(draft, status, now, count = 1) {
    const { actor } = draft;
    if (actor.kind === 'break_glass' && actor.id !== null) {
      outbox.emergency(actor.id, count, now);
      due.at('minutes', now + 60_000);
    }
    const noted = draft.patterns ? patterns.noted(actor.id ?? '', draft.patterns, now) : null;
    const entry = chain.append(noted ? { ...draft, ...noted } : draft, status, now, count);
    uses.count(actor, count, Date.parse(entry.time));
    return entry;
  },
});
