// The facts of a compliance report, from the gate: one part per call, bounded in rows returned and examined.
// Invariants: only a caller without limits gets any; only the first part writes an audit entry, which stands
// for the whole report.
import { mustReachAll } from '../../../auth/authorize';
import { isBrief, isLasting } from '../../../db/credential-kinds';
import { idEnd, idOf } from '../../../db/ids';
import { DAY } from '../../../db/rows';
import type { ApprovalRow, CredentialRow, SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { isAlive } from '../../../gate/identity/lifetime';
import { lastUsed } from '../../../gate/limits/last-used';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { fail, ok } from '../../../gate/request/outcome';
import { slugOf } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { payerOf } from '../../../gate/rows/quota-root';
import { auditOperations } from '../../audit/gate/operations';
import { madeAt } from '../../policies/gate/due';
import { statusOf } from '../../secrets/rules';
import { isOfInterest } from '../interest';
import type {
  ApprovalFacts,
  CredentialFacts,
  DeviceFacts,
  EntriesPart,
  MemberFacts,
  Overview,
  Page,
  Part,
  Period,
  SecretFacts,
  SecretsPart,
} from '../payloads';
import { lastReads, readsSince } from './last-read';

/** Rows that one call examines. */
const ROWS = 1000;
/** Entries that one call returns. */
const ENTRIES = 500;

/** Reports per organisation and minute: each takes many calls that no rate limit counts. */
const MOST_REPORTS = 10;
const MINUTE = 60_000;
/** When recent reports were started, by the rows of a gate. */
const begun = new WeakMap<Core['rows'], number[]>();

/** 429 if there were too many reports in the last minute; otherwise counts this one. */
function tooMany({ rows }: Core, now: number): Refusal | null {
  const lately = (begun.get(rows) ?? []).filter((time) => time > now - MINUTE);
  // safety: reports-limited
  if (lately.length >= MOST_REPORTS)
    return refuse('RATE_LIMITED', {
      message: `An organisation can make at most ${MOST_REPORTS} compliance reports a minute.`,
      retry_after: Math.ceil(((lately[0] as number) + MINUTE - now) / 1000),
    });
  begun.set(rows, [...lately, now]);
  return null;
}

const DEFAULT_PERIOD = 90 * DAY;
const LONGEST_PERIOD = 400 * DAY;

/** The requested period, or why it is invalid. */
function periodOf(from: number | null, to: number | null, now: number): Period | Refusal {
  const end = to ?? now;
  const start = from ?? end - DEFAULT_PERIOD;
  const wrong = (path: string, message: string) =>
    refuse('VALIDATION_FAILED', { details: [{ path, message }] });
  if (start >= end) return wrong('from', 'must be before to, which defaults to now');
  // safety: report-period-bounded
  if (end - start > LONGEST_PERIOD) return wrong('from', 'must be at most 400 days before to');
  return { from: start, to: end };
}

function overview(call: Call<unknown>, period: Period): Overview {
  const { core, ask } = call;
  const org = core.rows.get('org', ask.org);
  const now = core.now();
  return {
    now,
    period,
    payer: payerOf(call),
    org: { id: ask.org, name: org?.name ?? '' },
    audit_retention_days: org?.audit_retention_days ?? null,
    policies: core.rows.within('policy', ''),
    head: core.auditLog.head(),
    ...core.rows.liveSessions(now),
    webhooks: core.rows
      .within('webhook', '')
      .map(({ id, host, disabled, updated_at }) => ({ id, host, disabled, updated_at })),
  };
}

/** A page of rows of one kind; `show` can leave rows out. */
function paged<R extends { id: string }, T>(rows: R[], show: (row: R) => T | null): Page<T> {
  const shown = rows.flatMap((row) => show(row) ?? []);
  return { rows: shown, next: rows.length < ROWS ? null : (rows.at(-1) as R).id };
}

function secrets(core: Core, after: string): SecretsPart {
  const now = core.now();
  const others = { expired: 0, revoked: 0, deleted: 0 };
  const lastReadOf = lastReads(core);
  const page = paged(core.rows.after('secret', after, ROWS), (row) => {
    const status = statusOf(row, now);
    if (status === 'active') return secretFacts(core, row, lastReadOf(row));
    others[status]++;
    return null;
  });
  return { ...page, ...others, reads_since: readsSince(core) };
}

function secretFacts(core: Core, row: SecretRow, last_read_at: number | null): SecretFacts {
  const { id, name, type, environment_id, version, created_at, expires_at, rotate_every_seconds } = row;
  return {
    id,
    name,
    type,
    environment_id,
    version,
    created_at,
    expires_at,
    rotate_every_seconds,
    environment: slugOf(core, environment_id),
    generated: row.generated !== null,
    rotated_at: madeAt(row),
    last_read_at,
  };
}

/** Lasting credentials. Brief ones are only counted: their ids, which follow one another, are skipped. */
function credentials({ core }: Call<unknown>, after: string): Page<CredentialFacts> {
  const { rows: all, next } = paged(core.rows.after('credential', after, ROWS), (row) => row);
  const rows = all.flatMap((row) =>
    isLasting(row.kind) && isAlive(core, row) ? [credentialFacts(core, row)] : [],
  );
  const last = all.at(-1);
  return { rows, next: next !== null && last && isBrief(last.kind) ? idEnd(last.kind) : next };
}

function credentialFacts(core: Core, row: CredentialRow): CredentialFacts {
  const { id, kind, name, scopes, created_at, created_by } = row;
  const ends = lineageOf(core, row).flatMap(({ expires_at }) => expires_at ?? []);
  return {
    id,
    kind,
    name,
    scopes,
    created_at,
    created_by,
    isUnlimited: row.environments === null && row.secrets === null,
    expires_at: ends.length ? Math.min(...ends) : null,
    last_used_at: lastUsed(core).of(id)?.at ?? null,
  };
}

const members = ({ rows }: Core, after: string): Page<MemberFacts> =>
  paged(
    rows.after('member', after, ROWS),
    ({ id, name, role, created_at, enrolled_at, enrolment_ends_at, suspended_at }) => ({
      id,
      name,
      role,
      created_at,
      enrolled_at,
      enrolment_ends_at,
      suspended_at,
      passkeys: rows.within('passkey', id).length,
    }),
  );

const devices = ({ rows }: Core, after: string): Page<DeviceFacts> =>
  paged(rows.after('device', after, ROWS), ({ id, name, platform, member_id, created_at, blocked_at }) => ({
    id,
    name,
    platform,
    member_id,
    created_at,
    blocked_at,
  }));

/** An approval id that sorts before every approval created later than a time. */
function idAt(time: number): string {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(Math.max(0, time) / 2 ** 32));
  view.setUint32(2, Math.max(0, time) % 2 ** 32);
  return idOf('apr', bytes);
}

function approvals({ rows }: Core, after: string, { from, to }: Period): Page<ApprovalFacts> {
  // The Worker creates ids with its own clock.
  const page = rows.after('approval', after || idAt(from - DAY), ROWS);
  return paged(page, (row) => (row.created_at >= from && row.created_at < to ? approvalFacts(row) : null));
}

function approvalFacts(row: ApprovalRow): ApprovalFacts {
  const {
    id,
    status,
    operation,
    requester,
    accountable,
    resource,
    resource_name,
    environment,
    policies,
    decisions,
  } = row;
  const { reason, created_at, expires_at, ended_at, used_by } = row;
  return {
    id,
    status,
    operation,
    requester,
    accountable,
    resource,
    resource_name,
    environment,
    policies,
    decisions,
    reason,
    created_at,
    expires_at,
    ended_at,
    used_by,
  };
}

function entries({ auditLog }: Core, before: number | null, period: Period): EntriesPart {
  const { entries, next } = auditLog.newest(period, before ?? Number.MAX_SAFE_INTEGER, ENTRIES, isOfInterest);
  // Entries that D1 rejected are still in the gate.
  const held =
    before === null ? auditLog.held().filter(({ time }) => isWithin(period, Date.parse(time))) : [];
  return { entries: [...entries, ...held.filter(isOfInterest)], next, oldest: auditLog.oldest() };
}

const isWithin = ({ from, to }: Period, time: number) => time >= from && time < to;

/** One part of a report, or of the audit log for its check. */
async function partOf(call: Call<Part>): Promise<unknown> {
  const { core, input } = call;
  switch (input.part) {
    case 'secrets':
      return secrets(core, input.after);
    case 'credentials':
      return credentials(call, input.after);
    case 'members':
      return members(core, input.after);
    case 'devices':
      return devices(core, input.after);
    case 'approvals':
      return approvals(core, input.after, input.period);
    case 'entries':
      return entries(core, input.before, input.period);
    case 'chain': {
      const outcome = await auditOperations['audit.verify'].read?.({ ...call, input: { from: input.from } });
      return outcome?.kind === 'ok' ? outcome.data : null;
    }
    default:
      return null;
  }
}

const report: Operation<Part> = {
  readsLog: true,
  subject: ({ ask }) => ({ resource: ask.org }),
  reach: ({ caller }) =>
    // safety: report-needs-whole-reach
    mustReachAll(caller, ['compliance:read'], 'create a compliance report'),
  async read(call): Promise<OperationOutcome> {
    const { core, input } = call;
    if (input.part !== 'overview') return { ...ok(await partOf(call)), audited: true };
    const period = periodOf(input.from, input.to, core.now());
    const refusal = isRefusal(period) ? period : tooMany(core, core.now());
    return refusal ? fail(refusal) : ok(overview(call, period as Period));
  },
};

export const complianceOperations = { 'compliance.report': report };
