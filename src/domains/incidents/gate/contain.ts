// Containing a credential, in the gate: revokes the credential and all its descendants and gives the Worker the facts for the exposure
// report, part by part. Invariants: a credential that is revoked together with another needs no change of its own, any other is revoked by
// its own row; a caller cannot contain its own lineage; a part changes nothing except raising due events, and needs no audit entry.

import { reaches } from '../../../auth/authorize';
import { contains } from '../../../auth/globs';
import { covers } from '../../../auth/scopes';
import { fromD1, macOf } from '../../../db/rows';
import { type CredentialRow, credentials, parentIdOf, type SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { callerOf } from '../../../gate/caller';
import { isAlive } from '../../../gate/lifetime';
import { lineageOf } from '../../../gate/lineage';
import { missingEntries } from '../../../gate/missing-entries';
import { ok } from '../../../gate/outcome';
import { portion, removal, revision, rowKeyOf } from '../../../gate/puts';
import { secretData } from '../../../gate/raised';
import type { Call, Operation, OperationOutcome } from '../../../gate/types';
import { etagOf, statusOf } from '../../secrets/rules';
import { allLinks } from '../../shares/gate/links';
import { independentOf } from '../descendants';
import type { ChildrenPart, CredentialSummary, LogPart, NamedSecret, Part, RootPart, SecretsPart } from '../parts';

const target = (call: Call<unknown>) => call.ask.named.credential as string;

/** The caller's credential and its lineage. */
const ownOf = ({ core, caller }: Call<unknown>): Set<string> => {
  const own = core.rows.get('credential', caller.credential);
  return new Set(own ? lineageOf(core, own).map(({ id }) => id) : []);
};

/** The contained credential and those of its live descendants that must be revoked individually. */
function independent(call: Call<unknown>): CredentialRow[] {
  const { core, ask } = call;
  return independentOf(core.descendants, target(call), ownOf(call), core.now()).flatMap((id) => {
    const row = core.rows.get('credential', id);
    return row && isAlive(core, ask.org, row) ? [row] : [];
  });
}

/** The row of a credential: in the gate or, for an expired session, in D1; null if unknown. */
async function rowOf(call: Call<unknown>): Promise<CredentialRow | null> {
  const here = call.core.rows.get('credential', target(call));
  if (here) return here;
  const [found] = await call.core.database.all<Record<string, unknown>>({
    sql: 'select * from credentials where org_id = ? and id = ?',
    params: [call.ask.org, target(call)],
  });
  const row = found && fromD1<CredentialRow>(credentials, found);
  return row && row.mac === macOf(rowKeyOf(call), 'credential', row) ? row : null;
}

/** 403 unless the caller may rotate everything the credential could reach. */
function mayRotate(call: Call<unknown>): Refusal | null {
  const { core, ask, caller } = call;
  const row = core.rows.get('credential', target(call));
  const everywhere = { environments: null, secrets: null };
  const reached = row ? callerOf(core, ask.org, lineageOf(core, row)).permissions : [everywhere];
  const isWithin = ({ environments, secrets }: { environments: readonly string[] | null; secrets: readonly string[] | null }) =>
    caller.permissions.some(
      (own) =>
        covers(own.scopes, 'secrets:rotate') &&
        (own.environments === null || environments?.every((id) => own.environments?.includes(id))) &&
        (own.secrets === null || secrets?.every((inner) => own.secrets?.some((outer) => contains(outer, inner)))),
    );
  return reached.every(isWithin)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message: 'With rotate, the calling credential needs the scope secrets:rotate for everything the contained credential could reach.',
      });
}

/** Share links created with the credential, including those of a browser session whose member stays. */
// safety: containment-ends-links
const linksWith = (call: Call<unknown>) => allLinks(call.core).filter(({ created_by }) => created_by === target(call));

export interface Contained {
  /** Credentials still to be revoked: one commit has a limit. */
  remaining: number;
}

export const contain: Operation<{ rotate: boolean }> = {
  authorize: (call) => (call.input.rotate ? mayRotate(call) : null),
  change: {
    locks: (call) => [target(call), ...independent(call).map(({ id }) => id), ...linksWith(call).map(({ id }) => id)],
    before: (call) => rowOf(call),
    plan(call, now, { fetched }) {
      const { core } = call;
      const id = target(call);
      if (!(core.rows.get('credential', id) ?? fetched)) return refuse('NOT_FOUND');
      // safety: containment-spares-caller
      if (ownOf(call).has(id))
        return refuse('CONFLICT', {
          message:
            'This request would revoke the calling credential. Use a credential that is not revoked together with the contained one.',
        });
      const living = independent(call);
      const rows = portion(living);
      return {
        status: 200,
        data: { remaining: living.length - rows.length } satisfies Contained,
        puts: rows.map((row) => revision(call, 'credential', row, { revoked_at: now })),
        ...removal(
          call.ask.org,
          linksWith(call).map(({ id: link }) => ({ kind: 'share', id: link })),
        ),
      };
    },
  },
};

// ---------------------------------------------------------------- parts of the report

const PAGE = 1000;

function summaryOf(row: CredentialRow): CredentialSummary {
  const { id, kind, name, created_at, expires_at, revoked_at, generation } = row;
  return { id, kind, name, created_at, expires_at, revoked_at, generation, parent_id: parentIdOf(row) };
}

async function root(call: Call<unknown>): Promise<RootPart | null> {
  const { core, ask } = call;
  const row = await rowOf(call);
  const org = core.rows.get('org', ask.org);
  if (!row || !org) return null;
  const { generation, keys_generation, spared, panicked_at } = org;
  return {
    org: { generation, keys_generation, spared, panicked_at },
    root: summaryOf(row),
    spared: [...ownOf(call)],
    member: row.member_id,
  };
}

function children({ core }: Call<unknown>, of: string[], after: string): ChildrenPart {
  const ids = core.descendants.children(of, after, PAGE);
  const credentials = new Map<string, CredentialSummary>();
  for (const id of ids) {
    const row = core.rows.get('credential', id);
    for (const link of row ? lineageOf(core, row) : []) {
      const known = core.rows.get('credential', link.id);
      if (known) credentials.set(link.id, summaryOf(known));
    }
  }
  return { children: ids, credentials: [...credentials.values()], next: ids.length < PAGE ? null : (ids.at(-1) ?? null) };
}

function secrets({ core }: Call<unknown>, environments: string[], after: string): SecretsPart {
  const page = core.rows.after('secret', after, 2 * PAGE);
  const rows = page
    .filter(({ environment_id }) => environments.includes(environment_id))
    .map(({ id, environment_id, name, version, expires_at, deleted_at, revoked_at }) => ({
      ...{ id, environment: environment_id, name, version, expires_at },
      deleted: deleted_at !== null,
      revoked: revoked_at !== null,
    }));
  return { rows, head: core.auditLog.head().sequence, next: page.length < 2 * PAGE ? null : (page.at(-1) as SecretRow).id };
}

function named({ core, caller }: Call<unknown>, ids: string[]): NamedSecret[] {
  const now = core.now();
  return ids.flatMap((id) => {
    const row = core.rows.get('secret', id);
    if (!row) return [];
    const mayList = reaches(caller, ['secrets:list', 'secrets:read'], row.environment_id, row.name);
    const isActive = statusOf(row, now) === 'active';
    return [{ id, name: mayList ? row.name : null, type: row.type, etag: etagOf(row), isActive, generated: row.generated !== null }];
  });
}

/** Raises SECRET_ROTATION_DUE once per secret for this containment. Returns whether any event was raised. */
function due(call: Call<unknown>, ids: string[]): boolean {
  const { core } = call;
  const id = target(call);
  return core.storage.transactionSync(() => {
    const fresh = ids.filter((secret) => core.meta.get(`due:${id}:${secret}`) === null);
    for (const secret of fresh) {
      const row = core.rows.get('secret', secret);
      if (!row) continue;
      core.meta.set(`due:${id}:${secret}`, String(core.now()));
      const data = { ...secretData(core, row), credential_id: id };
      core.outbox.put({ type: 'SECRET_ROTATION_DUE', data }, core.now());
    }
    return fresh.length > 0;
  });
}

export const part: Operation<Part> = {
  async read(call): Promise<OperationOutcome> {
    const { core, input } = call;
    const answer = (data: unknown): OperationOutcome => ({ ...ok(data), audited: true });
    if (input.part === 'log') {
      const oldest = core.auditLog.oldest();
      const { entries } = input.from >= oldest ? core.auditLog.from(input.from, PAGE) : { entries: [] };
      const head = core.auditLog.head().sequence;
      return answer({ entries, oldest, held: core.auditLog.held(), head, missing: missingEntries(core) } satisfies LogPart);
    }
    if (input.part === 'secrets') return answer(secrets(call, input.environments, input.after));
    if (input.part === 'named') return answer(named(call, input.ids));
    if (input.part === 'due') {
      // The event has an audit entry of its own, so neither exists without the other.
      return { ...ok(null), audited: !due(call, input.ids) };
    }
    if (input.part === 'children') return answer(children(call, input.of, input.after));
    return answer(await root(call));
  },
};
