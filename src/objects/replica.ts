// A replica: one Durable Object per organisation and region, which follows the journal of the gate and
// answers reads while it holds a lease. Invariants: it answers only if, in the turn in which it writes the
// audit entry, the lease holds, no record has come since the request began, and all that the request looked
// at is everywhere; otherwise it writes nothing, and the gate answers. It has no rule of its own.

import { DurableObject } from 'cloudflare:workers';
import { isForReplicas } from '../db/credential-kinds';
import { REGIONS, type Region } from '../db/regions';
import { vault } from '../domains';
import type { Env } from '../env';
import { answer } from '../gate/answer/answer';
import { type Core, replicaName } from '../gate/core';
import type { JournalRecord } from '../gate/journal/records';
import { AskGate, CIPHERTEXT, NO_LOAN } from '../gate/replicas/ask-gate';
import { lookAt, nothingLooked } from '../gate/replicas/looked';
import {
  FORMAT,
  type Follower,
  type LeaseAnswer,
  MARGIN,
  type Push,
  type ReplicaCalls,
  type RowPage,
  type Taken,
  TERM,
} from '../gate/replicas/messages';
import type { Ask, Reply } from '../gate/request/call';
import { linksOf } from '../gate/rows/ends-with-parent';
import { createReplicaCore, fetchingCore } from '../replica/core';
import { createEntries, type Entries, MOST_WAITING, type Noted, noting } from '../replica/entries';
import { createFollowing, type Following } from '../replica/following';
import { createLoans, type Loans } from '../replica/loans';
import { createTimes, type Times } from '../replica/times';

/** When entries are sent after they were written, in milliseconds. */
const SEND_AFTER = 250;
const MINUTE = 60_000;

interface Lease {
  until: number;
  /** The last record decided before the gate gave it. */
  last: number;
}

export class Replica
  extends DurableObject<Env>
  implements Omit<ReplicaCalls, keyof Rpc.DurableObjectBranded>
{
  private readonly holder = crypto.randomUUID();
  private readonly entries!: Entries;
  private readonly loans: Loans = createLoans();
  private readonly core!: Core;
  private readonly following!: Following;
  private readonly times!: Times;
  /** Why its storage cannot be opened. The next call tries again; only `leave` can be performed. */
  private readonly broken: unknown = null;
  private lease: Lease | null = null;
  /** No lease is asked for before this time. */
  private notBefore = 0;
  private renewing: Promise<void> | null = null;
  private sending: Promise<number> | null = null;
  private leaving: Promise<boolean> | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private answered: number[] = [];
  /** Requests answered since the last lease, by the caller's region. */
  private readonly readsFrom = new Map<Region, number>();
  /** What the gate said of regions with the lease. */
  private told: Reply['regions'];
  /** How many requests it has begun. */
  private requests = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    try {
      this.entries = createEntries(ctx.storage.sql);
      this.core = createReplicaCore(ctx.storage, this.loans);
      this.following = createFollowing(ctx.storage, this.core);
      this.times = createTimes(this.core);
    } catch (error) {
      this.broken = error ?? new Error('unknown');
    }
  }

  private mustBeWhole(): void {
    if (this.broken === null) return;
    const why = this.broken instanceof Error ? this.broken.message.slice(0, 200) : 'unknown';
    this.ctx.abort(`storage cannot be opened: ${why}`);
    throw this.broken;
  }

  /** Answers a read; null: ask the gate. */
  async answer(ask: Ask, region: Region, format: number): Promise<Reply | null> {
    this.mustBeWhole();
    // safety: worker-of-same-format
    if (format !== FORMAT) return null;
    if (!this.isOf(ask.org, region)) return null;
    if (!this.holds()) {
      this.renew();
      return null;
    }
    if (!canAnswer(ask) || this.entries.count() >= MOST_WAITING) return null;
    const turn = this.begin();
    try {
      const reply = await answer(turn.core, vault, ask);
      return this.mayAnswer(reply, turn) ? this.done(reply, turn.noted(), ask.region ?? region) : null;
    } catch (error) {
      if (!(error instanceof AskGate)) throw error;
      if (error.message === CIPHERTEXT) this.warm(ask);
      if (error.message === NO_LOAN) this.renew();
      return null;
    } finally {
      turn.unwatch();
    }
  }

  /** Begins a request: what it looks at, and where the replica stands. */
  private begin() {
    const { log, noted } = noting();
    this.loans.begin();
    const looked = nothingLooked();
    const times = this.times.watch(Date.now());
    const unwatch = this.core.rows.watch((kind, id, row) => {
      if (row) times.row(row);
      lookAt(looked, kind, id);
    });
    this.requests++;
    const core: Core = { ...this.core, auditLog: log };
    return { core, noted, request: this.requests, from: this.following.position(), looked, times, unwatch };
  }

  /** Whether the answer still holds, in the turn in which its entry is written. */
  private mayAnswer({ outcome }: Reply, turn: ReturnType<Replica['begin']>): boolean {
    return (
      // A refusal is the gate's.
      outcome.kind === 'ok' &&
      // safety: lease-holds-as-it-answers
      this.holds() &&
      // safety: no-record-between
      this.following.position() === turn.from &&
      this.loans.pending().used !== undefined &&
      turn.noted().length === 1 &&
      // safety: no-request-between
      this.requests === turn.request &&
      // safety: replica-reads-settled
      !this.following.isUnsettled(turn.looked) &&
      // safety: no-deciding-time-near
      !turn.times.any()
    );
  }

  /** Writes the entry of an answer, and uses one of the lent requests. */
  private done(reply: Reply, noted: readonly Pick<Noted, 'draft' | 'status'>[], from: Region): Reply {
    const now = Date.now();
    const { used = null, place = null } = this.loans.pending();
    // safety: replica-entry-before-reply
    for (const entry of noted) this.entries.write({ ...entry, used, place }, now);
    this.loans.use();
    this.answered.push(now);
    this.readsFrom.set(from, (this.readsFrom.get(from) ?? 0) + 1);
    this.send();
    if (this.lease && this.lease.until - now < TERM / 2) this.renew();
    return { ...reply, ...(this.told && { regions: this.told }) };
  }

  /** Reads once more for the cache alone: a ciphertext that was not here comes from D1. */
  private warm(ask: Ask): void {
    const core = fetchingCore(this.core, this.env.DB);
    this.ctx.waitUntil(answer(core, vault, { ...ask, again: true }).catch(() => null));
  }

  /** Its lease is over. */
  private end(): void {
    this.lease = null;
  }

  /** Whether it may answer now. */
  private holds(): boolean {
    return (
      this.lease !== null && Date.now() < this.lease.until && this.following.position() >= this.lease.last
    );
  }

  async push({ format, term, records, stable }: Push): Promise<Taken> {
    this.mustBeWhole();
    // What another release means by a record, this one may not know: the gate that gave the lease is gone.
    // safety: push-of-same-format
    if (format !== FORMAT) {
      this.lease = null;
      return { holder: this.holder, term: null, position: 0 };
    }
    this.take(term, records, stable);
    return { holder: this.holder, term: this.following.term(), position: this.following.position() };
  }

  /** Takes records. The numbers of another term mean nothing. */
  private take(term: string, records: readonly JournalRecord[], stable: number): void {
    this.following.take(term, records);
    const changed = new Set(records.flatMap(credentialsOf));
    // The rate limits of these may be others.
    // safety: changed-credential-ends-loans
    if (changed.size)
      this.loans.drop((id) => linksOf(this.core.rows, id, null).some((link) => changed.has(link)));
    // safety: settled-in-this-term
    if (term === this.following.term()) this.following.settle(stable);
  }

  async flush(): Promise<number> {
    this.mustBeWhole();
    while (this.entries.count() > 0) {
      const before = this.entries.count();
      this.sending ??= this.sendNow().finally(() => {
        this.sending = null;
      });
      if ((await this.sending) >= before) break;
    }
    return this.entries.count();
  }

  async recall(credential: string): Promise<{ holder: string; returns: string[] }> {
    this.mustBeWhole();
    this.loans.drop((id) => id === credential);
    const returns = this.loans.over(Date.now());
    const left = await this.flush();
    // safety: loans-returned-after-entries
    if (left > 0) return { holder: this.holder, returns: [] };
    this.loans.told(returns);
    return { holder: this.holder, returns };
  }

  override async alarm(): Promise<void> {
    await this.flush();
    if (this.entries.count() > 0) await this.ctx.storage.setAlarm(Date.now() + 5000);
  }

  /** Whether it is the replica of this organisation and region: its name says so. */
  private isOf(org: string, region: Region): boolean {
    if (this.core.org === org && this.core.meta.get('region') === region) return true;
    if (!REGIONS.includes(region)) return false;
    // safety: replica-of-its-name
    if (!this.env.REPLICA.idFromName(replicaName(org, region)).equals(this.ctx.id)) return false;
    if (this.core.org !== '') {
      this.isOfAnother(org, region);
      return false;
    }
    this.core.meta.set('org', org);
    this.core.meta.set('region', region);
    this.core.meta.set('storage', crypto.randomUUID());
    this.core.org = org;
    return true;
  }

  /**
   * Its storage is that of another replica, as after files were exchanged. Its entries go to their gate, and
   * it begins again.
   */
  private isOfAnother(org: string, region: Region): void {
    if (this.leaving) return;
    const storage_of = this.core.org;
    console.warn(JSON.stringify({ level: 'warn', event: 'replica_of_another', org, region, storage_of }));
    this.leaving = this.leave().finally(() => {
      this.leaving = null;
    });
    this.ctx.waitUntil(this.leaving);
  }

  private follower(): Follower {
    const { meta } = this.core;
    return {
      region: meta.get('region') as Region,
      holder: this.holder,
      storage: meta.get('storage') as string,
      format: FORMAT,
      term: this.following.term(),
      position: this.following.position(),
      record: this.following.record(),
    };
  }

  private gate() {
    return this.env.GATE.getByName(this.core.org);
  }

  /** Asks for a lease in the background; one at a time. */
  private renew(): void {
    if (this.renewing || Date.now() < this.notBefore) return;
    this.renewing = this.renewed()
      .catch(() => {
        this.notBefore = Date.now() + 1000;
      })
      .finally(() => {
        this.renewing = null;
      });
    this.ctx.waitUntil(this.renewing);
  }

  private async renewed(): Promise<void> {
    const sent = Date.now();
    const returns = this.loans.over(sent);
    if (returns.length && (await this.flush()) > 0) returns.length = 0;
    this.following.sweep(sent);
    const asked = {
      ...this.follower(),
      wants: this.loans.wants(sent),
      returns,
      reads_per_minute: this.readsPerMinute(sent),
      for_others: [...this.readsFrom].filter(([region]) => region !== this.core.meta.get('region')),
    };
    this.readsFrom.clear();
    const given = (await this.gate().lease(asked)) as LeaseAnswer;
    this.loans.told(returns);
    if (given.kind === 'end') return void (await this.leave());
    if (given.kind === 'wait') {
      this.notBefore = Date.now() + Math.min(given.for, 5000);
      return;
    }
    if (given.kind === 'restart') {
      this.lease = null;
      await this.join();
      return;
    }
    this.take(asked.term as string, given.records, given.stable);
    this.told = given.regions;
    // safety: entry-numbers-after-taken
    this.entries.skip(given.taken);
    // safety: lease-counted-from-sending
    const until = sent + TERM - MARGIN;
    const lease = { until, last: given.last };
    this.lease = lease;
    // The clock may be set back.
    // safety: timer-ends-lease
    setTimeout(() => this.lease === lease && this.end(), until - Date.now());
    this.loans.add(given.lent, until);
  }

  /** Loads all rows of the organisation. Rows of another term, or of an attempt that failed, go first. */
  private async join(): Promise<void> {
    if (this.core.meta.get('loading') !== null || this.following.term() !== null) {
      this.following.clear();
      await this.ctx.storage.sync();
      // What is in memory belongs to the rows that were there.
      this.ctx.abort('it begins again');
      return;
    }
    this.core.meta.set('loading', '1');
    let first: RowPage | null = null;
    for (let from: RowPage['next'] = null; ; ) {
      const page = (await this.gate().rowsFrom(this.follower(), from)) as RowPage | null;
      if (!page || (first && page.term !== first.term)) return;
      first ??= page;
      // safety: position-of-the-first-page
      this.following.load(page, first);
      if (page.next === null) return this.core.meta.forget('loading');
      from = page.next;
    }
  }

  async leave(): Promise<boolean> {
    this.lease = null;
    // Entries in storage that cannot be read are lost. The log says that another storage begins.
    const left = this.broken === null ? await this.flush().catch(() => 0) : 0;
    // safety: left-without-entries
    if (left > 0) return false;
    await this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
      await this.ctx.storage.sync();
    });
    // What is in memory belongs to the storage that was there. The reply leaves first.
    setTimeout(() => this.ctx.abort('its region was taken out'), 0);
    return true;
  }

  private readsPerMinute(now: number): number {
    this.answered = this.answered.filter((at) => at > now - MINUTE);
    return this.answered.length;
  }

  /** Sends entries soon. The alarm does it if this instance ends before. */
  private send(): void {
    if (this.entries.count() === 1) void this.ctx.storage.setAlarm(Date.now() + 4 * SEND_AFTER);
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.ctx.waitUntil(this.flush());
    }, SEND_AFTER);
  }

  private async sendNow(): Promise<number> {
    const entries = this.entries.next(Date.now());
    const taken = await this.gate()
      .takeEntries(this.core.meta.get('region') as Region, this.core.meta.get('storage') as string, entries)
      .catch(() => 0);
    // safety: entry-deleted-once-taken
    this.entries.taken(taken);
    return this.entries.count();
  }
}

/**
 * Whether a request is of a kind that replicas answer: a read by a credential that needs no proof, for the
 * first time.
 */
const canAnswer = ({ bearer, operation, again, repeated, violation, approval, keys }: Ask): boolean =>
  typeof bearer === 'object' &&
  'hash' in bearer &&
  'kind' in bearer &&
  isForReplicas(bearer.kind) &&
  vault.operations[operation]?.byReplica === true &&
  keys !== null &&
  !again &&
  !repeated &&
  violation === undefined &&
  (approval?.id ?? null) === null;

/** The credentials that a record changes. */
const credentialsOf = ({ writes, local = [], deletes }: JournalRecord): string[] =>
  [...writes, ...local]
    .filter(({ kind, from }) => kind === 'credential' && from > 0)
    .map(({ row }) => row.id)
    .concat(deletes.filter(({ kind }) => kind === 'credential').map(({ id }) => id));
