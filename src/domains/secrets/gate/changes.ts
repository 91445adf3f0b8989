// Changing secrets. Values arrive encrypted and are compared by keyed fingerprints. Invariant: a name is
// unique among the live secrets of its environment.

import { mayReach, reaches } from '../../../auth/authorize';
import { canGenerate, type GenerateOptions, optionsProblem } from '../../../crypto/generate';
import { RESTORABLE } from '../../../db/rows';
import type { SecretRow, SecretType, VersionRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { mayReveal } from '../../../gate/approvals/hold';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { wants } from '../../../gate/request/outcome';
import type { Plan } from '../../../gate/request/plan';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { linksOf } from '../../shares/gate/links';
import { type EncryptedValue, etagOf, preconditionFailed, readable, readableVersion } from '../rules';
import { secretOut } from '../wire';
import { advance, begin, changed, type Kept, keptOf, lifetime, nameLock, withAudit } from './plans';
import { aboutSecret } from './state';
import { versionOf } from './versions';

const target = (call: Call<unknown>) => namedId(call.ask, 'secret');
const kept = (call: Call<unknown>) => keptOf(call, call.core.rows.get('secret', target(call)));

interface CreateInput {
  id: string;
  name: string;
  type: SecretType;
  environment: string | null;
  description: string | null;
  tags: Record<string, string>;
  ttl: number | null;
  rotate_every_seconds: number | null;
  /** Absent from a Worker of 0.4.0. */
  auto_rotate?: 1 | null;
  value: EncryptedValue;
}

export const create: Operation<CreateInput> = {
  subject: ({ core, input }) => ({
    resource: input.id,
    resource_name: input.name,
    environment: environmentOf(core, input.environment)?.slug ?? null,
  }),
  authorize(call) {
    const { core, need, caller, input } = call;
    const environment = environmentOf(core, input.environment);
    const shown = input.environment ?? environment?.slug ?? '';
    return mayReach(caller, need, { environment: environment?.id ?? '', shown, name: input.name });
  },
  change: {
    plan(call, now) {
      const { core, input } = call;
      const environment = environmentOf(core, input.environment);
      if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
      // safety: secret-name-unique-on-create
      if (core.rows.find('secret', environment.id, input.name)) return refuse('SECRET_NAME_TAKEN');
      const { id, name, type, description, tags, rotate_every_seconds, auto_rotate = null, value } = input;
      const fields = { id, name, type, description, tags, rotate_every_seconds, auto_rotate };
      return begin(call, environment, fields, value, input.ttl, now);
    },
  },
};

export interface UpdateInput {
  if_match: string | null;
  name: string | null;
  /** New values of fields; absent fields stay unchanged. */
  fields: Partial<Pick<SecretRow, 'type' | 'description' | 'tags' | 'rotate_every_seconds'>>;
  /** Not among `fields`, which a 0.4.0 gate writes as they come. Undefined leaves it unchanged. */
  auto_rotate?: 1 | null;
  /** Seconds from now, null for no expiry; undefined leaves it unchanged. */
  ttl?: number | null;
  value: EncryptedValue | null;
}

export const update: Operation<UpdateInput> = {
  subject: aboutSecret,
  authorize({ core, ask, need, caller, input }) {
    const row = core.rows.get('secret', namedId(ask, 'secret'));
    if (input.name === null || !row) return null;
    return mayReach(caller, need, {
      environment: row.environment_id,
      shown: slugOf(core, row.environment_id),
      name: input.name,
    });
  },
  change: {
    locks(call) {
      const row = call.core.rows.get('secret', target(call));
      return [
        target(call),
        ...(row && call.input.name !== null ? [nameLock(row.environment_id, call.input.name)] : []),
      ];
    },
    locked: async (call) => (call.input.value ? kept(call) : null),
    plan: (call, now, { locked: left }) =>
      amend(call, call.core.rows.get('secret', target(call)), left as Kept | null, now),
  },
};

/** The plan for a secret that gets new fields, a new name or a new value. */
export function amend(
  call: Call<UpdateInput>,
  row: SecretRow | null,
  left: Kept | null,
  now: number,
): Plan | Refusal {
  const { core, input, caller } = call;
  // A new lifetime makes an expired secret active again; no other change is allowed on one.
  const refusal =
    row && input.ttl !== undefined && row.deleted_at === null && row.revoked_at === null
      ? null
      : readable(row, now);
  if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
  const conflict = preconditionFailed(row, input.if_match);
  if (conflict) return conflict;
  const isRenamed = input.name !== null && input.name !== row.name;
  // safety: secret-name-unique-on-rename
  if (isRenamed && core.rows.find('secret', row.environment_id, input.name as string))
    return refuse('SECRET_NAME_TAKEN');

  const wanted: Partial<SecretRow> = {
    ...input.fields,
    ...(input.auto_rotate !== undefined && { auto_rotate: input.auto_rotate }),
    ...(input.name !== null && { name: input.name }),
    ...(input.ttl !== undefined && lifetime(input.ttl, now)),
  };
  // An unchanged version would reveal that the value is equal, so it is kept only for callers who may read
  // it.
  const mayRead =
    reaches(caller, ['secrets:read'], row.environment_id, row.name) && !mayReveal(call, row).isHeld;
  // safety: equal-value-told-to-readers
  const same = input.value !== null && input.value.fingerprint === row.fingerprint && mayRead;
  const renamed = isRenamed ? { former_name: row.name } : {};
  if (input.value && !same) return withAudit(advance(call, row, input.value, wanted, left, now), renamed);
  const differs = Object.entries(wanted).some(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(row[field as keyof SecretRow]),
  );
  if (differs) return withAudit(changed(call, row, wanted, now), renamed);
  return { status: 200, data: secretOut(row, slugOf(core, row.environment_id), now), etag: etagOf(row) };
}

interface RotateInput {
  if_match: string | null;
  /** Null until the Worker has generated a value; the gate first returns the type. */
  value: EncryptedValue | null;
  /** Null unless the caller explicitly requested a generated value. */
  generate: GenerateOptions | null;
}

/**
 * Types whose values are often issued elsewhere: a random string replaces one only on request, or if it
 * replaces another generated value.
 */
const ISSUED: ReadonlySet<SecretType> = new Set(['api_key', 'env_var', 'generic']);

/** 400 if no value can be generated for the secret in its current state, or not in the requested way. */
function ungenerable({ type, generated }: SecretRow, asked: GenerateOptions | null): Refusal | null {
  if (!canGenerate(type)) return invalid('value', `is required: values of type ${type} cannot be generated`);
  // safety: issued-value-not-replaced
  if (asked === null && generated === null && ISSUED.has(type))
    return invalid(
      'generate',
      'is required: this service did not generate the current value, and a generated one could replace a value that was issued elsewhere',
    );
  const problem = optionsProblem(type, asked ?? undefined);
  return problem && invalid(problem.path, problem.message);
}

export const rotate: Operation<RotateInput> = {
  subject: aboutSecret,
  change: {
    locks: (call) => [target(call)],
    locked: async (call) => (call.input.value ? kept(call) : null),
    plan(call, now, { locked: left }) {
      const { core, input } = call;
      const row = core.rows.get('secret', target(call));
      const refusal = readable(row, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      // Checked in both rounds of the request: the value may have changed in between.
      const problem =
        input.value === null || input.value.generated !== null ? ungenerable(row, input.generate) : null;
      if (problem) return problem;
      const conflict = preconditionFailed(row, input.if_match);
      if (conflict) return conflict;
      if (input.value === null) return wants('value', { type: row.type });
      return advance(call, row, input.value, {}, left as Kept | null, now);
    },
  },
};

interface RollbackInput {
  if_match: string | null;
  version: number;
}
export const rollback: Operation<RollbackInput> = {
  subject: aboutSecret,
  change: {
    locks: (call) => [target(call)],
    /**
     * The version, or why there is none now. Another one may be current by then; rolling back to this one is
     * equally correct.
     */
    async before(call): Promise<VersionRow | Refusal> {
      const row = call.core.rows.get('secret', target(call));
      return (
        readableVersion(row, call.input.version, call.core.now()) ??
        versionOf(call, (row as SecretRow).id, call.input.version)
      );
    },
    locked: (call) => kept(call),
    plan(call, now, { fetched, locked: left }) {
      const row = call.core.rows.get('secret', target(call));
      const old = fetched as VersionRow | Refusal;
      if (isRefusal(old)) return old;
      const refusal = readableVersion(row, old.version, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      const conflict = preconditionFailed(row, call.input.if_match);
      if (conflict) return conflict;
      // The ciphertext is bound to its random seal_id, not to a version number, so it can be reused
      // unchanged.
      const { seal_id, value_sealed, fingerprint, size } = old;
      // A ciphertext cached by an earlier release lacks the column.
      // safety: rollback-keeps-generated
      const value = { seal_id, value_sealed, fingerprint, size, generated: old.generated ?? null };
      return advance(call, row, { ...value, binary: old.binary ?? null }, {}, left as Kept | null, now);
    },
  },
};

interface DeleteInput {
  if_match: string | null;
  permanent: boolean;
}

export const remove: Operation<DeleteInput> = {
  subject: aboutSecret,
  authorize: ({ caller, input }) =>
    // safety: break-glass-cannot-purge
    input.permanent && caller.kind === 'break_glass'
      ? refuse('INSUFFICIENT_SCOPE', {
          message: 'A break-glass token cannot delete a secret permanently. Omit permanent.',
        })
      : null,
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = core.rows.get('secret', target(call));
      if (!row || (row.deleted_at !== null && (!input.permanent || row.deleted_at + RESTORABLE <= now)))
        return refuse('NOT_FOUND');
      const conflict = preconditionFailed(row, input.if_match);
      return conflict ?? removal(call, row, input.permanent, now);
    },
  },
};

/** The plan that deletes a secret, for seven days or permanently. */
export function removal(call: Call<unknown>, row: SecretRow, permanent: boolean, now: number): Plan {
  const taken = row.deleted_at === null ? { former_name: row.name } : {};
  // Restoring the secret does not restore its links.
  // safety: deletion-ends-links
  const links = linksOf(call.core, row.id).map(({ id }) => ({ kind: 'share', id }) as const);
  // It can be restored from D1. Its cached ciphertexts and the generated values in stored responses are
  // deleted.
  if (!permanent) {
    const plan = changed(call, row, { deleted_at: now }, now);
    return {
      ...plan,
      deletes: links,
      status: 204,
      data: null,
      etag: undefined,
      // safety: soft-delete-destroys-stored-values
      destroyed: [row.id],
      audit: { ...plan.audit, ...taken },
    };
  }
  return {
    status: 204,
    data: null,
    deletes: [{ kind: 'secret', id: row.id }, ...links],
    destroyed: [row.id],
    environments: [row.environment_id],
    audit: taken,
  };
}

export const restore: Operation<Record<string, never>> = {
  subject: aboutSecret,
  change: {
    plan(call, now) {
      const { core } = call;
      const row = core.rows.get('secret', target(call));
      return restoration(call, row, now);
    },
  },
};

/** The plan that restores a deleted secret. */
export function restoration(call: Call<unknown>, row: SecretRow | null, now: number): Plan | Refusal {
  const { core } = call;
  // safety: restore-period-ends
  if (!row || (row.deleted_at !== null && row.deleted_at + RESTORABLE <= now)) return refuse('NOT_FOUND');
  if (!core.rows.get('environment', row.environment_id))
    return refuse('NOT_FOUND', { message: 'The environment of this secret no longer exists.' });
  if (row.deleted_at === null) return refuse('CONFLICT', { message: 'This secret is not deleted.' });
  // safety: secret-name-unique-on-restore
  if (core.rows.find('secret', row.environment_id, row.name)) return refuse('SECRET_NAME_TAKEN');
  return changed(call, row, { deleted_at: null }, now);
}
