// PUT by name: creates a secret or changes the existing one. Idempotent. Invariant: it is audited as what it
// did, a create or an update; a name has one secret, regardless of concurrent requests.
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { matchesETag } from '../../../etag';
import type { Call, Operation } from '../../../gate/request/call';
import type { Proposal } from '../../../gate/request/plan';
import { environmentOf, namedId } from '../../../gate/request/target';
import { type EncryptedValue, etagOf, preconditionFailed } from '../rules';
import { amend, type UpdateInput } from './changes';
import { begin, encryptFor, isUsedId, type Kept, keptOf, locksOf } from './plans';
import { subjectOf } from './state';

export interface PutInput extends Pick<UpdateInput, 'if_match' | 'fields' | 'auto_rotate' | 'ttl'> {
  if_none_match: string | null;
  /** The secret that the Worker encrypted the value for: its guess of the secret with this name. */
  id: string;
  value: EncryptedValue;
}

function find({ core, ask }: Call<PutInput>) {
  const environment = environmentOf(core, ask.named.environment);
  return {
    environment,
    row: environment && core.rows.find('secret', environment.id, namedId(ask, 'name')),
  };
}

/** 412 unless the secret is as the caller expects: absent, or with that version. */
function conflicts(row: SecretRow | null, { if_match, if_none_match }: PutInput): Refusal | null {
  if (!row) return if_match === null ? null : refuse('VERSION_CONFLICT');
  return (
    preconditionFailed(row, if_match) ??
    (if_none_match !== null && matchesETag(if_none_match, etagOf(row)) ? refuse('VERSION_CONFLICT') : null)
  );
}

export const put: Operation<PutInput> = {
  subject(call) {
    const { row } = find(call);
    return row ? { ...subjectOf(call.core, row), action: 'secret.update' } : {};
  },
  change: {
    locks(call) {
      const { environment, row } = find(call);
      return locksOf(environment, [namedId(call.ask, 'name')], [row]);
    },
    async locked(call) {
      const { row } = find(call);
      return row?.id === call.input.id ? keptOf(call, row) : null;
    },
    plan(call, now, { locked: left }): Proposal {
      const { core, ask, input } = call;
      const { environment, row } = find(call);
      if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
      const conflict = conflicts(row, input);
      if (conflict) return conflict;
      if (row) {
        if (row.id !== input.id) return encryptFor(call, row.id);
        return amend({ ...call, input: { ...input, name: null } }, row, left as Kept | null, now);
      }
      const { id, value, auto_rotate = null, ttl = null } = input;
      if (isUsedId(core, id)) return encryptFor(call, null);
      const fields = {
        type: 'generic' as const,
        description: null,
        tags: {},
        rotate_every_seconds: null,
        auto_rotate,
        ...input.fields,
      };
      return begin(call, environment, { id, name: namedId(ask, 'name'), ...fields }, value, ttl, now);
    },
  },
};
