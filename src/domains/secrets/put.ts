// Creating a secret by its name, or changing the one that has it: one call, and idempotent by nature. Invariant: it is audited as what it did,
// a create or an update; a name has one secret, however many put it at once.
import type { SecretRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import { environmentOf } from '../../gate/named';
import type { Plan } from '../../gate/plan';
import type { Call, Operation } from '../../gate/types';
import { amend, type UpdateInput } from './changes';
import { begin, type Kept, keptOf, nameLock } from './plans';
import { type EncryptedValue, stale } from './state';
import { etagOf, namesTag } from './wire';

export interface PutInput extends Pick<UpdateInput, 'if_match' | 'fields' | 'ttl'> {
  if_none_match: string | null;
  /** The secret that the Worker encrypted the value for: the one that it takes the name to have. */
  id: string;
  value: EncryptedValue;
}

function find({ core, ask }: Call<PutInput>) {
  const environment = environmentOf(core, ask.org, ask.named.environment);
  return { environment, row: environment && core.rows.find('secret', environment.id, ask.named.name as string) };
}

/** 412 unless the secret is as the caller believes: absent, or of that version. */
function conflicts(row: SecretRow | null, { if_match, if_none_match }: PutInput): Refusal | null {
  if (!row) return if_match === null ? null : refuse('VERSION_CONFLICT');
  return stale(row, if_match) ?? (if_none_match !== null && namesTag(if_none_match, etagOf(row)) ? refuse('VERSION_CONFLICT') : null);
}

/** Has the Worker encrypt the value for another secret, once: if the name has changed hands again by then, the caller tries again. */
const encryptFor = ({ ask }: Call<PutInput>, id: string | null): Refusal | { more: { id: string | null } } =>
  ask.again ? refuse('UNAVAILABLE', { retry_after: 1 }) : { more: { id } };

export const put: Operation<PutInput> = {
  change: {
    locks(call) {
      const { environment, row } = find(call);
      return [nameLock(environment?.id ?? '', call.ask.named.name as string), ...(row ? [row.id] : [])];
    },
    async locked(call) {
      const { row } = find(call);
      return row?.id === call.input.id ? keptOf(call, row) : null;
    },
    plan(call, now, _, left): Plan | Refusal | { more: unknown } {
      const { core, ask, input } = call;
      const { environment, row } = find(call);
      if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
      if (row) call.subject.action = 'secret.update';
      const conflict = conflicts(row, input);
      if (conflict) return conflict;
      if (row) {
        if (row.id !== input.id) return encryptFor(call, row.id);
        return amend({ ...call, input: { ...input, name: null } }, row, left as Kept | null, now);
      }
      const { id, value, ttl = null } = input;
      if (core.rows.get('secret', id) || core.rows.isBuried('secret', id)) return encryptFor(call, null);
      const fields = { type: 'generic' as const, description: null, tags: {}, rotate_every_seconds: null, ...input.fields };
      return begin(call, environment, { id, name: ask.named.name as string, ...fields }, value, ttl, now);
    },
  },
};
