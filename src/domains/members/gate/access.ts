// Explaining what a member may do. Invariant: what is explained is what is decided.

import { type PermissionSet, reasons } from '../../../auth/authorize';
import { isSuspended, type MemberRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { memberOf } from '../../../gate/identity/caller';
import type { Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { find } from './member';

interface AccessInput {
  scope: string;
  environment: string | null;
  secret: string | null;
}

export const access: Operation<AccessInput> = {
  read(call): Outcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    const isAimed = input.environment !== null || input.secret !== null;
    const environment = isAimed ? environmentOf(core, input.environment) : null;
    if (isAimed && !environment)
      return fail(refuse('NOT_FOUND', { message: 'The environment does not exist.' }));
    const target = environment && {
      environment: environment.id,
      ...(input.secret !== null && { name: input.secret }),
    };
    const found = reasons(memberOf(core, row.id, row).permissions, [input.scope], target);
    return ok({
      allowed: found.length > 0,
      suspended: isSuspended(row),
      reasons: found.map((permissionSet) => reasonOut(permissionSet, row)),
    });
  },
};

const reasonOut = ({ grant }: PermissionSet, { role }: MemberRow) =>
  grant ? { source: 'grant', grant_id: grant.id, grantee: grant.grantee } : { source: 'role', role };
