// Reads for clients of AWS Secrets Manager: a value by version or label, what a secret is, its versions, and
// lists. Invariant: values are read as by every other operation, and lists show only what the caller may
// list.
import { reaches, stepsFor } from '../../../../auth/authorize';
import { RESTORABLE } from '../../../../db/rows';
import type { SecretRow } from '../../../../db/schema';
import { type Refusal, refuse } from '../../../../errors';
import { caughtUp } from '../../../../gate/journal/mirror';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../../gate/request/outcome';
import { environmentOf } from '../../../../gate/request/target';
import { iso } from '../../../../http/wire';
import { readable } from '../../rules';
import { LOOKED_AT, MOST_STEPS } from '../lists';
import { aboutRead, type ReadInput, read, unknownEnvironment } from '../reads';
import { subjectOf } from '../state';
import { historyOf } from '../versions';
import {
  type AwsNamed,
  type AwsShown,
  awsPlaceOf,
  previousOf,
  shownOf,
  shownOfEmpty,
  usable,
} from './lookup';

export type AwsLabel = 'AWSCURRENT' | 'AWSPREVIOUS';

export interface AwsReadInput extends AwsNamed, ReadInput {
  label: string | null;
}

const noLabel = (label: string): Refusal =>
  refuse('NOT_FOUND', {
    message: `Secrets Manager can't find the specified secret value for staging label: ${label}`,
  });

/** The version that a label names. */
const labelled = (row: SecretRow, label: string): number | null =>
  label === 'AWSCURRENT' ? row.version : label === 'AWSPREVIOUS' ? previousOf(row) : null;

/** The version that a request names, by number or label; without either, the current one. */
function versionOf(row: SecretRow, { version, label }: AwsReadInput): number | Refusal {
  const found = label === null ? row.version : labelled(row, label);
  if (label !== null && found === null) return noLabel(label);
  // safety: version-has-its-label
  if (label !== null && version !== null && version !== found)
    return refuse('CONFLICT', {
      message: 'You provided a VersionStage that is not associated to the provided VersionId.',
    });
  return version ?? (found as number);
}

export const aboutAws = (call: Call<unknown>) => {
  const { live, deleted } = awsPlaceOf(call);
  const row = live ?? deleted;
  return row ? subjectOf(call.core, row) : {};
};

const readValue: Operation<AwsReadInput> = {
  subject: (call) => aboutRead(call, awsPlaceOf(call).live),
  async read(call): Promise<OperationOutcome> {
    const at = usable(call);
    if (isRefusal(at)) return fail(at);
    if (!at.live) return fail(noLabel(call.input.label ?? 'AWSCURRENT'));
    const version = versionOf(at.live, call.input);
    if (typeof version === 'object') return fail(version);
    const input = { ...call.input, version: version === at.live.version ? call.input.version : version };
    return read(
      { ...call, input },
      () => awsPlaceOf(call).live,
      () => {
        const now = usable(call);
        return fail(isRefusal(now) ? now : noLabel('AWSCURRENT'));
      },
    );
  },
};

const show: Operation<AwsNamed> = {
  subject: aboutAws,
  read(call): Outcome {
    const { environment, live, empty, deleted } = awsPlaceOf(call);
    if (!environment) return fail(unknownEnvironment(call.ask.named.environment));
    if (empty && !live) return ok(shownOfEmpty(empty));
    const row = live ?? deleted;
    if (!row) return fail(refuse('NOT_FOUND'));
    // What has expired is absent, but can be described until it is gone.
    const refusal = row.deleted_at === null ? readable(row, call.core.now()) : null;
    return refusal ? fail(refusal) : ok(shownOf(row));
  },
};

/** Versions of a secret, newest first. */
export interface AwsVersions extends AwsShown {
  versions: { version: number; created_at: string }[];
  next: number | null;
}

const history: Operation<AwsNamed & { limit: number; before: number | null }> = {
  subject: aboutAws,
  async read(call): Promise<Outcome> {
    await caughtUp(call.core);
    const at = usable(call);
    if (isRefusal(at)) return fail(at);
    if (!at.live) return ok({ ...shownOfEmpty(at.empty), versions: [], next: null } satisfies AwsVersions);
    const row = at.live;
    const { limit, before } = call.input;
    const found = await historyOf(call, row, Math.min(row.version, (before ?? row.version + 1) - 1), limit);
    // The caller may have been revoked meanwhile.
    const refusal = call.recheck();
    if (refusal) return fail(refusal);
    const shown = found.slice(0, limit);
    return ok({
      ...shownOf(row),
      versions: shown.map(({ version, created_at }) => ({ version, created_at: iso(created_at) })),
      next: found.length > limit ? (shown.at(-1)?.version ?? null) : null,
    } satisfies AwsVersions);
  },
};

// ---------------------------------------------------------------- lists

export interface AwsListInput {
  /** The position after which to continue; null at the beginning. */
  after: string | null;
  limit: number;
  /** Also what is marked for deletion. */
  with_deleted: boolean;
}

const PAGE = 200;

/** One page of secrets in the order of their creation, then of those without a value. */
const list: Operation<AwsListInput> = {
  read(call): Outcome {
    const { core, ask, caller, need, input } = call;
    const environment = environmentOf(core, ask.named.environment);
    if (!environment) return fail(unknownEnvironment(ask.named.environment));
    const now = core.now();
    const steps = stepsFor(caller, need.scopes, MOST_STEPS);
    const items: AwsShown[] = [];
    const start = input.after ?? '';
    let after = start;
    let looked = 0;
    const isListed = (row: SecretRow): boolean =>
      row.deleted_at === null
        ? readable(row, now) === null
        : input.with_deleted && row.deleted_at > now - RESTORABLE;
    // Ids of secrets sort after those of names without a value.
    for (const kind of ['reserved_secret', 'secret'] as const)
      for (
        let rows = core.rows.after(kind, after, PAGE);
        rows.length;
        rows = core.rows.after(kind, after, PAGE)
      )
        for (const row of rows) {
          if (items.length === input.limit || looked++ > LOOKED_AT) return ok({ items, next: after });
          if (row.environment_id === environment.id) {
            // A page examines at least one row, so that the next page begins later.
            if (!steps.take(environment.id, row.name) && after !== start) return ok({ items, next: after });
            // safety: aws-list-within-permissions
            const isReached = reaches(caller, need.scopes, environment.id, row.name);
            if (isReached && 'stays' in row) items.push(...(row.stays ? [shownOfEmpty(row)] : []));
            else if (isReached && isListed(row as SecretRow)) items.push(shownOf(row as SecretRow));
          }
          after = row.id;
        }
    return ok({ items, next: null });
  },
};

export const awsReads = {
  'secret.read_aws': readValue,
  'secret.show_aws': show,
  'secret.history_aws': history,
  'secret.list_aws': list,
};
