// Updating and revoking credentials. Invariants: an update adds only what the caller holds itself, and a
// caller that expires or depends on another credential cannot extend one that outlives it; a revoked
// credential and all its descendants are refused from the turn in which its row changes.

import { bindingScopes, isBinding } from '../../../auth/authentication/bindings';
import { type Caller, mustBeConfirmed } from '../../../auth/authorize';
import { isNarrower, type Wanted, withinPermissions } from '../../../auth/delegation';
import type { CredentialKind } from '../../../db/credential-kinds';
import type { McpLimits } from '../../../db/mcp-limits';
import { fromD1, macOf } from '../../../db/rows';
import {
  type CredentialRow,
  credentials,
  isMadeByOwner,
  madeByOwnerColumn,
  parentColumn,
  parentIdOf,
} from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { accountableOf, withCaller } from '../../../gate/identity/accountable';
import { formerSessions } from '../../../gate/identity/former-sessions';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { environmentOf } from '../../../gate/request/target';
import { insertion, revision, rowKeyOf } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { fresh, maker, unknownEnvironment, wouldOwn } from './create';
import { endIn, find, shown, type TokenInput, target } from './credential';

/**
 * The row whose revision If-Match names. A revoked credential has none, so that a repeated revocation
 * succeeds.
 */
function unrevoked(call: Call<unknown>, kind: CredentialKind): CredentialRow | null {
  const row = find(call, kind);
  return row?.revoked_at === null ? row : null;
}

/** What a credential's row grants. */
export const held = ({
  scopes,
  environments,
  secrets,
  upstreams,
  allowed_addresses,
  expires_at,
  device_id,
  mcp_limits,
}: CredentialRow): Wanted => ({
  scopes,
  environments,
  secrets,
  upstreams,
  allowed_addresses,
  expires_at,
  device_id,
  mcp_limits,
});

/**
 * 403 if a caller that depends on another credential would extend one that does not depend on the same
 * credential.
 */
export function mayOutlive({ core, caller }: Call<unknown>, row: CredentialRow): Refusal | null {
  if (!caller.isDependent || lineageOf(core, row).some(({ id }) => id === caller.credential)) return null;
  return refuse('SCOPE_EXCEEDS_PARENT', {
    message:
      'A credential that is revoked together with its creator can extend only credentials that are revoked together with it.',
  });
}

/** Whether a credential would hold nothing more than its row gives it now. */
function isLess(row: CredentialRow, after: Wanted): boolean {
  // safety: binding-narrowed-by-what-it-gives
  const given = (of: Wanted) => (isBinding(row) ? { ...of, scopes: bindingScopes(of.scopes) } : of);
  return isNarrower(given(held(row)), given(after));
}

/**
 * 403 unless the caller may give a credential these permissions. Narrowing needs no more than the permission
 * to update.
 */
export const mayGive = (call: Call<unknown>, row: CredentialRow, after: Wanted): Refusal | null =>
  // safety: widening-within-lifetime, widening-within-permissions
  isLess(row, after) ? null : (mayOutlive(call, row) ?? withinPermissions(call.caller, after));

/**
 * The members accountable for a credential once this caller has changed it: who gives it more is accountable
 * for what it does.
 */
// safety: widener-accountable
export const accountableAfter = (
  { core, caller }: Call<unknown>,
  row: CredentialRow,
  after: Wanted,
): Pick<CredentialRow, 'accountable'> | null =>
  isLess(row, after) ? null : { accountable: withCaller(core, caller, accountableOf(core, row)) };

/** The same for an updated row: a higher rate limit is more, too. */
const mayUpdate = (call: Call<UpdateInput>, row: CredentialRow, after: CredentialRow): Refusal | null =>
  // safety: rate-limit-raised-within-permissions
  mayGive(call, row, held(after)) ??
  mayLift(call, row, after) ??
  (after.rate_limit > row.rate_limit
    ? (mayOutlive(call, row) ?? withinPermissions(call.caller, held(after)))
    : null);

/** 403 for a member who has not confirmed lifting limits of an API key that may then act as an owner. */
function mayLift({ caller }: Call<unknown>, row: CredentialRow, after: CredentialRow): Refusal | null {
  const isLifted = row.kind === 'api_key' && isMadeByOwner(row) && !isLess(row, held(after));
  // safety: lifted-limits-confirmed
  return isLifted && wouldOwn(caller, held(after)) ? mustBeConfirmed(caller) : null;
}

/** An API key acts as an owner only as long as owners alone lifted its limits. */
const ownerAfter = ({ caller }: Call<unknown>, row: CredentialRow, after: CredentialRow) =>
  // safety: lifted-by-owner
  row.kind === 'api_key' && !caller.isOwner && !isLess(row, held(after)) ? madeByOwnerColumn(false) : null;

/** 403 if the caller would raise a rate limit that applies to itself. */
function raisesOwn({ core, caller }: Call<unknown>, row: CredentialRow, rate_limit = 0): Refusal | null {
  const self = core.rows.get('credential', caller.credential);
  if (rate_limit <= row.rate_limit || !self || !lineageOf(core, self).some(({ id }) => id === row.id))
    return null;
  return refuse('SCOPE_EXCEEDS_PARENT', {
    message: 'A credential cannot raise a rate limit that applies to itself.',
  });
}

export interface UpdateInput {
  name: string | null;
  /** Undefined leaves a field unchanged. */
  scopes?: string[];
  environments?: string[] | null;
  secrets?: string[] | null;
  upstreams?: string[] | null;
  allowed_addresses?: string[] | null;
  ttlSeconds?: number | null;
  rate_limit?: number;
  mcp_limits?: McpLimits | null;
  /** Of an API key: the mark of a new access key, or null for none. */
  aws?: string | null;
}

/** The fields of an updated credential. An environment that does not exist becomes an empty id. */
export function changed({ core, input }: Call<UpdateInput>, now: number): Partial<CredentialRow> {
  const { scopes, environments, secrets, upstreams, allowed_addresses, ttlSeconds, rate_limit } = input;
  const { mcp_limits, aws } = input;
  return {
    ...(input.name !== null && { name: input.name }),
    ...(scopes && { scopes }),
    ...(environments !== undefined && {
      environments: environments?.map((ref) => environmentOf(core, ref)?.id ?? '') ?? null,
    }),
    ...(secrets !== undefined && { secrets }),
    ...(upstreams !== undefined && { upstreams }),
    ...(allowed_addresses !== undefined && { allowed_addresses }),
    ...(ttlSeconds !== undefined && { expires_at: endIn(ttlSeconds, now) }),
    ...(rate_limit !== undefined && { rate_limit }),
    ...(mcp_limits !== undefined && { mcp_limits }),
    ...(aws !== undefined && { aws }),
  };
}

export function update(kind: CredentialKind): Operation<UpdateInput> {
  return {
    authorize(call, now) {
      const { core, caller } = call;
      const row = find(call, kind);
      if (!row) return null;
      const fields = changed(call, now);
      const after = { ...row, ...fields };
      // safety: own-rate-limit
      const refused = mayUpdate(call, row, after) ?? raisesOwn(call, row, call.input.rate_limit);
      if (refused) return refused;
      const updated = { ...fields, ...ownerAfter(call, row, after) };
      if (fields.aws == null) return { ...updated, ...accountableAfter(call, row, held(after)) };
      // Whoever has the access key has all that the API key holds.
      // safety: access-key-within-permissions
      const exceeds = mayTakeOver(call, row);
      return exceeds ?? { ...updated, accountable: withCaller(core, caller, accountableOf(core, row)) };
    },
    change: {
      revises: (call) => unrevoked(call, kind),
      plan(call, _now, { judged }) {
        const { core, input } = call;
        const row = find(call, kind);
        if (!row || !isAlive(core, row)) return refuse('NOT_FOUND');
        const fields = judged as ReturnType<typeof changed>;
        const unknown = unknownEnvironment(input.environments ?? null, fields.environments ?? null);
        if (unknown) return unknown;
        const put = revision(call, 'credential', row, fields);
        return { status: 200, data: shown(call, put.row as CredentialRow), writes: [put] };
      },
    },
  };
}

/** 403 unless the caller may get a credential that acts as this API key does. */
function mayTakeOver(call: Call<unknown>, row: CredentialRow | null): Refusal | null {
  const { caller } = call;
  // What it gets would outlive a caller that depends on another credential.
  if (caller.kind === 'session' || caller.kind === 'agent' || caller.kind === 'workload')
    return refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
      message:
        'A session token or an agent credential cannot rotate an API key or make its access key. Use an API key.',
    });
  if (!row) return null;
  const exceeds = mayOutlive(call, row) ?? withinPermissions(caller, held(row));
  return exceeds ?? (wouldOwn(caller, held(row)) ? mustBeConfirmed(caller) : null);
}

interface RotateInput {
  token: TokenInput;
  overlap_seconds: number;
}

export const rotateKey: Operation<RotateInput> = {
  reach: (call) => mayTakeOver(call, find(call, 'api_key')),
  change: {
    revises: (call) => unrevoked(call, 'api_key'),
    plan(call, now) {
      const { core, ask, input } = call;
      const row = find(call, 'api_key');
      if (!row) return refuse('NOT_FOUND');
      if (!isAlive(core, row))
        return refuse('CONFLICT', { message: 'This API key has expired or was revoked. Create a new one.' });
      if (row.successor_id !== null)
        return refuse('CONFLICT', {
          message: `This API key was already rotated. Its successor is ${row.successor_id}.`,
        });
      const {
        kind,
        name,
        scopes,
        environments,
        secrets,
        upstreams,
        allowed_addresses,
        rate_limit,
        expires_at,
        device_id,
      } = row;
      const successor = insertion(call, 'credential', {
        ...fresh(core, ask.org, input.token, now),
        kind,
        name,
        scopes,
        environments,
        secrets,
        upstreams,
        allowed_addresses,
        rate_limit,
        expires_at,
        // safety: rotated-key-keeps-device
        device_id,
        ...parentColumn(parentIdOf(row)),
        ...maker(call.caller),
        ...madeByOwnerColumn(isMadeByOwner(row) && call.caller.isOwner),
        // safety: rotated-key-gets-no-access-key
        ...(row.aws === null && { aws: null }),
        // The caller has the token; those accountable for the old key remain accountable.
        accountable: withCaller(core, call.caller, accountableOf(core, row)),
      });
      const end = now + input.overlap_seconds * 1000;
      const old = revision(call, 'credential', row, {
        successor_id: input.token.id,
        ...(input.overlap_seconds === 0
          ? { revoked_at: now }
          : { expires_at: Math.min(expires_at ?? end, end) }),
      });
      const made = successor.row as CredentialRow;
      return {
        status: 201,
        data: shown(call, made),
        writes: [successor, old],
        resource: input.token.id,
        audit: { successor: made.id },
      };
    },
  },
};

/** Revokes a credential. A repeat returns the same response. */
export function revoke(
  kind: CredentialKind,
  isOwn: (row: CredentialRow, caller: Caller) => boolean,
): Operation<Record<string, never>> {
  return {
    exempt(call) {
      const row = call.core.rows.get('credential', target(call));
      return row?.kind === kind && isOwn(row, call.caller);
    },
    change: {
      /**
       * Whether the credential is known: an expired session token leaves the gate, but must not look unknown.
       */
      async before(call) {
        const here = call.core.rows.get('credential', target(call));
        if (here) return here.kind === kind;
        if (formerSessions(call.core).find('id', target(call))?.kind === kind) return true;
        const [found] = await call.core.database.all<Record<string, unknown>>({
          sql: 'select * from credentials where org_id = ? and id = ? and kind = ?',
          params: [call.ask.org, target(call), kind],
        });
        const row = found && fromD1<CredentialRow>(credentials, found);
        // safety: revoked-session-mac
        return row !== undefined && row.mac === macOf(rowKeyOf(call), 'credential', row);
      },
      revises: (call) => unrevoked(call, kind),
      plan(call, now, { fetched: known }): Plan | Refusal {
        const row = find(call, kind);
        if (!row && !known) return refuse('NOT_FOUND');
        if (!row || row.revoked_at !== null) return { status: 204, data: null };
        const put = revision(call, 'credential', row, { revoked_at: now });
        return { status: 204, data: null, writes: [put] };
      },
    },
  };
}
