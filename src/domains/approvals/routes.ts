import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const path = '/orgs/{org_id}/approvals';
const one = `${path}/{id}`;
const tag = 'Approvals';

const decision = (verb: 'approve' | 'reject' | 'cancel', summary: string, description: string) =>
  route({
    method: 'post',
    path: `${one}/${verb}`,
    action: `approval.${verb}`,
    tag,
    summary,
    description,
    ...(verb === 'approve' && {
      body: { schema: wire.ApproveIn, optional: true },
      prepare: ({ body }: { body?: { valid_for_seconds?: number } }) => ({
        input: { valid_for: body?.valid_for_seconds ?? 0 },
      }),
    }),
    answers: { 200: wire.Approval },
    refusals: [
      'NOT_FOUND',
      'CONFLICT',
      ...(verb === 'approve' ? (['REAUTHENTICATION_REQUIRED'] as const) : []),
    ],
    named: by('approval'),
  });

export const approvalRoutes = [
  listRoute({
    path,
    action: 'approval.list',
    tag,
    summary: 'List approvals',
    description:
      'Returns the requests held by approval policies, oldest first. A credential limited to environments or names sees only its own requests, and a member limited to environments also those that they may decide.',
    query: wire.ListQuery,
    answers: { 200: wire.ApprovalPage },
    filters: ({ status, waiting_for }) => ({ status: status ?? null, isForMe: waiting_for === 'me' }),
  }),
  route({
    method: 'get',
    path: one,
    action: 'approval.read',
    tag,
    summary: 'Show an approval',
    description:
      'With wait, the response is held until the approval is decided or the given number of seconds has passed. The requester needs no scope.',
    query: wire.ReadQuery,
    answers: { 200: wire.Approval },
    refusals: ['NOT_FOUND'],
    named: by('approval'),
    prepare: ({ query }) => ({ input: { wait: Number(query.wait ?? 0) } }),
  }),
  decision(
    'approve',
    'Approve a request',
    'For members in a browser session who confirmed with a passkey in the last five minutes. Each member counts once. The requester and members accountable for the requesting credential cannot decide. Nor can members who are tied to them: by an invitation, re-enrolment, promotion or addition to an approving team in the last seven days, in either direction and through any number of people, or by a grant of one to the other. Where nobody is accountable, nobody can decide.',
  ),
  decision('reject', 'Reject a request', 'One rejection ends the request.'),
  decision(
    'cancel',
    'Cancel a request',
    'Only for the requester. A pending or approved request can be cancelled until it is used.',
  ),
];
