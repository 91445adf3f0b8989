// Folders as clients of Vault see them, where a folder is a path and its secrets are keys: which folders
// there are, and the keys of one. Invariant: a folder or key is shown only for a secret that the caller may
// list and that can be read now.
import { namesHeld, reaches, type Steps, stepsFor } from '../../../../auth/authorize';
import type { EnvironmentRow, SecretRow } from '../../../../db/schema';
import { refuse } from '../../../../errors';
import { environmentRevision } from '../../../../gate/journal/apply';
import type { Call, Operation } from '../../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../../gate/request/outcome';
import { environmentOf } from '../../../../gate/request/target';
import { readable } from '../../rules';
import { MOST_STEPS, placeOf } from '../lists';
import { noEnvironment } from '../reads';
import { MOST_BULK, select } from '../selection';
import { below } from './folders';

export interface FolderListInput {
  /** Ends in `/`; empty for the root. */
  prefix: string;
  after: string | null;
}

/** Paths below a prefix. A folder that has both secrets and folders is two: `a` and `a/`. */
export interface FolderList {
  keys: string[];
  next: string | null;
}

/** Folders that one page looks into. */
const LOOKED_INTO = 100;
/** Pages of names that are read to see what a folder has; then it counts as having it. */
const MOST_LOOKS = 50;

interface Looking {
  call: Call<FolderListInput>;
  environment: EnvironmentRow;
  steps: Steps;
  matches(row: SecretRow): boolean;
}

const page = ({ call, environment, ...how }: Looking, prefix: string, limit: number, after: string | null) =>
  below(
    call.core,
    placeOf({ ...call, input: { prefix } }, environment.id),
    { limit, steps: how.steps, matches: how.matches },
    after,
  );

/** Whether a folder has what comes first in its pages: folders, or secrets from `=` on. */
function has(looking: Looking, folder: string, what: 'folders' | 'rows'): boolean {
  let after: string | null = what === 'rows' ? '=' : null;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const found = page(looking, folder, 1, after);
    if (found[what].length) return true;
    // Secrets come after all folders.
    if (found.next === null || (what === 'folders' && found.next.startsWith('='))) return false;
    if (what === 'folders' && found.rows.length) return false;
    after = found.next;
  }
  return true;
}

function list(call: Call<FolderListInput>): Outcome {
  const { core, ask, caller, need, input } = call;
  const environment = environmentOf(core, ask.named.environment);
  if (!environment) return fail(noEnvironment(call));
  const now = core.now();
  const looking: Looking = {
    call,
    environment,
    steps: stepsFor(caller, need.scopes, MOST_STEPS),
    matches: (row) =>
      readable(row, now) === null && reaches(caller, need.scopes, row.environment_id, row.name),
  };
  const { folders, next } = page(looking, input.prefix, LOOKED_INTO, input.after);
  const keys = folders.flatMap((folder) => {
    const name = folder.slice(input.prefix.length);
    const paths: [boolean, string][] = [
      [has(looking, folder, 'rows'), name.slice(0, -1)],
      [has(looking, folder, 'folders'), name],
    ];
    return paths.flatMap(([is, key]) => (is ? [key] : []));
  });
  return ok({ keys, next: next?.startsWith('/') ? next : null } satisfies FolderList);
}

/** The keys of a folder, with when the oldest was created and the newest changed. */
export interface FolderShown {
  revision: number;
  created_at: number;
  updated_at: number;
  keys: string[];
}

function show(call: Call<{ prefix: string }>): Outcome {
  const { core, ask, caller, need, input } = call;
  const environment = environmentOf(core, ask.named.environment);
  if (!environment) return fail(noEnvironment(call));
  const { selected, held, next } = select(
    call,
    {
      environment: environment.id,
      scopes: need.scopes,
      prefixes: [input.prefix],
      strip: true,
      isDirect: true,
      after: null,
      patterns: namesHeld(caller, need.scopes, environment.id),
      limit: MOST_BULK.secrets,
    },
    core.now(),
  );
  if (next) return fail(refuse('RESULT_TOO_LARGE'));
  const rows = [...selected.map(({ row }) => row), ...held];
  if (rows.length === 0) return fail(refuse('NOT_FOUND'));
  return ok({
    revision: environmentRevision(core, environment.id),
    created_at: Math.min(...rows.map((row) => row.created_at)),
    updated_at: Math.max(...rows.map((row) => row.rotated_at ?? row.updated_at)),
    keys: rows.map(({ name }) => name.slice(input.prefix.length)).sort(),
  } satisfies FolderShown);
}

const subject = ({ core, ask, input }: Call<{ prefix: string }>) => ({
  environment: environmentOf(core, ask.named.environment)?.slug ?? null,
  prefix: input.prefix,
});

export const folderLists = {
  'secret.list_folders': { subject, read: list } satisfies Operation<FolderListInput>,
  'secret.show_folder': { subject, read: show } satisfies Operation<{ prefix: string }>,
};
