// HTTP routes of policies.
import { newId } from '../../db/ids';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const tag = 'Policies';
const policies = '/orgs/{org_id}/policies';
const one = `${policies}/{id}`;

export const policyRoutes = [
  route({
    method: 'post',
    path: policies,
    action: 'policy.create',
    tag,
    summary: 'Create a policy',
    description:
      'A naming policy refuses names, a rotation policy limits the age of values, and an approval policy holds requests until people approve them. The policy applies from the next request.',
    body: { schema: wire.PolicyIn },
    answers: { 201: wire.Policy },
    refusals: ['NOT_FOUND', 'LIMIT_REACHED', 'APPROVAL_IMPOSSIBLE'],
    prepare: ({ body }) => ({
      input: {
        id: newId('pol'),
        name: body.name,
        kind: body.kind,
        enabled: body.enabled ?? true,
        applies_to: body.applies_to ?? {},
        config: body.config,
      },
    }),
  }),
  listRoute({
    path: policies,
    action: 'policy.list',
    tag,
    summary: 'List policies',
    answers: { 200: wire.PolicyPage },
  }),
  route({
    method: 'get',
    path: one,
    action: 'policy.read',
    tag,
    summary: 'Show a policy',
    answers: { 200: wire.Policy },
    refusals: ['NOT_FOUND'],
    named: by('policy'),
  }),
  route({
    method: 'patch',
    path: one,
    action: 'policy.update',
    revises: true,
    tag,
    summary: 'Change a policy',
    description:
      'Changes only the fields that are sent; applies_to and config are replaced as a whole. The kind cannot change.',
    body: { schema: wire.PolicyPatch },
    answers: { 200: wire.Policy },
    refusals: ['NOT_FOUND', 'LIMIT_REACHED', 'APPROVAL_IMPOSSIBLE'],
    named: by('policy'),
    prepare: ({ body: { name = null, enabled = null, applies_to = null, config = null } }) => ({
      input: { name, enabled, applies_to, config },
    }),
  }),
  route({
    method: 'delete',
    path: one,
    action: 'policy.delete',
    revises: true,
    tag,
    summary: 'Delete a policy',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('policy'),
  }),
  listRoute({
    path: `${one}/violations`,
    action: 'policy.violations',
    tag,
    summary: 'List the secrets that violate a naming policy',
    description:
      'Returns secrets named before the policy existed that the caller can list. Also works for a policy that is not enabled. A page can have fewer items than limit. Continue until next_cursor is null.',
    answers: { 200: wire.ViolationPage },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('policy'),
  }),
];
