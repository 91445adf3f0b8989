// Operations on trusts in the gate. Invariants: a trust holds no more than its creator; a caller that makes
// it accept other tokens must hold everything the trust gives, and becomes its creator; a trust that has
// ended looks non-existent.

import { BINDING, BINDING_WARNING, isBinding } from '../../../auth/authentication/bindings';
import { callerProblem } from '../../../auth/authentication/issuers';
import { isNarrowerTrust } from '../../../auth/authentication/trusts';
import { type Wanted, withinPermissions } from '../../../auth/delegation';
import { idStart } from '../../../db/ids';
import type { CredentialRow } from '../../../db/schema';
import type { Trust } from '../../../db/trusts';
import { checkTarget } from '../../../delivery/egress';
import { invalid, type Refusal, refuse } from '../../../errors';
import { accountableOf, withCaller } from '../../../gate/identity/accountable';
import { isAlive } from '../../../gate/identity/lifetime';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found } from '../../../gate/request/outcome';
import { revision } from '../../../gate/request/writes';
import {
  aboutToken,
  issue,
  maker,
  RATES,
  unknownEnvironment,
  wanted,
  within,
} from '../../credentials/gate/create';
import { find, shown, type TokenInput } from '../../credentials/gate/credential';
import {
  accountableAfter,
  changed,
  held,
  mayGive,
  mayOutlive,
  revoke,
  type UpdateInput,
} from '../../credentials/gate/update';
import { exchange, exchangeRefused } from './exchange';

/** The most live trusts of an organisation. */
const MOST_TRUSTS = 100;

const live = (call: Call<unknown>): CredentialRow | null => {
  const row = find(call, 'trust');
  return row && isAlive(call.core, row) ? row : null;
};

interface NewInput {
  /** Not a token: a trust has only an id. */
  token: TokenInput;
  name: string;
  scopes: string[];
  environments: string[] | null;
  secrets: string[] | null;
  upstreams: string[] | null;
  allowed_addresses: string[] | null;
  trust: Omit<Trust, 'changed_at'>;
}

/**
 * What its session tokens would hold. A workload has no device, so a caller bound to a device cannot create a
 * trust.
 */
const permissionsOf = (call: Call<NewInput>) => ({
  ...wanted(call, { ...call.input, expires_at: null }),
  // safety: trust-bound-to-no-device
  device_id: null,
});

const create: Operation<NewInput> = {
  subject: aboutToken,
  // safety: trust-within-permissions
  authorize: (call) => within(call, permissionsOf(call)),
  change: {
    plan(call, now, { judged }) {
      const { core, input } = call;
      if (core.rows.within('credential', 'trust').filter((row) => isAlive(core, row)).length >= MOST_TRUSTS)
        return refuse('LIMIT_REACHED', {
          message: 'An organisation can have at most 100 trusts. Delete some that you no longer need.',
        });
      const { token, name, scopes } = input;
      const made = {
        kind: 'trust',
        name,
        scopes,
        rate_limit: RATES.trust,
        trust: { ...input.trust, changed_at: now },
      } as const;
      const plan = issue(call, token, made, judged as Wanted, { ...input, expires_at: null }, now);
      if (isRefusal(plan) || input.trust.issuer !== BINDING) return plan;
      return { ...plan, data: { ...(plan.data as object), warning: BINDING_WARNING } };
    },
  },
};

interface PatchInput extends Omit<UpdateInput, 'ttlSeconds' | 'rate_limit'> {
  /** What it accepts, if that changes. */
  trust: Partial<Omit<Trust, 'changed_at'>>;
  /** Whether the deployment reaches private addresses. */
  allowPrivate: boolean;
}

const invalidClaims = ({ claims }: Trust): Refusal | null => {
  const other = Object.keys(claims).find((claim) => claim !== 'name');
  if (other !== undefined) return invalid(`claims.${other}`, 'must be name: a binding has no other');
  const problem = callerProblem(BINDING, claims);
  return problem ? invalid('claims', problem) : null;
};

/** 400 for a field that a trust of bound Workers does not have, or for another issuer. */
function unfit({ trust, allowed_addresses }: PatchInput): Refusal | null {
  const sent = { issuer: trust.issuer, audiences: trust.audiences, jwks: trust.keys, ttlSeconds: trust.ttl };
  const [field] =
    Object.entries({ ...sent, reuse: trust.reuse, allowed_addresses: allowed_addresses ?? undefined }).find(
      ([, value]) => value !== undefined,
    ) ?? [];
  // safety: changed-binding-without-tokens
  return field === undefined ? null : invalid(field, `cannot change in a trust with the issuer ${BINDING}`);
}

/** 400 for a change to a trust that could not be created: what stays of it counts too. */
function unacceptable(
  { issuer, claims, keys }: Partial<Trust>,
  after: Trust,
  allowPrivate: boolean,
): Refusal | null {
  if (issuer === undefined && claims === undefined && keys === undefined) return null;
  if (after.issuer === BINDING) return invalidClaims(after);
  const problem = callerProblem(after.issuer, after.claims);
  // safety: changed-trust-names-account
  if (problem) return invalid('claims', problem);
  // safety: changed-issuer-reachable
  const unreachable = after.keys ? null : checkTarget(after.issuer, { allowPrivate });
  return unreachable ? invalid('issuer', `${unreachable}, or jwks must be sent`) : null;
}

/**
 * The fields of a changed trust, or why the change is refused. Accepting or holding less needs only the
 * permission to update.
 */
function judge(call: Call<PatchInput>, now: number): Refusal | Partial<CredentialRow> | null {
  const row = live(call);
  if (!row?.trust) return null;
  const { name, trust, allowPrivate, ...rest } = call.input;
  const isRenamed = Object.keys(rest).length === 0 && Object.keys(trust).length === 0;
  const misfit = isBinding(row) ? unfit(call.input) : null;
  if (misfit) return misfit;
  const after = { ...row.trust, ...trust, ...(!isRenamed && { changed_at: now }) };
  const refused = unacceptable(trust, after, allowPrivate);
  if (refused) return refused;
  const fields = { ...changed(call as Call<UpdateInput>, now), trust: after };
  const holds = held({ ...row, ...fields });
  // safety: trust-repointed-within-permissions
  if (isNarrowerTrust(row.trust, after))
    return mayGive(call, row, holds) ?? { ...fields, ...accountableAfter(call, row, holds) };
  const { core, caller } = call;
  const accountable = withCaller(core, caller, accountableOf(core, row));
  // safety: trust-repointed-by-maker
  return (
    mayOutlive(call, row) ?? withinPermissions(caller, holds) ?? { ...fields, ...maker(caller), accountable }
  );
}

const update: Operation<PatchInput> = {
  authorize: judge,
  change: {
    revises: live,
    plan(call, _now, { judged }) {
      const row = live(call);
      if (!row || !judged) return refuse('NOT_FOUND');
      const fields = judged as Partial<CredentialRow>;
      const unknown = unknownEnvironment(call.input.environments ?? null, fields.environments ?? null);
      if (unknown) return unknown;
      const put = revision(call, 'credential', row, fields);
      return { status: 200, data: shown(call, put.row as CredentialRow), writes: [put] };
    },
  },
};

const list: Operation<ListInput> = {
  read: (call) =>
    listed(call.core, 'credential', idStart('trust'), call.input, (row) =>
      row.kind === 'trust' && isAlive(call.core, row) ? shown(call, row) : null,
    ),
};

export const trustOperations = {
  'trust.create': create,
  'trust.list': list,
  'trust.read': { read: (call: Call<unknown>) => found(live(call), (row) => shown(call, row)) },
  'trust.update': update,
  'trust.delete': revoke('trust', () => false),
  'auth.exchange': exchange,
  'auth.exchange_refused': exchangeRefused,
};
