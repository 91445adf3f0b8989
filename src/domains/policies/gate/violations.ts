// The secrets that a naming policy would refuse now, for they are older than it, page by page. It answers for a policy that is off too, so
// that one sees whom it would meet. Invariant: a caller sees the secrets that it may list, and no others.
import { reaches, stepsFor } from '../../../auth/authorize';
import { widthOf } from '../../../auth/globs';
import { isFound } from '../../../auth/naming';
import { appliesTo } from '../../../auth/policies';
import type { NamingConfig, SecretRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { ListInput } from '../../../gate/listing';
import { slugOf } from '../../../gate/named';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Operation } from '../../../gate/types';
import { inDoubt } from '../../secrets/gate/state';

/** Rows that one page looks at, and steps of comparing their names with patterns: a page may be short, or empty, and still not the last. */
const LOOKED_AT = 1000;
const MOST_STEPS = 4_000_000;
const LISTS = ['secrets:list', 'secrets:read'];

export const violations: Operation<ListInput> = {
  read(call): Outcome {
    const { core, ask, caller, input } = call;
    const policy = core.rows.get('policy', ask.named.policy as string);
    if (!policy) return fail(refuse('NOT_FOUND'));
    if (policy.kind !== 'naming') return fail(refuse('CONFLICT', { message: 'Only a naming policy has violations.' }));
    const { pattern } = policy.config as NamingConfig;
    const isViolation = (row: SecretRow) =>
      row.deleted_at === null &&
      // safety: violations-within-reach
      reaches(caller, LISTS, row.environment_id, row.name) &&
      appliesTo(policy, row) &&
      !isFound(pattern, row.name);

    const steps = stepsFor(caller, LISTS, MOST_STEPS);
    const width = widthOf(policy.names ?? []);
    let spent = 0;
    const shown: SecretRow[] = [];
    const answer = (next: string | null): Outcome => {
      const doubt = inDoubt(call, ...shown.map(({ id }) => id));
      if (doubt) return fail(doubt);
      return ok({
        items: shown.map(({ id, name, type, environment_id: at }) => ({ id, name, type, environment: slugOf(core, at) })),
        next,
      });
    };
    const start = input.after ?? '';
    let after = start;
    for (let looked = 0; looked < LOOKED_AT; looked += 200) {
      const rows = core.rows.after('secret', after, 200);
      for (const row of rows) {
        spent += row.name.length * width;
        // A page looks at one row at least, so that the next one begins later.
        // safety: violations-steps-bounded
        if ((!steps.take(row.environment_id, row.name) || spent > MOST_STEPS) && after !== start) return answer(after);
        if (isViolation(row) && shown.push(row) > input.limit) {
          shown.pop();
          return answer(after);
        }
        after = row.id;
      }
      if (rows.length < 200) return answer(null);
    }
    return answer(after);
  },
};
