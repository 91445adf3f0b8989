import { newChallenge, readChallenge, userHandle } from '../../auth/authentication/proofs';
import { ApiError, invalid } from '../../errors';
import type { Context } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, type Input, route } from '../../http/route';
import { challengeOf, creationOptions, verifyCreation } from './webauthn';
import * as wire from './wire';

const passkeys = '/orgs/{org_id}/members/{id}/passkeys';

const byPasskey = ({ params }: { params: Record<string, string> }) => ({
  passkey: params.passkey_id as string,
  member: params.id as string,
});

/** The purpose that a challenge for adding a passkey is bound to. */
const adding = (org: string, member: string) => ['passkey', org, member];

interface Owner {
  id: string;
  email: string;
  name: string;
  has: { credential_id: string; transports: string[] }[];
}

export const passkeyRoutes = [
  listRoute({
    path: passkeys,
    action: 'passkey.list',
    tag: 'Passkeys',
    summary: 'List the passkeys of a member',
    description: 'Members need no scope for their own passkeys.',
    answers: { 200: wire.PasskeyPage },
    named: by('member'),
  }),
  route({
    method: 'post',
    path: `${passkeys}/options`,
    action: 'passkey.create',
    operation: 'passkey.options',
    tag: 'Passkeys',
    summary: 'Get options to add a passkey',
    description:
      'Pass them to navigator.credentials.create(). Only for the member, in a browser session. The options work once, within five minutes.',
    answers: { 200: wire.CreationOptions },
    unkept: true,
    named: by('member'),
    render: async ({ id, ...owner }: Owner, _: Input, { base, deployment, org }: Context) => ({
      json: await creationOptions(base, newChallenge(deployment.proof, adding(org, id)), {
        handle: userHandle(deployment.proof, org, id),
        ...owner,
      }),
    }),
  }),
  route({
    method: 'post',
    path: passkeys,
    action: 'passkey.create',
    tag: 'Passkeys',
    summary: 'Add a passkey',
    description: 'Only for the member, in a browser session.',
    body: { schema: wire.PasskeyIn },
    answers: { 201: wire.Passkey },
    refusals: ['CONFLICT', 'LIMIT_REACHED'],
    named: by('member'),
    async prepare({ params, body }, { base, deployment, org }) {
      const challenge = challengeOf(body.response.response.clientDataJSON);
      const id = readChallenge(deployment.proof, adding(org, params.id as string), challenge, 'psk');
      const made = id && (await verifyCreation(base, body.response, challenge));
      if (!made)
        throw new ApiError(
          invalid(
            'response',
            'must answer options that were issued in the last five minutes and not used yet',
          ),
        );
      return { input: { passkey: { ...made, name: body.name ?? made.name, id } } };
    },
  }),
  route({
    method: 'patch',
    path: `${passkeys}/{passkey_id}`,
    action: 'passkey.update',
    revises: true,
    tag: 'Passkeys',
    summary: 'Rename a passkey',
    description:
      'Members need no scope for their own passkeys. For the passkeys of others, the caller must be allowed to change that member.',
    body: { schema: wire.PasskeyPatch },
    answers: { 200: wire.Passkey },
    named: byPasskey,
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'delete',
    path: `${passkeys}/{passkey_id}`,
    action: 'passkey.delete',
    revises: true,
    tag: 'Passkeys',
    summary: 'Remove a passkey',
    description:
      'Browser sessions started with the passkey end immediately. The last passkey of a member cannot be removed.',
    answers: { 204: null },
    refusals: ['LAST_PASSKEY'],
    named: byPasskey,
  }),
];
