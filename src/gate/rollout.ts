// Calls between releases. During a deployment Workers meet gates of the release before and after theirs, and stored responses of the release
// before are replayed for a day. Release 0.4.0 has `ok` in place of an outcome's `kind`, `budget` in place of `rate_limit`, and `alarm` in place
// of `violation`: so both are written, and either is read. Invariant: whatever passes between the Worker and a gate, or is stored as a response,
// passes through here.
import type { Outcome } from './outcome';
import type { Ask, Reply } from './types';

type Stored = Outcome & { ok?: true | false | 'more' };
type Sent = Omit<Reply, 'rate_limit'> & { outcome: Stored; rate_limit?: Reply['rate_limit']; budget?: Reply['rate_limit'] };
type Asked = Ask & { alarm?: Ask['violation'] };

const oks = { ok: true, refused: false, more: 'more' } as const;

export const writeOutcome = (outcome: Outcome): Stored => ({ ...outcome, ok: oks[outcome.kind] });

export function readOutcome({ ok, ...outcome }: Stored): Outcome {
  if (ok === undefined || outcome.kind) return outcome;
  return { ...(outcome as object), kind: ok === 'more' ? 'more' : ok ? 'ok' : 'refused' } as Outcome;
}

export const writeReply = (reply: Reply): Reply & Sent => ({ ...reply, outcome: writeOutcome(reply.outcome), budget: reply.rate_limit });

export const readReply = ({ budget = null, rate_limit = budget, ...reply }: Sent): Reply => ({
  ...reply,
  outcome: readOutcome(reply.outcome),
  rate_limit,
});

export const writeAsk = (ask: Ask): Asked => (ask.violation ? { ...ask, alarm: ask.violation } : ask);

export function readAsk(asked: Asked): Ask {
  if (asked.alarm === undefined) return asked;
  const { alarm, ...ask } = asked;
  return { ...ask, violation: alarm };
}
