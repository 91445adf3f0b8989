// Which names upstreams place. Invariant: a rename or a restore that brings a secret under such a name counts
// as a read of it, because its value is then sent to whoever the upstream belongs to.
import { reaches } from '../../auth/authorize';
import { isNamedAnew } from '../../auth/policies/effects-of-secrets';
import { type Refusal, refuse } from '../../errors';
import type { Rows } from '../rows/store';
import type { Call } from './call';
import type { Plan } from './plan';

/** Whether an upstream places what has this name in an environment. */
export const isPlaced = (rows: Pick<Rows, 'within' | 'count'>, environment: string, name: string): boolean =>
  rows.count('upstream') > 0 &&
  rows.within('upstream', '').some((row) => row.environment_id === environment && row.secrets.includes(name));

/** 403 for a plan that brings a secret under a name that an upstream places, by whom may not read it. */
export function placesUnread({ core, caller }: Call<unknown>, { writes = [] }: Plan): Refusal | null {
  for (const { kind, row } of writes) {
    if (kind !== 'secret') continue;
    const before = core.rows.get('secret', row.id);
    if (!before || !isNamedAnew(before, row) || !isPlaced(core.rows, row.environment_id, row.name)) continue;
    // safety: placed-by-readers
    const mayRead = [before.name, row.name].every((name) =>
      reaches(caller, ['secrets:read'], row.environment_id, name),
    );
    if (!mayRead)
      return refuse('INSUFFICIENT_SCOPE', {
        message:
          'An upstream places a secret with this name, so this request needs secrets:read on the secret.',
      });
  }
  return null;
}
