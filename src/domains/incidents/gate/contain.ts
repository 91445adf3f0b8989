// Containing a credential, in the gate: revokes the credential and all its descendants. Invariants: a
// credential that is revoked together with another needs no change of its own, any other is revoked by its
// own row; a caller cannot contain its own lineage; a dry run is refused as the containment would be, and
// changes nothing.

import type { TokenRef } from '../../../auth/authentication/token';
import { contains } from '../../../auth/globs';
import { covers } from '../../../auth/scopes';
import { fromD1, macOf } from '../../../db/rows';
import { type CredentialRow, credentials } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { callerOf } from '../../../gate/identity/caller';
import { formerSessions } from '../../../gate/identity/former-sessions';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { portion, revision, rowKeyOf } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { allLinks } from '../../shares/gate/links';
import { independentOf, isLiving, ownOf } from './descent';
import { contained, incidentOf, recordedIn } from './record';

/**
 * The credential in the path, or the one that a token in the body belongs to; an empty text for none in the
 * gate.
 */
function targetOf({ core, ask, input: { token } }: Call<ContainInput>): string {
  if (ask.named.credential !== undefined) return ask.named.credential;
  return (token && core.rows.find('credential', token.kind, token.hash)?.id) ?? '';
}

/** The contained credential and those of its live descendants that must be revoked individually. */
function independent(call: Call<ContainInput>): CredentialRow[] {
  return independentOf(call.core, targetOf(call), ownOf(call)).flatMap((id) => {
    const row = call.core.rows.get('credential', id);
    return row && isLiving(call, id) ? [row] : [];
  });
}

/** A row that has left the gate: that of an ended session, by one of its columns. */
async function storedRow(
  call: Call<unknown>,
  column: 'id' | 'token_hash',
  value: string,
): Promise<CredentialRow | null> {
  const left = formerSessions(call.core).find(column, value);
  if (left) return left;
  const [found] = await call.core.database.all<Record<string, unknown>>({
    sql: `select * from credentials where org_id = ? and ${column} = ?`,
    params: [call.ask.org, value],
  });
  const row = found && fromD1<CredentialRow>(credentials, found);
  return row && row.mac === macOf(rowKeyOf(call), 'credential', row) ? row : null;
}

/** The row of a credential, also of an ended session that has left the gate; null if unknown. */
export const rowOf = async (call: Call<unknown>, id: string): Promise<CredentialRow | null> =>
  call.core.rows.get('credential', id) ?? storedRow(call, 'id', id);

/** The row of the credential to contain. */
async function wantedRow(call: Call<ContainInput>): Promise<CredentialRow | null> {
  const { named } = call.ask;
  const { token } = call.input;
  if (named.credential !== undefined) return rowOf(call, named.credential);
  if (token === null) return null;
  return (
    call.core.rows.find('credential', token.kind, token.hash) ?? storedRow(call, 'token_hash', token.hash)
  );
}

/** 403 unless the caller may rotate everything the credential could reach. */
function mayRotate(call: Call<ContainInput>): Refusal | null {
  const { core, caller } = call;
  const row = core.rows.get('credential', targetOf(call));
  const everywhere = { environments: null, secrets: null };
  const reached = row ? callerOf(core, lineageOf(core, row)).permissions : [everywhere];
  const isWithin = ({
    environments,
    secrets,
  }: {
    environments: readonly string[] | null;
    secrets: readonly string[] | null;
  }) =>
    caller.permissions.some(
      (own) =>
        covers(own.scopes, 'secrets:rotate') &&
        (own.environments === null || environments?.every((id) => own.environments?.includes(id))) &&
        (own.secrets === null ||
          secrets?.every((inner) => own.secrets?.some((outer) => contains(outer, inner)))),
    );
  return reached.every(isWithin)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message:
          'With rotate, the calling credential needs the scope secrets:rotate for everything the contained credential could reach.',
      });
}

/** Share links created with the credential, including those of a browser session whose member stays. */
// safety: containment-ends-links
const linksWith = (call: Call<unknown>, id: string) =>
  allLinks(call.core).filter(({ created_by }) => created_by === id);

/** What the Worker needs to write the report. */
export interface Contained {
  id: string;
  /** Credentials still to be revoked: one commit has a limit. */
  remaining: number;
  /** Its record; null for a dry run, and where there is no room for one. */
  incident: string | null;
  /** What the report does not follow, and where it starts. */
  spared: string[];
}

export interface ContainInput {
  rotate: boolean;
  dry_run: boolean;
  since: number | null;
  /**
   * Instead of a credential in the path: what a token refers to. Null if the text is no token of this
   * organisation.
   */
  token: Pick<TokenRef, 'kind' | 'hash'> | null;
}

export const contain: Operation<ContainInput> = {
  readsLog: true,
  subject: (call) => ({
    resource: targetOf(call) || null,
    // Whoever only looks has not contained anything: reports begin at the containment.
    // safety: preview-audited-as-look
    ...(call.input.dry_run ? { action: 'credential.graph' as const } : {}),
  }),
  authorize: (call) => (call.input.rotate ? mayRotate(call) : null),
  change: {
    before: (call) => wantedRow(call),
    plan(call, now, { fetched }): Plan | Refusal {
      const { core, input } = call;
      const wanted = fetched as CredentialRow | null;
      // Once its row is gone, its incident still knows it.
      const credential = wanted ?? incidentOf(core, targetOf(call))?.credential;
      if (!credential) return refuse('NOT_FOUND');
      const { id } = credential;
      const own = ownOf(call);
      // safety: containment-spares-caller
      if (own.has(id))
        return refuse('CONFLICT', {
          message:
            'This request would revoke the calling credential. Use a credential that is not revoked together with the contained one.',
        });
      // safety: preview-changes-nothing
      if (input.dry_run) {
        const before = incidentOf(core, id);
        const spared = [...own].filter((one) => before?.spared.includes(one) ?? true);
        return { status: 200, data: { id, remaining: 0, incident: null, spared } satisfies Contained };
      }
      const living = independent(call);
      const rows = portion(living);
      const links = linksWith(call, id).map((link) => ({ kind: 'share' as const, id: link.id }));
      const record = contained(
        call,
        { credential, own, since: input.since, ends: rows.length > 0 || links.length > 0 },
        now,
      );
      const { incident } = record;
      return {
        status: 200,
        data: {
          id,
          remaining: living.length - rows.length,
          incident: incident?.id ?? null,
          spared: incident?.spared ?? [...own],
        } satisfies Contained,
        writes: [
          ...rows.map((row) => revision(call, 'credential', row, { revoked_at: now })),
          ...record.writes,
        ],
        deletes: [...links, ...record.deletes],
        audit: { resource: id, ...recordedIn(incident) },
        events: record.events,
      };
    },
  },
};
