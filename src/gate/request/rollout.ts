// Compatibility between releases. During a deployment, Workers meet gates of the previous and the next
// release, and stored responses of the previous release are replayed for a day. Release 0.4.0 has `ok`
// instead of an outcome's `kind`, `budget` instead of `rate_limit`, and `alarm` instead of `violation`: both
// are written, and either is read. Invariant: everything sent between the Worker and a gate, or stored as a
// response, passes through this module.

import { BINDING } from '../../auth/authentication/bindings';
import type { SecretRow, VersionRow } from '../../db/schema';
import type { Ask, Reply } from './call';
import type { More, Outcome } from './outcome';

type Stored = Outcome & { ok?: true | false | 'more' };
type Sent = Omit<Reply, 'rate_limit'> & {
  outcome: Stored;
  rate_limit?: Reply['rate_limit'];
  budget?: Reply['rate_limit'];
};
type Asked = Ask & { alarm?: Ask['violation'] };

const oks = { ok: true, refused: false, more: 'more' } as const;

export const writeOutcome = (outcome: Outcome): Stored => ({ ...outcome, ok: oks[outcome.kind] });

export function readOutcome({ ok, ...outcome }: Stored): Outcome {
  const kind = outcome.kind ?? (ok === 'more' ? 'more' : ok ? 'ok' : 'refused');
  if (kind !== 'more') return { ...(outcome as object), kind } as Outcome;
  // Release 0.4.0 tells what it wants by its data.
  const { data, wants = (data as { approval?: true } | null)?.approval ? 'digest' : 'value' } =
    outcome as Partial<More> & {
      data: unknown;
    };
  return { kind, wants, data };
}

export const writeReply = (reply: Reply): Reply & Sent => ({
  ...reply,
  outcome: writeOutcome(reply.outcome),
  budget: reply.rate_limit,
});

export const readReply = ({ budget = null, rate_limit = budget, ...reply }: Sent): Reply => ({
  ...reply,
  outcome: readOutcome(reply.outcome),
  rate_limit,
});

/** Columns that a 0.5.0 Worker does not know. It accepts the MAC of a row that lacks them. */
const SINCE_0_5_0 = { secret: ['binary', 'unlabelled'], version: ['binary', 'request_token'] } as const;

/** Rows as they are sent, as long as the rows are kept: a read makes none anew. */
const sent = new WeakMap<object, object>();

/** A row without those of the columns that are null. */
function withoutNull<Row extends object>(row: Row, columns: readonly (keyof Row & string)[]): Row {
  const known = sent.get(row);
  if (known) return known as Row;
  const isKept = ([name, value]: [string, unknown]) =>
    value !== null || !(columns as readonly string[]).includes(name);
  const made = Object.fromEntries(Object.entries(row).filter(isKept)) as Row;
  sent.set(row, made);
  return made;
}

/** A secret and a version for a Worker, which verifies their MACs. */
export const writeReadable = <F extends { row: SecretRow; version: VersionRow }>(found: F): F => ({
  ...found,
  row: withoutNull(found.row, SINCE_0_5_0.secret),
  version: withoutNull(found.version, SINCE_0_5_0.version),
});

/**
 * An older gate would ignore what it does not know, and create a credential without a bound. It does not know
 * an operation with one of these suffixes, so it changes nothing.
 */
const BOUND = '.bound';
const LATER = '.later';

/** Of 0.4.0. */
const isBound = ({ input }: Ask): boolean => (input as { device_id?: unknown } | null)?.device_id != null;

/** What 0.5.0 does not know of the inputs of operations that it knows; nor does it know bound Workers. */
interface Later {
  upstreams?: unknown;
  aws?: unknown;
  token?: { aws?: unknown };
  trust?: { reuse?: unknown; issuer?: string };
  permission?: string;
  regions?: unknown;
  lease_seconds?: unknown;
}

function isLater({ bearer, input }: Ask): boolean {
  if (typeof bearer === 'object' && 'workload' in bearer) return true;
  if (typeof input !== 'object' || input === null) return false;
  const { upstreams, aws, token, trust, permission, regions, lease_seconds } = input as Later;
  return (
    [upstreams, aws, token?.aws, trust?.reuse, regions, lease_seconds].some((field) => field != null) ||
    trust?.issuer === BINDING ||
    permission === 'use'
  );
}

export function writeAsk(ask: Ask): Asked {
  // safety: later-field-of-older-gate
  if (isLater(ask)) return { ...ask, operation: ask.operation + LATER };
  // safety: bound-credential-of-older-gate
  if (isBound(ask)) return { ...ask, operation: ask.operation + BOUND };
  return ask.violation ? { ...ask, alarm: ask.violation } : ask;
}

export function readAsk(asked: Asked): Ask {
  const { alarm, ...ask } = asked;
  if (alarm !== undefined) return { ...ask, violation: alarm };
  const suffix = [LATER, BOUND].find((one) => ask.operation.endsWith(one));
  return suffix ? { ...ask, operation: ask.operation.slice(0, -suffix.length) } : asked;
}
