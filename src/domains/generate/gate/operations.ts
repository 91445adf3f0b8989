// Generating files, in the gate: it selects the secrets, gives the Worker their ciphertexts and receives the
// result. Invariants: a file contains only secrets that the caller may read now; the audit entry names its
// contents and is written before the file is sent; an approval is used only by a file that is sent.
import { mayAct, mayReach, namesHeld, reaches, stepsFor } from '../../../auth/authorize';
import { sha256 } from '../../../crypto/digest';
import type { EnvironmentRow, SecretRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { holdingReads } from '../../../gate/approvals/hold';
import type { Subject } from '../../../gate/audit/entry';
import { namesNoted } from '../../../gate/audit/entry';
import { environmentRevision } from '../../../gate/journal/apply';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { fail, ok, wants } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { unknownEnvironment } from '../../secrets/gate/reads';
import { exceedsBulk, inOrder, partOf, rowsOf } from '../../secrets/gate/selection';
import { fetchVersions, keep, keyOf } from '../../secrets/gate/versions';
import { type Delivered, readable } from '../../secrets/rules';
import { READ } from '../actions';

/** The most matching steps for one file. */
const MOST_STEPS = 20_000_000;
/**
 * How often the Worker starts if the secrets change in the meantime. The gate may ask it three times in
 * total, once of them for approval.
 */
const MOST_TRIES = 2;
/** The most names in a sentence for approvers. */
const MOST_LISTED = 10;

export interface GenerateInput {
  format: string;
  environment: string;
  names: string[] | null;
  /** The format refers to secrets by name, so the Worker needs no ciphertexts. */
  valueless: boolean;
  /** Where the previous page ended, and its ETag. */
  after: string | null;
  etag: string | null;
  /**
   * The Worker's result: the ETag of the secrets it used, and why there is no file; absent in the first
   * round.
   */
  made?: { etag: string; tries: number; refusal: Refusal | null };
}

/** The input for a file. */
export interface SourcePage {
  etag: string;
  /** Instead of values, for a format without them. */
  names: string[];
  items: Delivered[];
  next: string | null;
  /** The secrets changed between pages: start again. */
  changed?: true;
}

interface Selected {
  environment: EnvironmentRow;
  rows: SecretRow[];
}

type GenerateCall = Call<GenerateInput>;

/**
 * The environment of a file. One outside the caller's reach is 403 for an agent and looks non-existent to any
 * other caller.
 */
function reachedEnvironment({ core, need, caller, input }: GenerateCall): EnvironmentRow | Refusal {
  const environment = environmentOf(core, input.environment);
  const place = { environment: environment?.id ?? '', shown: input.environment };
  const outside = mayReach(caller, READ, place) ?? mayReach(caller, { ...READ, scopes: need.scopes }, place);
  if (outside && caller.kind === 'agent') return outside;
  // safety: generate-within-environments
  if (!environment || outside) return unknownEnvironment(input.environment);
  return environment;
}

/**
 * Whether the limits of the scope integrations:generate include a name. With one permission set they are
 * those of secrets:read.
 */
const isWithin = ({ caller, need }: GenerateCall, environment: string, name: string): boolean =>
  // safety: generate-within-limits-of-its-scope
  caller.permissions.length === 1 || reaches(caller, need.scopes, environment, name);

/** The secrets of a file: the named ones, or all that the caller may read. */
function select(call: GenerateCall, now: number): Selected | Refusal {
  const environment = reachedEnvironment(call);
  if (isRefusal(environment)) return environment;
  const { caller, input } = call;
  if (input.names) return selectNamed(call, environment, input.names, now);
  const patterns = namesHeld(caller, READ.scopes, environment.id);
  const found = rowsOf(call, { environment: environment.id, scopes: READ.scopes, patterns }, now);
  if (found === null) return refuse('RESULT_TOO_LARGE');
  const rows = [...found.rows, ...found.held].filter(({ name }) => isWithin(call, environment.id, name));
  return { environment, rows: rows.sort(inOrder) };
}

function selectNamed(
  call: GenerateCall,
  environment: EnvironmentRow,
  names: readonly string[],
  now: number,
): Selected | Refusal {
  const { core, caller } = call;
  const steps = stepsFor(caller, READ.scopes, MOST_STEPS);
  const rows: SecretRow[] = [];
  const missing: string[] = [];
  for (const name of names) {
    // safety: generate-steps-bounded
    if (!steps.take(environment.id, name)) return refuse('RESULT_TOO_LARGE');
    // safety: generate-within-names
    const isReached =
      reaches(caller, READ.scopes, environment.id, name) && isWithin(call, environment.id, name);
    const row = isReached ? core.rows.find('secret', environment.id, name) : null;
    // safety: generate-active-only
    if (row && readable(row, now) === null) rows.push(row);
    else missing.push(name);
  }
  if (missing.length === 0) return { environment, rows: rows.sort(inOrder) };
  const shown = listed(missing);
  const details = missing.map((name) => ({
    path: name,
    message: 'is not an active secret that this credential can read',
  }));
  return caller.kind === 'agent'
    ? refuse('SECRET_ACCESS_DENIED', {
        message: `This agent may not read these secrets in ${environment.slug}: ${shown}.`,
        details,
      })
    : refuse('NOT_FOUND', {
        message: `There are no such secrets in the environment ${environment.slug}: ${shown}.`,
        details,
      });
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_LISTED;
  return names.slice(0, MOST_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const etagOf = ({ environment, rows }: Selected): string =>
  sha256(JSON.stringify([environment.id, rows.map(({ id, name, version }) => [id, name, version])]));

const place = ({ core, input }: GenerateCall): Partial<Subject> => {
  const environment = environmentOf(core, input.environment);
  return environment ? { resource: environment.id, environment: environment.slug } : {};
};

/**
 * What the audit entry says about a file. If the names are too long, it records the prefix or patterns that
 * contain them, so an exposure report counts too many rather than too few.
 */
function about({ core, caller, input }: GenerateCall, { environment, rows }: Selected): Partial<Subject> {
  const names = rows.map(({ name }) => name);
  return {
    version: input.valueless ? null : environmentRevision(core, environment.id),
    file: { format: input.format, secrets: rows.length },
    ...namesNoted(names, namesHeld(caller, READ.scopes, environment.id)),
  };
}

/** What approvers are asked for, and which secrets need approval. */
function together({ core, caller, input }: GenerateCall, { environment, rows }: Selected) {
  const held = rows.filter((row) => holdingReads(core, row, [caller]).length).length;
  const describes = `generate a file (${input.format}) of ${rows.length} secrets of the environment ${environment.slug}, of which ${held} ${held === 1 ? 'needs' : 'need'} approval`;
  return { all: rows, describes, shows: [{ name: 'Format', value: input.format }] };
}

/**
 * The outcome once the Worker has created a file from exactly these secrets, or found why it cannot; null if
 * they have changed in the meantime.
 */
function ended(call: GenerateCall, selected: Selected): OperationOutcome | null {
  const { made } = call.input;
  // safety: generate-point-in-time
  if (!made || made.etag !== etagOf(selected)) return null;
  if (made.refusal) return fail(made.refusal);
  return {
    ...ok({ secrets: selected.rows.length }),
    audit: about(call, selected),
    reveals: together(call, selected),
  };
}

async function generate(call: GenerateCall): Promise<OperationOutcome> {
  const { core, input } = call;
  const fetched = new Map<string, VersionRow>();
  for (let asked = false; ; asked = true) {
    const now = core.now();
    // safety: generate-rechecked-after-fetch
    const refusal = asked ? call.recheck() : null;
    if (refusal) return fail(refusal);
    const selected = select(call, now);
    if (isRefusal(selected)) return fail(selected);
    const { environment, rows } = selected;
    if (exceedsBulk(rows)) return fail(refuse('RESULT_TOO_LARGE'));
    const end = ended(call, selected);
    if (end) return end;
    if ((input.made?.tries ?? 0) >= MOST_TRIES) return fail(refuse('UNAVAILABLE', { retry_after: 1 }));

    const etag = etagOf(selected);
    const give = (page: Omit<SourcePage, 'etag'>): OperationOutcome => ({
      ...wants('page', { ...page, etag } satisfies SourcePage),
      reveals: together(call, selected),
    });
    if (input.etag !== null && input.etag !== etag)
      return give({ names: [], items: [], next: null, changed: true });
    if (input.valueless) return give({ names: rows.map(({ name }) => name), items: [], next: null });
    const { part, next, missing } = partOf(
      core,
      { rows, fetched, environment: environment.slug, now },
      { as_text: true, from: Number(input.after ?? 0) },
    );
    if (missing.length === 0) {
      for (const version of fetched.values()) keep(core, version);
      return give({ names: [], items: part.map(({ item }) => item), next });
    }
    for (const version of await fetchVersions(call, missing))
      fetched.set(keyOf(version.secret_id, version.version), version);
  }
}

export const generateOperations: Record<string, Operation> = {
  'integration.generate': {
    subject: place,
    // safety: generate-needs-read
    reach: ({ caller, ask }: GenerateCall) => mayAct(caller, READ, ask.request.ip),
    read: generate,
  } as Operation,
};
