// HTTP routes of members and roles. The Worker creates enrolment URLs, shows them once and sends only hashes
// to the gate.
import { newToken } from '../../auth/authentication/token';
import { newId } from '../../db/ids';
import type { Context } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const roles = '/orgs/{org_id}/roles';
const members = '/orgs/{org_id}/members';

/** The hash of a new enrolment token, and the URL for the response. */
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
    summary: 'List roles and their scopes',
    answers: { 200: wire.Roles },
  }),
  route({
    method: 'post',
    path: members,
    action: 'member.create',
    tag: 'Members',
    summary: 'Invite a member',
    description:
      'The response contains a link with which the member registers a passkey. Send it to the member. The caller must hold every scope of the role, in all environments. environments limits the role to some: outside them the member holds only what grants add. Only an owner can invite an owner, with an API key or in a browser session that was confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.MemberIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.NewMember },
    refusals: [
      'NOT_FOUND',
      'SCOPE_EXCEEDS_PARENT',
      'REAUTHENTICATION_REQUIRED',
      'EMAIL_TAKEN',
      'LIMIT_REACHED',
    ],
    prepare({ body }, context) {
      const { hash, once } = enrolment(context);
      return { input: { id: newId('mem'), ...body, enrolment: hash }, once };
    },
  }),
  listRoute({
    path: members,
    action: 'member.list',
    tag: 'Members',
    summary: 'List members',
    query: wire.MemberQuery,
    answers: { 200: wire.MemberPage },
    filters: (query) => ({ status: query.status ?? null }),
  }),
  route({
    method: 'get',
    path: `${members}/{id}`,
    action: 'member.read',
    tag: 'Members',
    summary: 'Show a member',
    answers: { 200: wire.Member },
    refusals: ['NOT_FOUND'],
    named: by('member'),
  }),
  route({
    method: 'patch',
    path: `${members}/{id}`,
    action: 'member.update',
    revises: true,
    tag: 'Members',
    summary: 'Change the name, email address, role or environments of a member',
    description:
      'The caller must hold every scope of the old and the new role, in all environments. environments limits the role to some, and null lifts the limit: the change applies from the next request of the member. Credentials that the member created before keep what they hold. The last owner cannot be given another role. If the role or its environments change, an unused enrolment link that someone else created is no longer valid. To promote or demote an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.MemberPatch },
    answers: { 200: wire.Member },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'EMAIL_TAKEN', 'LAST_OWNER'],
    named: by('member'),
    prepare: ({ body: { email = null, name = null, role = null, environments } }) => ({
      input: { email, name, role, ...(environments !== undefined && { environments }) },
    }),
  }),
  route({
    method: 'post',
    path: `${members}/{id}/suspend`,
    action: 'member.suspend',
    revises: true,
    tag: 'Members',
    summary: 'Suspend a member',
    description:
      'The member can do nothing until somebody resumes them. Sessions are refused as soon as this request returns; sessions, share links, decisions and devices of the member have ended for good. Role, teams, grants and passkeys are kept. A suspended owner is no owner who counts. The response lists the live credentials that the member created. They stay valid unless you send revoke_credentials=true, which needs tokens:write. Safe to repeat. For an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    query: wire.RemovalQuery,
    answers: { 200: wire.SuspendedMember },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'LAST_OWNER'],
    named: by('member'),
    prepare: ({ query }) => ({ input: { revoke: query.revoke_credentials === 'true' } }),
  }),
  route({
    method: 'post',
    path: `${members}/{id}/resume`,
    action: 'member.resume',
    revises: true,
    tag: 'Members',
    summary: 'Resume a suspended member',
    description:
      "The member has the role, teams, grants and passkeys from before, and signs in anew. A member who had not enrolled needs a new enrolment link. The caller must hold every scope of the role, in all environments. For seven days neither decides the other's requests for approval. For an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).",
    answers: { 200: wire.Member },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED'],
    named: by('member'),
  }),
  route({
    method: 'delete',
    path: `${members}/{id}`,
    action: 'member.delete',
    revises: true,
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'The browser sessions of the member are refused as soon as this request returns. Passkeys, team memberships and grants are deleted. The response lists the live credentials that the member created. They stay valid unless you send revoke_credentials=true, which needs tokens:write. To remove an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    query: wire.RemovalQuery,
    answers: { 200: wire.Removed },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'REAUTHENTICATION_REQUIRED', 'LAST_OWNER'],
    named: by('member'),
    prepare: ({ query }) => ({ input: { revoke: query.revoke_credentials === 'true' } }),
  }),
  route({
    method: 'post',
    path: `${members}/{id}/enrolments`,
    action: 'member.enrol',
    revises: true,
    tag: 'Members',
    summary: 'Create a new enrolment link',
    description: "The new link replaces an unused one. The member's passkeys are kept.",
    answers: { 201: wire.NewMember },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('member'),
    prepare(_, context) {
      const { hash, once } = enrolment(context);
      return { input: { enrolment: hash }, once };
    },
  }),
  route({
    method: 'post',
    path: `${members}/readmit`,
    action: 'member.readmit',
    tag: 'Members',
    summary: 'Let a removed member be added again',
    description:
      'Single sign-on and SCIM add nobody whom a person removed, by address or by identity. After this request they may. To invite the member yourself, you do not need it.',
    body: { schema: wire.Readmission },
    answers: { 204: null },
    refusals: ['NOT_FOUND', 'REAUTHENTICATION_REQUIRED'],
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'get',
    path: `${members}/{id}/access`,
    action: 'member.access',
    tag: 'Members',
    summary: 'Explain the access of a member',
    description:
      'Returns whether the member can use a scope, and the role or grants that allow it. The decision uses the same rules as requests.',
    query: wire.AccessQuery,
    answers: { 200: wire.Access },
    refusals: ['NOT_FOUND'],
    named: by('member'),
    prepare: ({ query }) => ({
      input: { scope: query.action, environment: query.environment ?? null, secret: query.secret ?? null },
    }),
  }),
];
