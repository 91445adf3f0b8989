// The gate: one Durable Object per organisation, through which every request of the organisation passes. Only
// RPC and alarm; the rest is in `gate/` and the domains. Two more objects with their own names: the gate used
// by the health check, and the one that remembers the organisation of a repeated POST /orgs.

import { DurableObject } from 'cloudflare:workers';
import type { Region } from '../db/regions';
import { DAY } from '../db/rows';
import { type Catalogue, vault } from '../domains';
import { lagsOf } from '../domains/log-streams/gate/task';
import type { Env } from '../env';
import { ApiError, refuse } from '../errors';
import { vitalsOf } from '../gate/answer/vitals';
import { answerStably } from '../gate/answer/with-replicas';
import { type Core, createCore } from '../gate/core';
import { isBehind, needsComparison } from '../gate/journal/behind';
import { mirror } from '../gate/journal/mirror';
import { isInDatabase, newTerm } from '../gate/journal/position';
import { journal } from '../gate/journal/records';
import { recover } from '../gate/journal/recover';
import { openParts } from '../gate/part';
import type {
  Follower,
  LeaseAnswer,
  LeaseAsk,
  ReplicaEntry,
  ReplicatedCalls,
  RowPage,
} from '../gate/replicas/messages';
import { lease, rowsFrom, takeEntries } from '../gate/replicas/serve';
import {
  type Ask,
  type GateCalls,
  type Mended,
  type Pulse,
  RESET,
  type Reply,
  type Vitals,
} from '../gate/request/call';
import { locks } from '../gate/request/locks';
import { fail } from '../gate/request/outcome';
import { readAsk, writeReply } from '../gate/request/rollout';
import { isNewer } from '../gate/storage-version';
import { mendSchedule, runTasks } from '../gate/tasks/run';
import { measure, withMetricsOf } from '../metrics/collect';
import { type Agreement, type AgreementCalls, agreementOf, type Place } from './row-comparison';

const newerStorage = () =>
  refuse('UNAVAILABLE', {
    message:
      'A newer release has upgraded the storage of this organisation, and this release cannot read it. Deploy the newer release again.',
    retry_after: 60,
  });

/** The gate's storage was put back from an older copy: what it takes for alive may have ended since. */
const olderThanDatabase = (org: string) =>
  refuse('UNAVAILABLE', {
    message: `The gate of this organisation is older than the database: its storage was put back from a copy. The operator must run npm run gate -- reset ${org} --reason TEXT.`,
    retry_after: 60,
  });

/** The gate's storage may be a copy, or a change that an earlier release made is in doubt, and D1 is away. */
const notCompared = () =>
  refuse('UNAVAILABLE', {
    message:
      'The database does not respond, and must be compared with what this organisation has stored before it is served.',
    retry_after: 5,
  });

/** The gate's storage is that of another organisation, as after its files were exchanged. */
const ofAnother = (org: string) =>
  refuse('UNAVAILABLE', {
    message: `The gate of this organisation has the storage of another one. If files of gates were exchanged, the operator must put them back under their names while the service is stopped. If they are lost, the operator must run npm run gate -- reset ${org} --reason TEXT.`,
    retry_after: 60,
  });

/**
 * Storage whose transactions cost nothing of their own. What a turn writes commits as a whole once the turn
 * has ended, and a gate that is aborted before commits nothing: the runtime refuses to commit for it
 * (workerd, `ActorSqlite::onWrite`). So a transaction that fails resets the gate, which memory needs in any
 * case: it would no longer match storage. Until it has begun (`org` is undefined), a transaction that fails
 * is rolled back by itself, so that the gate stays for its reset.
 */
function resetting(ctx: DurableObjectState, org: () => string | undefined): DurableObjectStorage {
  const { storage } = ctx;
  const transactionSync = <T>(turn: () => T): T => {
    // safety: gate-that-does-not-begin-is-reset
    if (org() === undefined) return storage.transactionSync(turn);
    try {
      return turn();
    } catch (error) {
      const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
      // Nothing that runs in this gate goes on to tell of it.
      // safety: failed-transaction-told
      console.error(JSON.stringify({ level: 'error', event: 'transaction_failed', org: org(), why }));
      ctx.abort(`a transaction failed: ${why}`);
      throw error;
    }
  };
  return new Proxy(storage, {
    get(target, name) {
      if (name === 'transactionSync') return transactionSync;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** How many mended organisations the gate of the health check remembers. */
const MOST_MENDED = 1000;
/** How many pages of the rows of one it compares at once. */
const PAGES_AT_ONCE = 10;

/** Whether D1 has all rows of an organisation; null if that takes longer. */
async function isWholeIn(env: Env, org: string): Promise<boolean | null> {
  let from: Place | null = null;
  for (let page = 0; page < PAGES_AT_ONCE; page++) {
    const found: Agreement = await env.GATE.getByName(org).agreement(from);
    if (found.differ.length) return false;
    if (!found.next) return true;
    from = found.next;
  }
  return null;
}

export class Gate
  extends DurableObject<Env>
  implements
    Omit<GateCalls, keyof Rpc.DurableObjectBranded>,
    Omit<ReplicatedCalls, keyof Rpc.DurableObjectBranded>,
    AgreementCalls
{
  readonly core!: Core;

  /** Its storage was written by a newer release and must not be touched. */
  private readonly isNewer: boolean = false;

  /** Its storage is known to be that of the organisation it is named after. */
  private isOwn = false;

  /** Its storage was opened. */
  private hasBegun = false;

  /** Why its storage cannot be opened. The next call tries again. */
  private readonly broken: unknown = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    try {
      this.isNewer = isNewer(ctx.storage.sql);
      if (this.isNewer) return;
      const measured = withMetricsOf(env, (work) => ctx.waitUntil(work));
      this.core = createCore(
        resetting(ctx, () => (this.hasBegun ? this.core.org : undefined)),
        measured,
        this.catalogue().rules,
      );
      openParts(this.core);
      mendSchedule(this.core);
      this.hasBegun = true;
    } catch (error) {
      // Only a reset can be performed on it.
      this.broken = error ?? new Error('unknown');
    }
  }

  /** The domains of this gate. Tests add their own. */
  protected catalogue(): Catalogue {
    return vault;
  }

  private get org(): string | null {
    return this.core.meta.get('org');
  }

  /** Handles one request; see `answer`. */
  async call(asked: Ask): Promise<Reply> {
    const ask = readAsk(asked);
    this.mustBeWhole();
    if (this.isNewer)
      return writeReply({
        outcome: fail(newerStorage()),
        rate_limit: null,
        credential: null,
        replay: null,
        d1_calls: 0,
      });
    if (this.org === null) await this.begin(ask);
    // safety: gate-of-another-refuses
    if (this.isOfAnother()) {
      console.error(
        JSON.stringify({ level: 'error', event: 'gate_of_another', org: ask.org, storage_of: this.org }),
      );
      return writeReply({
        outcome: fail(ofAnother(ask.org)),
        rate_limit: null,
        credential: null,
        replay: null,
        d1_calls: 0,
      });
    }
    const behind = await isBehind(this.core);
    // safety: stale-gate-waits-for-database
    if (behind === null && needsComparison(this.core))
      return writeReply({
        outcome: fail(notCompared()),
        rate_limit: null,
        credential: null,
        replay: null,
        d1_calls: 1,
      });
    // safety: older-gate-refuses
    if (behind)
      return writeReply({
        outcome: fail(olderThanDatabase(ask.org)),
        rate_limit: null,
        credential: null,
        replay: null,
        d1_calls: 1,
      });
    const reply = answerStably(this.core, this.catalogue(), ask);
    // A change is completed even if the client disconnects.
    if (this.catalogue().operations[ask.operation]?.change) this.ctx.waitUntil(reply);
    return writeReply(await reply);
  }

  /**
   * Whether its storage is that of another organisation. The name of a Durable Object is its organisation.
   */
  private isOfAnother(): boolean {
    const { org } = this;
    if (this.isOwn || org === null) return false;
    this.isOwn = this.env.GATE.idFromName(org).equals(this.ctx.id);
    return !this.isOwn;
  }

  /** A gate whose storage could not be opened ends, so that the next call begins another one. */
  private mustBeWhole(): void {
    if (this.broken === null) return;
    const why = this.broken instanceof Error ? this.broken.message.slice(0, 200) : 'unknown';
    this.ctx.abort(`storage cannot be opened: ${why}`);
    throw this.broken;
  }

  /**
   * Deletes all that it stores and ends: the next call begins from D1, in a new term. What is under way ends
   * with it.
   */
  async reset(): Promise<void> {
    // safety: newer-storage-not-reset
    if (this.isNewer) throw new Error('its storage was written by a newer release');
    await this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
      await this.ctx.storage.sync();
    });
    this.ctx.abort(RESET);
  }

  /** A gate without state is new or has lost it; in the latter case D1 has the organisation. */
  private async begin(ask: Ask): Promise<void> {
    await locks(this.core).run(['begin'], async () => {
      if (this.org !== null) return;
      this.core.org = ask.org;
      // It may have been created before, by a gate that lost its storage.
      // safety: no-second-beginning
      const isNew = ask.action === 'org.create' && !(await isInDatabase(this.core));
      if (isNew) journal(this.core).begin(newTerm(), 0, '');
      const isThere = isNew || (ask.keys && (await recover(this.core, ask.keys.row, ask.request)));
      // A token of an organisation that D1 does not know belongs to one that D1 has lost: beginning a new one
      // would hide it once it is restored.
      // safety: org-known-to-database
      if (!isThere) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 60 }));
      this.core.meta.set('org', ask.org);
      this.core.schedule.at('retention', Date.now() + 3_600_000);
    });
  }

  override async alarm(): Promise<void> {
    // The platform retries: the newer release may be back by then.
    this.mustBeWhole();
    if (this.isNewer) throw new Error('storage of a newer release');
    if (!this.org) return;
    // safety: gate-of-another-runs-no-tasks
    if (this.isOfAnother()) throw new Error('storage of another organisation');
    // It would send old values, and delete by old rows.
    const behind = await isBehind(this.core);
    if (behind === null && needsComparison(this.core)) return this.ctx.storage.setAlarm(Date.now() + 60_000);
    // safety: older-gate-runs-no-tasks
    if (behind) throw new Error('storage older than the database');
    const { since } = journal(this.core).extent();
    if (since !== null) measure(this.env, 'svc_mirror_lag_seconds', [], (Date.now() - since) / 1000);
    for (const [kind, seconds] of lagsOf(this.core, Date.now()))
      measure(this.env, 'svc_log_stream_lag_seconds', [kind], seconds);
    await runTasks(this.core);
  }

  /**
   * For the health check: whether this gate and D1 agree. A gate without state loads it from D1 at its next
   * request.
   */
  async vitals(): Promise<Vitals> {
    if (this.isNewer) return 'newer';
    if (this.isOfAnother()) return 'another';
    return this.org === null ? 'well' : vitalsOf(this.core);
  }

  async lease(ask: LeaseAsk): Promise<LeaseAnswer> {
    return (await this.leadsReplicas()) ? lease(this.core, ask) : { kind: 'wait', for: 1000 };
  }

  async rowsFrom(follower: Follower, from: [kind: string, id: string] | null): Promise<RowPage | null> {
    return (await this.leadsReplicas()) ? rowsFrom(this.core, follower, from) : null;
  }

  async takeEntries(region: Region, storage: string, entries: ReplicaEntry[]): Promise<number> {
    return (await this.knowsReplicas()) ? takeEntries(this.core, region, storage, entries) : 0;
  }

  /** Whether its rows are those of an organisation, as far as it and D1 know. */
  private async knowsReplicas(): Promise<boolean> {
    if (this.broken !== null || this.isNewer || this.org === null || this.isOfAnother()) return false;
    // A replica may ask before the first request does.
    // safety: older-gate-gives-no-lease
    const behind = await isBehind(this.core);
    return behind === null ? !needsComparison(this.core) : !behind;
  }

  /** Whether replicas may follow it: not during an adoption, which changes rows without records. */
  private async leadsReplicas(): Promise<boolean> {
    // safety: no-replicas-in-adoption
    return (await this.knowsReplicas()) && !mirror(this.core).isPaused();
  }

  /** For the health check: whether D1 holds its rows, a page of them. */
  async agreement(from: Place | null): Promise<Agreement> {
    return this.isNewer || this.org === null ? { differ: [], next: null } : agreementOf(this.core, from);
  }

  /**
   * On the gate of the health check: a write and a read of its storage. `sent`: a probe was sent to the
   * queue; `came`: one arrived.
   */
  async pulse(event?: 'sent' | 'came', at = Date.now()): Promise<Pulse> {
    if (event) this.core.meta.set(`probe:${event}`, String(at));
    this.core.meta.set('pulse', String(at));
    if (this.core.meta.get('pulse') !== String(at))
      throw new Error('storage does not return what was written');
    const time = (key: string) => (this.core.meta.get(key) === null ? null : Number(this.core.meta.get(key)));
    return {
      sent: time('probe:sent'),
      came: time('probe:came'),
      survey: this.core.meta.get('survey'),
      adopted: time('adopted'),
      mended: this.allMended(),
    };
  }

  /** On the gate of the health check: keeps the last survey. */
  async surveyed(survey: string): Promise<void> {
    this.core.meta.set('survey', survey);
  }

  /** On the gate of the health check: an organisation has adopted the database. */
  async adopted(): Promise<void> {
    this.mustBeWhole();
    this.core.meta.set('adopted', String(Date.now()));
  }

  /** On the gate of the health check: looks at an organisation at once, as the next survey would. */
  async mended(org: string): Promise<void> {
    this.mustBeWhole();
    const at = Date.now();
    const vitals = await this.env.GATE.getByName(org)
      .vitals()
      .catch(() => null);
    const isWhole = await isWholeIn(this.env, org).catch(() => null);
    const all = [...this.allMended().filter((one) => one.org !== org), { org, at, vitals, isWhole }];
    this.core.meta.set('mended', JSON.stringify(all.slice(-MOST_MENDED)));
  }

  private allMended(): Mended[] {
    return JSON.parse(this.core.meta.get('mended') ?? '[]');
  }

  /** On the gate of the health check: whether a survey has seen an organisation. */
  async hadOrgs(): Promise<boolean> {
    this.mustBeWhole();
    return JSON.parse(this.core.meta.get('survey') ?? '{}').hadOrgs === true;
  }

  /**
   * The organisation id for an Idempotency-Key of POST /orgs: the proposed one, or that of the first such
   * request within a day.
   */
  async reserve(key: string, proposed: string, now = Date.now()): Promise<string> {
    const kept = JSON.parse(this.core.meta.get(`found:${key}`) ?? 'null') as {
      org: string;
      at: number;
    } | null;
    if (kept && now - kept.at < DAY) return kept.org;
    this.ctx.storage.sql.exec("delete from meta where key like 'found:%' and value ->> 'at' < ?", now - DAY);
    this.core.meta.set(`found:${key}`, JSON.stringify({ org: proposed, at: now }));
    return proposed;
  }
}
