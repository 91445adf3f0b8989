// Writing and deleting the secrets of a folder together, as clients of Vault do, where a folder is a path and
// its secrets are keys. Invariants: all of it takes effect or nothing; the caller must be allowed each secret
// by itself; no secret is deleted that the request does not name or, for a whole folder, that the caller may
// not delete.
import { reaches, stepsFor } from '../../../../auth/authorize';
import type { EnvironmentRow, SecretRow } from '../../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../../errors';
import { compareAll } from '../../../../gate/approvals/policies';
import { namesListed, type Subject } from '../../../../gate/audit/entry';
import { environmentRevision } from '../../../../gate/journal/apply';
import { type Call, isRefusal, type Operation } from '../../../../gate/request/call';
import { wants } from '../../../../gate/request/outcome';
import type { Plan, Proposal } from '../../../../gate/request/plan';
import { environmentOf } from '../../../../gate/request/target';
import { iso } from '../../../../http/wire';
import { type EncryptedValue, readable } from '../../rules';
import { amend, removal } from '../changes';
import { begin, isUsedId, joined, type Kept, keptOfAll, locksOf } from '../plans';
import { noEnvironment } from '../reads';
import { isDirectly, MOST_BULK } from '../selection';
import { limits } from '../state';

/** The most secrets that one request writes or deletes. */
export const MOST_KEYS = MOST_BULK.secrets;
const MOST_STEPS = 20_000_000;
/** The most keys that a refusal names. */
const MOST_NAMED = 10;

export interface FolderItem {
  name: string;
  /** The secret that the Worker encrypted the value for: its guess of the secret with this name. */
  id: string;
  value: EncryptedValue;
}

export interface FolderWriteInput {
  /** Ends in `/`; empty for the root. */
  prefix: string;
  /** The items are all that the folder has afterwards. Otherwise they are added to it. */
  replaces: boolean;
  /** The revision of the environment that the caller expects; 0 for a folder that is not there. */
  cas: number | null;
  items: FolderItem[];
  /** Names of secrets to delete. */
  removed: string[];
}

/** What the Worker is asked for: values encrypted for these secrets, by item index; null for a new one. */
export interface FolderWanted {
  ids: [item: number, id: string | null][];
}

export interface FolderWritten {
  revision: number;
  changed_at: string;
}

type WriteCall = Call<FolderWriteInput>;
const WRITE = ['secrets:write'];
const DELETE = ['secrets:delete'];
const SEEN = ['secrets:list', 'secrets:read', 'secrets:write'];

const environmentFor = ({ core, ask }: Call<unknown>) => environmentOf(core, ask.named.environment);

const denied = refuse('INSUFFICIENT_SCOPE', {
  message: 'This credential may not change all secrets of this folder that the request changes.',
});

/** 403 unless the caller may write each item and delete each secret that is to go. */
function permitted(call: WriteCall): Refusal | null {
  const { caller, input } = call;
  const environment = environmentFor(call);
  if (!environment) return null;
  const steps = stepsFor(caller, [...WRITE, ...DELETE], MOST_STEPS);
  const wanted = [
    ...input.items.map(({ name }) => [name, WRITE] as const),
    ...input.removed.map((name) => [name, DELETE] as const),
  ];
  for (const [name, scopes] of wanted) {
    // safety: folder-steps-bounded-on-write
    if (!steps.take(environment.id, name)) return refuse('PAYLOAD_TOO_LARGE');
    // safety: folder-write-within-names
    if (!reaches(caller, scopes, environment.id, name)) return denied;
  }
  return null;
}

/** The live secrets directly below a prefix, whoever may see them. */
function childrenOf({ core }: Call<unknown>, environment: EnvironmentRow, prefix: string): SecretRow[] {
  const rows: SecretRow[] = [];
  for (let after = ''; ; ) {
    const names = core.rows.named(environment.id, prefix, after, 1000);
    for (const { id, name } of names) {
      const row = isDirectly(name, prefix) ? core.rows.get('secret', id) : null;
      if (row) rows.push(row);
    }
    if (names.length < 1000) return rows;
    after = names.at(-1)?.name as string;
  }
}

/** Why a write of a folder is refused by what the folder has now. */
function conflictOf(call: WriteCall, environment: EnvironmentRow, now: number): Refusal | null {
  const { core, caller, input } = call;
  const { prefix, replaces, cas } = input;
  const there = childrenOf(call, environment, prefix).filter((row) => readable(row, now) === null);
  const isAbsent = cas === 0 && there.length === 0;
  // safety: folder-cas
  if (cas !== null && !isAbsent && cas !== environmentRevision(core, environment.id))
    return refuse('VERSION_CONFLICT');
  const isSeen = ({ name }: SecretRow) => reaches(caller, SEEN, environment.id, name);
  if (!replaces) return there.some(isSeen) ? null : refuse('NOT_FOUND');
  const named = new Set(input.items.map(({ name }) => name));
  const left = there.filter(({ name }) => !named.has(name));
  // safety: folder-put-removes-nothing
  return left.length ? wouldRemove(left, prefix, isSeen) : null;
}

/** The refusal of a map that lacks keys of the folder. */
function wouldRemove(
  left: readonly SecretRow[],
  prefix: string,
  isSeen: (row: SecretRow) => boolean,
): Refusal {
  // safety: unseen-keys-unnamed
  if (!left.every(isSeen)) return denied;
  const keys = left.map(({ name }) => name.slice(prefix.length));
  const more = keys.length > MOST_NAMED ? ` and ${keys.length - MOST_NAMED} more` : '';
  const named = keys.slice(0, MOST_NAMED).join(', ');
  return invalid('', `keys ${named}${more} would be removed: use PATCH with null`);
}

/** The plans of the parts of a change, and for which items values must be encrypted again. */
interface Steps {
  created: Plan[];
  updated: Plan[];
  deleted: { plan: Plan; row: SecretRow }[];
  ids: FolderWanted['ids'];
}

function stepsOf(
  call: WriteCall,
  environment: EnvironmentRow,
  kept: Map<string, Kept>,
  now: number,
): Steps | Refusal {
  const { core, input } = call;
  const steps: Steps = { created: [], updated: [], deleted: [], ids: [] };
  for (const [at, { name, id, value }] of input.items.entries()) {
    const row = core.rows.find('secret', environment.id, name);
    if (row ? row.id !== id : isUsedId(core, id)) {
      steps.ids.push([at, row?.id ?? null]);
      continue;
    }
    const fields = { id, name, type: 'generic' as const, description: null, tags: {} };
    const plan = row
      ? amend(
          { ...call, input: { if_match: null, name: null, fields: {}, value } },
          row,
          kept.get(row.id) ?? null,
          now,
        )
      : begin(call, environment, { ...fields, rotate_every_seconds: null }, value, null, now);
    if (isRefusal(plan)) return plan;
    if (plan.writes?.length) steps[row ? 'updated' : 'created'].push(plan);
  }
  for (const name of input.removed) {
    const row = core.rows.find('secret', environment.id, name);
    if (row) steps.deleted.push({ row, plan: removal(call, row, false, now) });
  }
  return steps;
}

const rowsIn = (plans: readonly Plan[]): SecretRow[] =>
  plans.flatMap(({ writes = [] }) => writes.map(({ row }) => row as SecretRow));

/** One plan of many. */
function together(
  call: Call<unknown>,
  environment: EnvironmentRow,
  { created, updated, deleted }: Omit<Steps, 'ids'>,
  skipped: number,
): Plan | Refusal {
  const { core } = call;
  const plans = [...created, ...updated, ...deleted.map(({ plan }) => plan)];
  const written = rowsIn([...created, ...updated]);
  const { added, parts } = joined(core, plans);
  // safety: folder-within-limits
  const limit = limits(core, added, created.length);
  if (limit) return limit;
  const imported: Subject['imported'] = {
    source: 'vault',
    created: created.length,
    updated: updated.length,
    skipped,
    failed: 0,
    ...namesListed([...written, ...deleted.map(({ row }) => row)].map(({ name }) => name)),
    versions: Object.fromEntries(parts.versions.map(({ secret_id, version }) => [secret_id, version])),
    ...(deleted.length && {
      deleted: Object.fromEntries(deleted.map(({ row }) => [row.id, row.version])),
    }),
    dry_run: false,
  };
  return {
    status: 200,
    data: null,
    ...parts,
    environments: plans.length ? [environment.id] : [],
    audit: { environment: environment.slug, ...(plans.length && { imported }) },
    describes: `change ${plans.length} secrets in ${environment.slug}, of which ${deleted.length} are deleted`,
  };
}

function planOfWrite(call: WriteCall, now: number, kept: Map<string, Kept>): Proposal {
  const { core, ask, input } = call;
  const environment = environmentFor(call);
  if (!environment) return noEnvironment(call);
  const conflict = conflictOf(call, environment, now);
  if (conflict) return conflict;
  const environment_id = environment.id;
  compareAll(
    core,
    input.items.map(
      ({ name }) =>
        core.rows.find('secret', environment_id, name) ?? { environment_id, type: 'generic', name },
    ),
  );
  const steps = stepsOf(call, environment, kept, now);
  if (isRefusal(steps)) return steps;
  if (steps.ids.length)
    return ask.is_last
      ? refuse('UNAVAILABLE', { retry_after: 1 })
      : wants('value', { ids: steps.ids } satisfies FolderWanted);
  const skipped = input.items.length - steps.created.length - steps.updated.length;
  const plan = together(call, environment, steps, skipped);
  if (isRefusal(plan)) return plan;
  // A change is the next entry of the log, and its sequence the revision of the environment.
  const revision = plan.environments?.length
    ? core.auditLog.head().sequence + 1
    : environmentRevision(core, environment.id);
  return { ...plan, data: { revision, changed_at: iso(now) } satisfies FolderWritten };
}

const existing = (call: WriteCall): SecretRow[] => {
  const environment = environmentFor(call)?.id ?? '';
  return call.input.items.flatMap(({ name }) => call.core.rows.find('secret', environment, name) ?? []);
};

const subject = (call: Call<{ prefix: string }>) => ({
  environment: environmentFor(call)?.slug ?? null,
  prefix: call.input.prefix,
});

const write: Operation<FolderWriteInput> = {
  subject,
  authorize: permitted,
  change: {
    locks: (call) =>
      locksOf(
        environmentFor(call),
        call.input.items.map(({ name }) => name),
        existing(call),
      ),
    locked: async (call) => keptOfAll(call, existing(call)),
    plan: (call, now, { locked }) => planOfWrite(call, now, locked as Map<string, Kept>),
  },
};

export interface FolderDeleteInput {
  prefix: string;
  permanent: boolean;
}

const remove: Operation<FolderDeleteInput> = {
  subject,
  authorize: ({ caller, input }) =>
    // safety: break-glass-cannot-purge-folder
    input.permanent && caller.kind === 'break_glass'
      ? refuse('INSUFFICIENT_SCOPE', { message: 'A break-glass token cannot delete secrets permanently.' })
      : null,
  change: {
    plan(call, now): Proposal {
      const { caller, input } = call;
      const environment = environmentFor(call);
      if (!environment) return noEnvironment(call);
      const rows = childrenOf(call, environment, input.prefix);
      if (rows.length > MOST_KEYS) return refuse('RESULT_TOO_LARGE');
      // safety: folder-deleted-whole-or-not
      if (!rows.every(({ name }) => reaches(caller, DELETE, environment.id, name))) return denied;
      const deleted = rows.map((row) => ({ row, plan: removal(call, row, input.permanent, now) }));
      const plan = together(call, environment, { created: [], updated: [], deleted }, 0);
      return isRefusal(plan) ? plan : { ...plan, status: 204 };
    },
  },
};

export const folderWrites = { 'secret.write_folder': write, 'secret.delete_folder': remove };
