// The secrets that a naming policy would refuse now because they are older than it, page by page. Also works
// for a disabled policy, to show whom it would affect. Invariant: a caller sees only secrets that it may
// list.
import { reaches, stepsFor } from '../../../auth/authorize';
import { isFound } from '../../../auth/policies/naming';
import { appliesTo } from '../../../auth/policies/policies';
import type { NamingConfig, SecretRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { stepsOf } from '../../../gate/approvals/policies';
import type { Operation } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId, slugOf } from '../../../gate/request/target';

/** Rows and matching steps per page. A page may be short or empty without being the last one. */
const LOOKED_AT = 1000;
const MOST_STEPS = 4_000_000;
const LISTS = ['secrets:list', 'secrets:read'];

export const violations: Operation<ListInput> = {
  read(call): Outcome {
    const { core, ask, caller, input } = call;
    const policy = core.rows.get('policy', namedId(ask, 'policy'));
    if (!policy) return fail(refuse('NOT_FOUND'));
    if (policy.kind !== 'naming')
      return fail(refuse('CONFLICT', { message: 'Only a naming policy has violations.' }));
    const { pattern } = policy.config as NamingConfig;
    const isViolation = (row: SecretRow) =>
      row.deleted_at === null &&
      // safety: violations-within-reach
      reaches(caller, LISTS, row.environment_id, row.name) &&
      appliesTo(policy, row) &&
      !isFound(pattern, row.name);

    const steps = stepsFor(caller, LISTS, MOST_STEPS);
    const width = stepsOf([policy]);
    let spent = 0;
    const shown: SecretRow[] = [];
    const answer = (next: string | null): Outcome => {
      return ok({
        items: shown.map(({ id, name, type, environment_id: at }) => ({
          id,
          name,
          type,
          environment: slugOf(core, at),
        })),
        next,
      });
    };
    const start = input.after ?? '';
    let after = start;
    for (let looked = 0; looked < LOOKED_AT; looked += 200) {
      const rows = core.rows.after('secret', after, 200);
      for (const row of rows) {
        spent += row.name.length * width;
        // A page examines at least one row, so the next page always starts later.
        // safety: violations-steps-bounded
        if ((!steps.take(row.environment_id, row.name) || spent > MOST_STEPS) && after !== start)
          return answer(after);
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
