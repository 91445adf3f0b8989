// Operations of a provider token: issue, rotate and revoke the value of a name. Invariants: a name has one
// secret, even if several providers issue it concurrently; a revoked version can never be read again, and
// only an issue gives the secret a new value.
import { mayReach } from '../../../auth/authorize';
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Subject } from '../../../gate/audit/entry';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { environmentOf } from '../../../gate/request/target';
import {
  advance,
  begin,
  changed,
  encryptFor,
  isUsedId,
  type Kept,
  keptOf,
  lifetime,
  locksOf,
} from '../../secrets/gate/plans';
import { subjectOf } from '../../secrets/gate/state';
import type { EncryptedValue } from '../../secrets/rules';
import { issuedOut, revokedOut } from '../wire';

interface NameInput {
  name: string;
  environment: string;
}

/** `id`: the secret that the Worker encrypted the value for; its guess of the secret with this name. */
interface ValueInput extends NameInput {
  id: string | null;
  value: EncryptedValue | null;
}

/** The live secret with the requested name, and its environment. */
function find({ core, input }: Call<NameInput>) {
  const environment = environmentOf(core, input.environment);
  return { environment, row: environment && core.rows.find('secret', environment.id, input.name) };
}

/** The subject, checks and locks for the requested name. */
const named = {
  subject(call: Call<NameInput>): Partial<Subject> {
    const { environment, row } = find(call);
    return {
      environment: environment?.slug ?? null,
      resource_name: call.input.name,
      ...(row && subjectOf(call.core, row)),
    };
  },
  authorize(call: Call<NameInput>): Refusal | null {
    const { environment } = find(call);
    const { environment: shown, name } = call.input;
    // safety: provider-token-limits
    return mayReach(call.caller, call.need, { environment: environment?.id ?? '', shown, name });
  },
  locks(call: Call<NameInput>): string[] {
    const { environment, row } = find(call);
    return locksOf(environment, [call.input.name], [row]);
  },
};

/** What remains of the old version after a new one, if the value was encrypted for this secret. */
async function left(call: Call<ValueInput>): Promise<Kept | null> {
  const { row } = find(call);
  return row && row.id === call.input.id && call.input.value ? keptOf(call, row) : null;
}

/** 404 unless the environment exists and has a secret with this name. */
function found(call: Call<NameInput>): { row: SecretRow; shown: string } | Refusal {
  const { environment, row } = find(call);
  if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
  if (!row) return refuse('NOT_FOUND', { message: 'There is no secret with this name in this environment.' });
  return { row, shown: environment.slug };
}

/** A plan with the response of the Provider API. */
const answered = (plan: Plan | Refusal, shown: string): Plan | Refusal =>
  isRefusal(plan)
    ? plan
    : { ...plan, data: issuedOut(plan.writes?.[0]?.row as SecretRow, shown), etag: undefined };

const issue: Operation<ValueInput & { ttl: number }> = {
  subject: named.subject,
  authorize: named.authorize,
  change: {
    locks: named.locks,
    locked: left,
    plan(call, now, { locked: kept }) {
      const { core, input } = call;
      const { environment, row } = find(call);
      if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
      if (row) {
        // safety: value-encrypted-for-this-secret
        if (row.id !== input.id || !input.value) return encryptFor(call, row.id);
        const revived = { ...lifetime(input.ttl, now), revoked_at: null };
        return answered(advance(call, row, input.value, revived, kept as Kept | null, now), environment.slug);
      }
      const { id, name, value, ttl } = input;
      // safety: secret-id-unused
      if (id === null || !value || isUsedId(core, id)) return encryptFor(call, null);
      // The provider sends only a value, so the secret gets the type generic.
      const fields = {
        id,
        name,
        type: 'generic',
        description: null,
        tags: {},
        rotate_every_seconds: null,
      } as const;
      return answered(begin(call, environment, fields, value, ttl, now), environment.slug);
    },
  },
};

const rotate: Operation<ValueInput> = {
  subject: named.subject,
  authorize: named.authorize,
  change: {
    locks: named.locks,
    locked: left,
    plan(call, now, { locked: kept }) {
      const { input } = call;
      const there = found(call);
      if (isRefusal(there)) return there;
      const { row, shown } = there;
      if (row.revoked_at !== null)
        return refuse('SECRET_REVOKED', {
          status: 409,
          message: 'This secret has been revoked. Use POST /provider/issue to give it a new value.',
        });
      if (row.id !== input.id || !input.value) return encryptFor(call, row.id);
      return answered(
        advance(call, row, input.value, lifetime(row.lifetime_seconds, now), kept as Kept | null, now),
        shown,
      );
    },
  },
};

const revoke: Operation<NameInput> = {
  subject: named.subject,
  authorize: named.authorize,
  change: {
    plan(call, now) {
      const there = found(call);
      if (isRefusal(there)) return there;
      const { row, shown } = there;
      const data = revokedOut(row, shown, row.revoked_at ?? now);
      if (row.revoked_at !== null) return { status: 200, data };
      const plan = changed(call, row, { revoked_at: now, revoked_through: row.version }, now);
      // safety: revocation-destroys-stored-values
      return { ...plan, data, etag: undefined, destroyed: [row.id] };
    },
  },
};

export const providerOperations = {
  'provider.issue': issue,
  'provider.rotate': rotate,
  'provider.revoke': revoke,
};
