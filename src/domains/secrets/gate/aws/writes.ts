// Changes by clients of AWS Secrets Manager. A ClientRequestToken is an idempotency key of one secret: the
// version that it made has its digest, and answers when it comes again. Invariants: the plans are those of
// the other operations on secrets; a token is that of the root that sent it, so that it tells nobody else
// whether a value is equal; a name that is marked for deletion is taken by CreateSecret alone.

import { reaches } from '../../../../auth/authorize';
import { tuple } from '../../../../crypto/bytes';
import { sha256 } from '../../../../crypto/digest';
import { fromD1, macOf, RESTORABLE } from '../../../../db/rows';
import {
  type EnvironmentRow,
  type ReservedSecretRow,
  type SecretRow,
  secretVersions,
  type VersionRow,
} from '../../../../db/schema';
import { ApiError, invalid, type Refusal, refuse } from '../../../../errors';
import { ciphertexts } from '../../../../gate/journal/ciphertexts';
import { caughtUp } from '../../../../gate/journal/mirror';
import { type Call, isRefusal, type Operation } from '../../../../gate/request/call';
import type { Plan, Proposal } from '../../../../gate/request/plan';
import { namedId } from '../../../../gate/request/target';
import { revision, rowKeyOf } from '../../../../gate/request/writes';
import { iso } from '../../../../http/wire';
import { type EncryptedValue, hasVersion, readable } from '../../rules';
import { removal, restoration } from '../changes';
import { nameLockOf, tagsAfter } from '../paths';
import { advance, begin, changed, encryptFor, isUsedId, type Kept, keptOf } from '../plans';
import { unknownEnvironment } from '../reads';
import { reserve } from '../reserved';
import {
  type AwsNamed,
  type AwsShown,
  absent,
  awsPlaceOf,
  marked,
  previousOf,
  secretIdOf,
  shownOf,
  shownOfEmpty,
  suffixOf,
  usable,
} from './lookup';
import { aboutAws } from './reads';

/** A value, and what it comes with. */
export interface AwsValue {
  /** Keyed digest of the ClientRequestToken; null without one. */
  token: string | null;
  /** Whether the text is that of a JSON object, for the type of a new secret. */
  is_json: boolean;
  /** The secret that the Worker encrypted the value for: its guess of the secret with this name. */
  id: string;
  value: EncryptedValue | null;
}

export interface AwsWriteInput extends AwsNamed, AwsValue {
  /** Undefined leaves it unchanged. */
  description?: string | null;
}

/** A secret and the version that a write made, or made earlier. */
export type AwsWritten = AwsShown & { written: number };

/** What is kept of a token. */
const tokenOf = ({ caller }: Call<unknown>, token: string | null): string | null =>
  // safety: request-token-per-root
  token === null ? null : sha256(tuple('svc/v1/request-token', caller.root, token));

interface Locked {
  kept: Kept | null;
  /** The version that was written with the token. */
  known: VersionRow | null;
}

/** The newest versions, whose tokens are looked for in the gate before D1 is asked. */
const NEWEST = 10;

/** The version among the newest that was written with a token; without one, whether all of them are here. */
function newestOfToken(
  { core }: Call<unknown>,
  row: SecretRow,
  token: string,
): { known: VersionRow | null; isComplete: boolean } {
  let isComplete = true;
  const oldest = Math.max(row.oldest_version, row.version - NEWEST + 1);
  for (let version = row.version; version >= oldest; version--) {
    if (!hasVersion(row, version)) continue;
    const kept = ciphertexts(core).get(row.id, version, core.now());
    if (kept?.request_token === token) return { known: kept, isComplete };
    isComplete &&= kept !== null;
  }
  return { known: null, isComplete };
}

/**
 * The version of a secret that was written with a token. While D1 is away, the newest ones decide, if all of
 * them are here.
 */
async function versionOfToken(
  call: Call<unknown>,
  row: SecretRow,
  token: string,
): Promise<VersionRow | null> {
  const { known, isComplete } = newestOfToken(call, row, token);
  const hasOlder = row.version - row.oldest_version >= NEWEST;
  if (known || (isComplete && !hasOlder)) return known;
  try {
    return await olderOfToken(call, row, token);
  } catch (error) {
    // safety: newest-tokens-known-without-d1
    if (!isComplete) throw error;
    if (error instanceof ApiError && error.refusal.code === 'UNAVAILABLE') return null;
    throw error;
  }
}

async function olderOfToken(call: Call<unknown>, row: SecretRow, token: string): Promise<VersionRow | null> {
  await caughtUp(call.core);
  const [found] = await call.core.database.all<Record<string, unknown>>({
    sql: 'select * from secret_versions where org_id = ? and secret_id = ? and request_token = ? and request_token is not null limit 1',
    params: [call.ask.org, row.id, token],
  });
  const version = found && fromD1<VersionRow>(secretVersions, found);
  // A row that was altered in D1 is as good as none.
  return version && version.mac === macOf(rowKeyOf(call), 'version', version) ? version : null;
}

async function locked(call: Call<AwsValue>): Promise<Locked> {
  const { live } = awsPlaceOf(call);
  const token = tokenOf(call, call.input.token);
  if (!live || !call.input.value) return { kept: null, known: null };
  return {
    kept: await keptOf(call, live),
    known: token === null ? null : await versionOfToken(call, live, token),
  };
}

const taken = (message: string): Refusal => refuse('SECRET_NAME_TAKEN', { message });
const OTHER_VALUE =
  'You have already used this ClientRequestToken for another value of this secret. Use a new one.';

/** The answer of the write that a token was used for; a refusal if that wrote something else. */
function again(row: SecretRow, known: VersionRow, value: EncryptedValue): Proposal {
  const isSame = known.fingerprint === value.fingerprint && (known.binary ?? null) === (value.binary ?? null);
  // safety: request-token-of-this-value
  return isSame
    ? { status: 200, data: { ...shownOf(row), written: known.version } satisfies AwsWritten }
    : taken(OTHER_VALUE);
}

/** A plan that answers with the secret, and the version that it makes. */
function answering(plan: Plan | Refusal, written?: 0): Plan | Refusal {
  if (isRefusal(plan)) return plan;
  const put = plan.writes?.[0]?.row as SecretRow;
  const data: AwsWritten = { ...shownOf(put), written: written ?? put.version };
  return { ...plan, status: 200, data, etag: undefined };
}

/** The first version of a secret. */
function first(
  call: Call<AwsValue>,
  environment: EnvironmentRow,
  of: { id: string | null; description: string | null; tags: Record<string, string> },
  now: number,
): Proposal {
  const { core, ask, input } = call;
  const { value, is_json } = input;
  if (value === null) throw new Error('a first version needs a value');
  if (of.id !== null ? of.id !== input.id : isUsedId(core, input.id)) return encryptFor(call, of.id);
  const fields = {
    id: input.id,
    name: namedId(ask, 'name'),
    type: is_json ? ('json' as const) : ('generic' as const),
    description: of.description,
    tags: of.tags,
    rotate_every_seconds: null,
  };
  const encrypted = { ...value, request_token: tokenOf(call, input.token) };
  return answering(begin(call, environment, fields, encrypted, null, now));
}

/** The answer about a secret without a value. */
const emptyAnswer = (row: ReservedSecretRow): Pick<Plan, 'status' | 'data'> => ({
  status: 200,
  data: { ...shownOfEmpty(row), written: 0 } satisfies AwsWritten,
});

/** The plan for a secret without a value that changes. */
function amended(call: Call<unknown>, before: ReservedSecretRow, fields: Partial<ReservedSecretRow>): Plan {
  const put = revision(call, 'reserved_secret', before, fields);
  return { ...emptyAnswer(put.row as ReservedSecretRow), writes: [put] };
}

const write: Operation<AwsWriteInput> = {
  subject: aboutAws,
  change: {
    locks: nameLockOf,
    locked,
    plan(call, now, { locked: left }): Proposal {
      const { input } = call;
      const { kept, known } = left as Locked;
      const at = usable(call, now);
      if (isRefusal(at)) return at;
      const { description } = input;
      if (!at.live) {
        const { environment } = awsPlaceOf(call, now);
        const of = {
          ...at.empty,
          ...(description !== undefined && { description }),
          id: secretIdOf(at.empty),
        };
        if (input.value !== null) return first(call, environment as EnvironmentRow, of, now);
        return amended(call, at.empty, { description: of.description });
      }
      const row = at.live;
      if (input.value !== null && known) return again(row, known, input.value);
      const refusal = readable(row, now);
      if (refusal) return refusal;
      const fields = description === undefined ? {} : { description };
      if (input.value === null) return answering(changed(call, row, fields, now), 0);
      if (row.id !== input.id) return encryptFor(call, row.id);
      const value = { ...input.value, request_token: tokenOf(call, input.token) };
      return answering(advance(call, row, value, fields, kept, now));
    },
  },
};

export interface AwsCreateInput extends AwsValue {
  description: string | null;
  tags: Record<string, string>;
}

const create: Operation<AwsCreateInput> = {
  change: {
    locks: nameLockOf,
    locked,
    plan(call, now, { locked: left }): Proposal {
      const { ask, input } = call;
      const { environment, live, empty } = awsPlaceOf(call, now);
      if (!environment) return unknownEnvironment(ask.named.environment);
      const { known } = left as Locked;
      if (live && known && input.value) return again(live, known, input.value);
      const token = tokenOf(call, input.token);
      const isAgain = empty && input.value === null && token !== null && token === empty.request_token;
      if (isAgain) return emptyAnswer(empty);
      if (live || empty)
        return taken(`The operation failed because the secret ${ask.named.name} already exists.`);
      if (input.value !== null) return first(call, environment, { ...input, id: null }, now);
      const { description, tags } = input;
      const made = reserve(call, environment, { description, tags, request_token: token, stays: 1 }, now);
      if (isRefusal(made)) return made;
      const { row, ...plan } = made;
      return { ...emptyAnswer(row), ...plan };
    },
  },
};

// ---------------------------------------------------------------- the rest

/** The answer of DeleteSecret. Of a secret that is not there, no id. */
export interface AwsDeleted {
  id: string | null;
  name: string;
  ends_at: string;
}

/** Whether an ARN whose end is that of no secret is the one of a longer name, which the Worker tries next. */
function isOtherName({ core, ask, caller, need, input }: Call<AwsNamed>, { id }: EnvironmentRow): boolean {
  if (input.suffix === null) return false;
  const name = `${ask.named.name}-${input.suffix}`;
  // What the caller cannot reach looks as if it were not there.
  if (!reaches(caller, need.scopes, id, name)) return false;
  const { rows } = core;
  const kinds = ['secret', 'reserved_secret'] as const;
  return kinds.some((kind) => rows.find(kind, id, name) !== null) || rows.deleted(id, name) !== null;
}

const remove: Operation<AwsNamed & { permanent: boolean }> = {
  subject: aboutAws,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const { permanent } = call.input;
      const name = namedId(call.ask, 'name');
      const { environment, live, empty, deleted } = awsPlaceOf(call, now);
      if (!environment) return unknownEnvironment(call.ask.named.environment);
      const data = (id: string | null): AwsDeleted => ({
        id,
        name,
        ends_at: iso(permanent || (empty && !live) ? now : now + RESTORABLE),
      });
      if (empty && !live)
        return {
          status: 200,
          data: data(secretIdOf(empty)),
          deletes: [{ kind: 'reserved_secret', id: empty.id }],
        };
      const row = live ?? deleted;
      // safety: absent-only-if-no-other-reading
      if (!row && isOtherName(call, environment)) return absent();
      if (!row) return permanent ? { status: 200, data: data(null) } : absent();
      if (row.deleted_at !== null && !permanent) return marked();
      return { ...removal(call, row, permanent, now), status: 200, data: data(row.id) };
    },
  },
};

const restore: Operation<AwsNamed> = {
  subject: aboutAws,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const { core, ask, input } = call;
      const { environment, live, empty, deleted } = awsPlaceOf(call, now);
      if (!environment) return unknownEnvironment(ask.named.environment);
      const name = namedId(ask, 'name');
      const older = core.rows.deleted(environment.id, name);
      const isTaken = core.rows.find('secret', environment.id, name) !== null || empty !== null;
      if (isTaken && older && (input.suffix === null || suffixOf(older.id) === input.suffix))
        return refuse('CONFLICT', { message: 'Another secret has this name now. Delete it first.' });
      if (live) return { status: 200, data: { ...shownOf(live), written: live.version } };
      if (empty) return emptyAnswer(empty);
      return deleted ? answering(restoration(call, deleted, now)) : absent();
    },
  },
};

const describe: Operation<AwsNamed & { tags: Record<string, string | null> }> = {
  subject: aboutAws,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const at = usable(call, now);
      if (isRefusal(at)) return at;
      const after = tagsAfter((at.live ?? at.empty).tags, { tags: call.input.tags, merges: true });
      if ('refusal' in after) return after.refusal;
      if (at.live) return answering(changed(call, at.live, after, now));
      return amended(call, at.empty, after);
    },
  },
};

export interface AwsLabelInput extends AwsNamed {
  label: string;
  from: number | null;
  to: number | null;
}

/** Labels follow from versions: only AWSPREVIOUS can be taken away. */
const label: Operation<AwsLabelInput> = {
  subject: aboutAws,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const at = usable(call, now);
      if (isRefusal(at)) return at;
      const { label, from, to } = call.input;
      if (!at.live) return absent();
      const row = at.live;
      const same = { status: 200, data: { ...shownOf(row), written: row.version } };
      if (label === 'AWSCURRENT') {
        if (to === row.version && (from === null || from === to)) return same;
        return refuse('CONFLICT', {
          message: 'AWSCURRENT names the newest version. To use an earlier value, write it again.',
        });
      }
      if (label !== 'AWSPREVIOUS') return invalid('VersionStage', 'must be AWSCURRENT or AWSPREVIOUS');
      const previous = previousOf(row);
      if (to !== null)
        return to === previous
          ? same
          : refuse('CONFLICT', { message: 'AWSPREVIOUS names the version before the newest one.' });
      if (previous === null || from !== previous)
        return refuse('CONFLICT', { message: 'That version does not have this label.' });
      return answering(changed(call, row, { unlabelled: previous }, now));
    },
  },
};

export const awsWrites = {
  'secret.write_aws': write,
  'secret.create_aws': create,
  'secret.delete_aws': remove,
  'secret.restore_aws': restore,
  'secret.describe_aws': describe,
  'secret.label_aws': label,
};
