// Members and roles over HTTP. Enrolment URLs are made here, shown once, and leave for the gate as hashes.
import { newToken } from '../../auth/token';
import { newId } from '../../db/ids';
import { type Context, pageOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import * as wire from './wire';

const roles = '/orgs/{org_id}/roles';
const members = '/orgs/{org_id}/members';
const byMember = ({ params }: { params: Record<string, string> }) => ({ member: params.id as string });

/** The hash of a new enrolment token, and the URL that only the answer bears. */
export function enrolment(context: Context, place = 'enrolment_url') {
  const { token, hash } = newToken('enrolment', context.org, context.deployment.tokenTag);
  return { hash, once: { [place]: `${context.base}/enrol#${token}` } };
}

export const memberRoutes = [
  route({
    method: 'get',
    path: roles,
    action: 'role.list',
    tag: 'Members',
    summary: 'List the roles and what each holds',
    answers: { 200: wire.Roles },
  }),
  route({
    method: 'post',
    path: members,
    action: 'member.create',
    tag: 'Members',
    summary: 'Invite a member',
    description:
      'Answers with the URL where the member registers a passkey: hand it to them. Nobody gives a role that holds more than they do, and only owners make owners, in a browser session confirmed in the last five minutes (`POST /auth/confirm`) or with an API key.',
    body: { schema: wire.MemberIn },
    answers: { 201: wire.NewMember },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'EMAIL_TAKEN', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { hash, once } = enrolment(context);
      return { input: { id: newId('mem'), ...body, enrolment: hash }, once };
    },
  }),
  route({
    method: 'get',
    path: members,
    action: 'member.list',
    tag: 'Members',
    summary: 'List the members',
    query: wire.MemberQuery,
    answers: { 200: wire.MemberPage },
    refusals: ['INVALID_CURSOR'],
    prepare: ({ query }) => ({ input: { limit: query.limit ?? 50, after: query.cursor ?? null, status: query.status ?? null } }),
    render: (slice: { items: unknown[]; next: string | null }, _: Input, context: Context) => ({ json: pageOf(context, members, slice) }),
  }),
  route({
    method: 'get',
    path: `${members}/{id}`,
    action: 'member.read',
    tag: 'Members',
    summary: 'Show a member',
    answers: { 200: wire.Member },
    refusals: ['NOT_FOUND'],
    named: byMember,
  }),
  route({
    method: 'patch',
    path: `${members}/{id}`,
    action: 'member.update',
    tag: 'Members',
    summary: 'Change the name, email or role of a member',
    description:
      'Nobody changes a member whose role holds more than they do, nor gives a role that does. The last owner stays one. An enrolment that waits ends with the role for which somebody else gave it. To make or demote an owner, a browser session must have been confirmed in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.MemberPatch },
    answers: { 200: wire.Member },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'EMAIL_TAKEN', 'LAST_OWNER'],
    named: byMember,
    prepare: ({ body }) => ({ input: { email: body.email ?? null, name: body.name ?? null, role: body.role ?? null } }),
  }),
  route({
    method: 'delete',
    path: `${members}/{id}`,
    action: 'member.delete',
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'Their browser sessions are refused from the moment this is answered, and passkeys, memberships and grants are gone. The answer names the live credentials that they made, which live on; with revoke_credentials=true, which needs tokens:write, they end too. To remove an owner, a browser session must have been confirmed in the last five minutes (`POST /auth/confirm`).',
    query: wire.RemovalQuery,
    answers: { 200: wire.Removed },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'LAST_OWNER'],
    named: byMember,
    prepare: ({ query }) => ({ input: { revoke: query.revoke_credentials === 'true' } }),
  }),
  route({
    method: 'post',
    path: `${members}/{id}/enrolments`,
    action: 'member.enrol',
    tag: 'Members',
    summary: 'Let a member enrol anew',
    description: 'By an owner. The new URL takes the place of one that waits; passkeys that the member has stay.',
    answers: { 201: wire.NewMember },
    refusals: ['NOT_FOUND'],
    named: byMember,
    prepare(_, context) {
      const { hash, once } = enrolment(context);
      return { input: { enrolment: hash }, once };
    },
  }),
  route({
    method: 'get',
    path: `${members}/{id}/access`,
    action: 'member.access',
    tag: 'Members',
    summary: 'Explain what a member may do',
    description: 'Decided by what decides about the call itself: by role, or by a grant to the member or a team.',
    query: wire.AccessQuery,
    answers: { 200: wire.Access },
    refusals: ['NOT_FOUND'],
    named: byMember,
    prepare: ({ query }) => ({
      input: { scope: query.action, environment: query.environment ?? null, secret: query.secret ?? null },
    }),
  }),
];
