// The quotas of an organisation: how much of each kind of row it stores, and each root in it. Every commit is
// checked against them here, in the turn in which it takes effect, so no race exceeds a quota. Invariant:
// where finished rows count, the oldest of them leave in the commit that needs their room.
import { kindOf, type Lasting, type Passing, type RowKind, type Usage } from '../../db/rows';
import type { CredentialRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import type { Call } from '../request/call';
import type { Plan, Put } from '../request/plan';
import { quotaRootOf } from '../rows/quota-root';
import type { Stored } from '../rows/stored';

export const MIB = 1024 ** 2;

/**
 * The quota of a kind that stays until it is removed, with the message of its refusal. `root`: for kinds that
 * others than administrators create.
 */
export const lasting = (most: number, root: number | undefined, what: string, advice = ''): Lasting => ({
  most,
  ...(root !== undefined && { root }),
  message: `An organisation can have at most ${most.toLocaleString('en')} ${what}${root === undefined || root === most ? '' : `, a member or an API key ${root.toLocaleString('en')}`}.${advice && ` ${advice}`}`,
});
export const REMOVE = 'Remove some that you no longer need.';

/**
 * What is bounded in the domains, where more than rows is counted: secrets and their ciphertexts, and live
 * credentials.
 */
export const wholeQuotas = { secrets: 100_000, sealedBytes: 4 * 1024 * MIB, credentials: 10_000 };

/**
 * The secrets that one root created, with the ciphertexts of all their versions, whoever wrote them. One key
 * may fill an organisation, as an import of all its secrets does.
 */
export const secretsOfRoot = { count: wholeQuotas.secrets, bytes: wholeQuotas.sealedBytes };

/** Session tokens in a gate, besides the 1,000 live ones of each key or trust. */
export const sessionQuotas = { org: 100_000, root: 20_000 };

/**
 * The quota of a kind that stays until it is removed. Kinds that only administrators create have none for
 * each root: developers, and what they create, hold no scope for them.
 */
export function lastingOf(kind: RowKind): Lasting | undefined {
  const { quota } = kindOf(kind);
  return typeof quota === 'object' && 'most' in quota ? quota : undefined;
}

/** The quota of a kind that stays for a while, finished ones included. */
export function passingOf(kind: RowKind): Passing | undefined {
  const { quota } = kindOf(kind);
  return typeof quota === 'object' && 'org' in quota ? quota : undefined;
}

/**
 * A plan within the quotas: with the removal of finished rows where it needs their room. 409 where there is
 * none.
 */
export function withinQuotas(call: Call<unknown>, made: Plan, now: number): Plan | Refusal {
  const { core } = call;
  const added = new Set((made.writes ?? []).filter(({ from }) => from === 0).map(({ kind }) => kind));
  for (const kind of added) {
    const quota = lastingOf(kind);
    // safety: lasting-rows-bounded
    if (quota && core.rows.count(kind) + newIn(made, kind) > quota.most)
      return refuse('LIMIT_REACHED', { message: quota.message });
    if (quota?.root && exceedsQuotaOf(call, kind, made, { count: quota.root }))
      return refuse('LIMIT_REACHED', { message: quota.message });
  }
  const whole = wholeOfRoot(call, made);
  if (whole) return whole;
  const leaving: { kind: RowKind; id: string }[] = [];
  for (const kind of new Set((made.writes ?? []).map((put) => put.kind))) {
    const quota = passingOf(kind);
    const found = quota ? roomFor(call, kind, made, quota, now) : [];
    if (found === null) return refuse('LIMIT_REACHED', { message: quota?.message });
    leaving.push(...found.map(({ id }) => ({ kind, id })));
  }
  if (leaving.length === 0) return made;
  return { ...made, deletes: [...(made.deletes ?? []), ...leaving] };
}

/** Whether a root, of those whose rows a plan adds or makes longer, would have more than its quota. */
function exceedsQuotaOf(
  call: Call<unknown>,
  kind: RowKind,
  made: Plan,
  most: { count?: number; bytes?: number },
): boolean {
  const { core, caller } = call;
  if (caller.kind === 'system') return false;
  const changes = changesOf(call, kind, made);
  return [...new Set(changes.map(({ root }) => root))].some((root) => {
    const added = sum(changes.filter((one) => one.root === root));
    const { count, bytes } = plus(core.rows.stored.usage(kind, root), added);
    const isMore = (before: number, after: number, bound = Number.POSITIVE_INFINITY) =>
      before > 0 && after > bound;
    // safety: rows-of-root-bounded
    return root !== '' && (isMore(added.count, count, most.count) || isMore(added.bytes, bytes, most.bytes));
  });
}

/** 409 where one root would have too many secrets, bytes of them, or session tokens. */
function wholeOfRoot(call: Call<unknown>, made: Plan): Refusal | null {
  const { core, caller } = call;
  if (
    made.writes?.some(({ kind }) => kind === 'secret') &&
    exceedsQuotaOf(call, 'secret', made, secretsOfRoot)
  )
    return refuse('LIMIT_REACHED', {
      message:
        'What one member or API key created can be at most 100,000 secrets, and 4 GiB of encrypted values.',
    });
  const isSession = (row: object) => (row as CredentialRow).kind === 'session';
  const minted =
    made.writes?.filter(({ kind, from, row }) => kind === 'credential' && from === 0 && isSession(row))
      .length ?? 0;
  if (minted === 0) return null;
  const root = quotaRootOf(core, caller);
  const { sessions } = core.rows;
  // safety: sessions-of-root-bounded
  if (sessions.of(root) + minted <= sessionQuotas.root && sessions.all() + minted <= sessionQuotas.org)
    return null;
  return refuse('LIMIT_REACHED', {
    message:
      'An organisation can have at most 100,000 session tokens, a member or an API key 20,000 together with what it created. Revoke some, or wait until they expire.',
  });
}

const newIn = ({ writes = [] }: Plan, kind: RowKind): number =>
  writes.filter((put) => put.kind === kind && put.from === 0).length;

/** The most finished rows that one commit removes. */
const MOST_LEAVING = 500;

/**
 * The finished rows that leave for those of a plan; null if there are not enough. A row that only changes is
 * never refused.
 */
function roomFor(
  call: Call<unknown>,
  kind: RowKind,
  made: Plan,
  quota: Passing,
  now: number,
): Stored[] | null {
  const { core, caller } = call;
  const { stored } = core.rows;
  const changes = changesOf(call, kind, made);
  // What the service itself starts is not refused: an automatic sync waits for the one before it.
  const isCounted = ({ row }: Put) => core.rows.stored.of(kind, row as never) !== null;
  const isNew =
    caller.kind !== 'system' &&
    (made.writes ?? []).some((put) => put.kind === kind && put.from === 0 && isCounted(put));
  const leaving = new Map<string, Stored>();
  for (const root of [...new Set(changes.map((one) => one.root)), null]) {
    const bounds = root === null ? quota.org : quota.root;
    const own = changes.filter((one) => root === null || one.root === root);
    // safety: open-rows-bounded
    if (isNew && bounds.open !== undefined && stored.open(kind, root, now) + sum(own).count > bounds.open)
      return null;
    const over = [stored.usage(kind, root), sum(own)].reduce(plus, {
      count: -bounds.count,
      bytes: -bounds.bytes,
    });
    if (over.count <= 0 && over.bytes <= 0) continue;
    const finished = stored.finished(kind, root, now, MOST_LEAVING);
    for (const one of finished) {
      if (over.count <= 0 && over.bytes <= 0) break;
      if (changes.some(({ id }) => id === one.id)) continue;
      if (!leaving.has(one.id)) leaving.set(one.id, one);
      over.count -= one.count;
      over.bytes -= one.bytes;
    }
    // Where many have to leave, the others leave with the next commits.
    // safety: passing-rows-bounded
    if (isNew && (over.count > 0 || over.bytes > 0) && finished.length < MOST_LEAVING) return null;
  }
  return [...leaving.values()];
}

/** What the rows of a plan add. */
function changesOf({ core, caller }: Call<unknown>, kind: RowKind, { writes = [] }: Plan): Stored[] {
  const { rows } = core;
  const payer = quotaRootOf(core, caller);
  return writes.flatMap(({ kind: own, row }) => {
    if (own !== kind) return [];
    // Only the row of a secret does not say who created it.
    const after = rows.stored.of(kind, row as never, kind === 'secret' ? payer : undefined);
    if (!after) return [];
    const before = rows.get(kind, row.id);
    return before
      ? { ...after, count: 0, bytes: after.bytes - (rows.stored.of(kind, before as never)?.bytes ?? 0) }
      : after;
  });
}

const plus = (a: Usage, b: Usage): Usage => ({ count: a.count + b.count, bytes: a.bytes + b.bytes });
const sum = (all: readonly Usage[]): Usage => all.reduce(plus, { count: 0, bytes: 0 });
