// HTTP routes of the Provider API. A value is encrypted for a secret's id, but a request names the secret.
// The isolate remembers the last known id of a name, and the gate asks again if it is wrong. Invariant: the
// remembered id is only a guess and decides nothing.
import { newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { route } from '../../http/route';
import { encryptValue } from '../secrets/encryption';
import { knownId, type NamedSecret, rememberId } from '../secrets/known-ids';
import * as wire from './wire';

const tag = 'Provider';

interface Named {
  secretName: string;
  environment: string;
}

const secretOf = ({ secretName: name, environment }: Named): NamedSecret => ({ name, environment });

/**
 * The operation's input, with the value encrypted for the guessed secret, or no value if there is no guess.
 */
const encrypted = (context: Context, body: Named, id: string | null, value: string) => ({
  ...secretOf(body),
  id,
  value: id === null ? null : encryptValue(keysOf(context), context.org, id, value),
});

export const providerRoutes = [
  route({
    method: 'post',
    path: '/provider/issue',
    action: 'provider.issue',
    tag,
    summary: 'Issue a secret',
    description:
      'Stores a value with a lifetime. If the name is new, a secret of type generic is created (201). Otherwise the secret gets a new version (200), and an expired or revoked secret becomes active again. Revoked versions stay unreadable.',
    body: { schema: wire.Issue },
    answers: { 200: wire.Issued, 201: wire.Issued },
    refusals: ['NOT_FOUND', 'LIMIT_REACHED', 'POLICY_VIOLATED'],
    prepare({ body }, context) {
      const id = knownId(context, secretOf(body)) ?? rememberId(context, secretOf(body), newId('sec'));
      return { input: { ...encrypted(context, body, id, body.value), ttl: body.ttlSeconds } };
    },
    async more(asked: { id: string | null }, { body }, context) {
      const id = rememberId(context, secretOf(body), asked.id ?? newId('sec'));
      return { input: { ...encrypted(context, body, id, body.value), ttl: body.ttlSeconds } };
    },
  }),
  route({
    method: 'post',
    path: '/provider/rotate',
    action: 'provider.rotate',
    tag,
    summary: 'Rotate an issued secret',
    description:
      'Stores a new value and restarts the last lifetime. An expired secret becomes active again. For a revoked secret, the request fails with 409 SECRET_REVOKED: issue the secret again instead.',
    body: { schema: wire.Rotate },
    answers: { 200: wire.Issued },
    refusals: ['NOT_FOUND', 'SECRET_REVOKED', 'LIMIT_REACHED'],
    statuses: { SECRET_REVOKED: 409 },
    prepare: ({ body }, context) => ({
      input: encrypted(context, body, knownId(context, secretOf(body)), body.newValue),
    }),
    async more(asked: { id: string }, { body }, context) {
      return {
        input: encrypted(context, body, rememberId(context, secretOf(body), asked.id), body.newValue),
      };
    },
  }),
  route({
    method: 'post',
    path: '/provider/revoke',
    action: 'provider.revoke',
    tag,
    summary: 'Revoke an issued secret',
    description:
      'Makes all existing versions permanently unreadable, immediately. Safe to repeat: the response stays the same.',
    body: { schema: wire.Revoke },
    answers: { 200: wire.Revoked },
    refusals: ['NOT_FOUND'],
    prepare: ({ body }) => ({ input: { name: body.secretName, environment: body.environment } }),
  }),
];
