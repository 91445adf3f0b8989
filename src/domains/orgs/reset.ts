// A new gate for an organisation: the gate's storage is deleted, and the next call begins again from D1.
// Invariants: only the bootstrap token gets here; nothing is changed unless D1 has the organisation's own
// row, because a gate without it accepts no credential; the organisation's entries are moved to D1 first if
// its gate still answers; the audit log of the new gate says why.
import type { Action } from '../../auth/actions';
import { idBytes } from '../../db/ids';
import { macOf, readable } from '../../db/rows';
import { ApiError, refuse } from '../../errors';
import type { Ask, Reply } from '../../gate/request/call';
import { RESET } from '../../gate/request/call';
import { unwrap } from '../../gate/request/outcome';
import { callGate } from '../../http/calls/gate-call';
import type { BaseContext } from '../../http/context';
import type { OrgKeys } from '../../keys/keyring';

/** How long a broken gate may take to move its audit entries, in milliseconds. */
const PATIENCE = 10_000;

export interface ResetInput {
  reason: string;
  /** Whether the newest audit entries were moved to D1 before. */
  archived: boolean;
}

/** Gives an organisation a new gate. Safe to repeat: a gate that has just begun has nothing to lose. */
export async function resetGate(org: string, reason: string, context: BaseContext) {
  context.trace.org = org;
  const keys = idBytes('org', org) ? await context.keyring.org(org) : null;
  // safety: reset-of-existing-org
  if (!keys) throw new ApiError(refuse('NOT_FOUND'));
  // safety: reset-needs-org-row
  if (!(await hasRow(org, keys, context)))
    throw new ApiError(refuse('CONFLICT', { message: rowMissing(org) }));
  const archived = await archive(org, keys, context);
  try {
    await context.env.GATE.getByName(org).reset();
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown';
    if (!why.includes(RESET)) throw unreachable(org, why, context);
  }
  const reply = await ask(context, {
    org,
    action: 'org.reset_gate',
    keys,
    input: { reason, archived } satisfies ResetInput,
  });
  return unwrap(reply.outcome).data;
}

const rowMissing = (org: string) =>
  `The database has lost the row of ${org}, or it was altered. A new gate would accept no credential, so nothing was changed. While the old gate answers, npm run restore -- --adopt --only ${org} --reason TEXT writes the row back. Otherwise restore the database from a backup and adopt it.`;

/** Whether D1 has the row of the organisation itself, as a gate wrote it. */
async function hasRow(org: string, keys: OrgKeys, { env }: BaseContext): Promise<boolean> {
  const found = await env.DB.prepare('select * from orgs where id = ?')
    .bind(org)
    .first<Record<string, unknown>>()
    .catch(() => {
      throw new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));
    });
  const row = found && readable('org', found);
  return row !== null && row.mac === macOf(keys.row, 'org', row);
}

const ask = (
  { env, trace, defer, request }: BaseContext,
  {
    org,
    action,
    keys: { row, answer },
    input,
  }: { org: string; action: Action; keys: OrgKeys; input: object },
): Promise<Reply> => {
  const asked: Ask = {
    org,
    action,
    operation: action,
    bearer: 'bootstrap',
    path_org: null,
    named: {},
    finding: null,
    input,
    idempotency: null,
    one_time: null,
    again: false,
    repeated: false,
    keys: { row, answer },
    request,
  };
  return callGate(env, asked, trace, true, defer);
};

/** Whether the gate moved its newest audit entries to D1. */
async function archive(org: string, keys: OrgKeys, context: BaseContext): Promise<boolean> {
  const moved = ask(context, { org, action: 'audit.archive', keys, input: { isClosing: true } }).then(
    ({ outcome }) => outcome.kind === 'ok',
    () => false,
  );
  return Promise.race([moved, new Promise<boolean>((done) => setTimeout(done, PATIENCE, false))]);
}

function unreachable(org: string, why: string, { request }: BaseContext): ApiError {
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'gate_unreachable',
      org,
      request_id: request.id,
      why: why.slice(0, 200),
    }),
  );
  const message = `The gate of ${org} cannot be reset: it does not start.`;
  return new ApiError(refuse('UNAVAILABLE', { message, retry_after: 60 }));
}
