// The Provider API over HTTP. A value is sealed for a secret's id, which a request that names a secret does not know: this isolate remembers
// which one a name had, and the gate asks again where that is wrong. Invariant: what is remembered is a guess, and decides nothing.
import { openRecent } from '../../crypto/recent';
import { newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { route } from '../../http/route';
import { sealValue } from '../secrets/seal';
import * as wire from './wire';

const tag = 'Provider';

interface Named {
  secretName: string;
  environment: string;
}

/** Ids that names had, by organisation, environment as it was spelled, and name. */
const known = openRecent<string>(5000);
const placeOf = (context: Context, { environment, secretName }: Named) => JSON.stringify([context.org, environment, secretName]);

/** The operation's input, with the value sealed for a secret; for none where nobody knows which. */
const sealed = (context: Context, { secretName: name, environment }: Named, id: string | null, value: string) => ({
  name,
  environment,
  id,
  value: id === null ? null : sealValue(keysOf(context), context.org, id, value),
});

function remember(context: Context, body: Named, id: string): string {
  known.set(placeOf(context, body), id);
  return id;
}

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
    refusals: ['NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const id = known.get(placeOf(context, body)) ?? remember(context, body, newId('sec'));
      return { input: { ...sealed(context, body, id, body.value), ttl: body.ttlSeconds } };
    },
    async more(asked: { id: string | null }, { body }, context) {
      const id = remember(context, body, asked.id ?? newId('sec'));
      return { input: { ...sealed(context, body, id, body.value), ttl: body.ttlSeconds } };
    },
  }),
  route({
    method: 'post',
    path: '/provider/rotate',
    action: 'provider.rotate',
    tag,
    summary: 'Rotate an issued secret',
    description:
      'Stores a new value and starts the last lifetime again. An expired secret becomes active again. For a revoked secret the call fails with 409 SECRET_REVOKED: issue it again instead.',
    body: { schema: wire.Rotate },
    answers: { 200: wire.Issued },
    refusals: ['NOT_FOUND', 'SECRET_REVOKED', 'LIMIT_REACHED'],
    statuses: { SECRET_REVOKED: 409 },
    prepare: ({ body }, context) => ({
      input: sealed(context, body, known.get(placeOf(context, body)) ?? null, body.newValue),
    }),
    async more(asked: { id: string }, { body }, context) {
      return { input: sealed(context, body, remember(context, body, asked.id), body.newValue) };
    },
  }),
  route({
    method: 'post',
    path: '/provider/revoke',
    action: 'provider.revoke',
    tag,
    summary: 'Revoke an issued secret',
    description: 'Makes all existing versions unreadable at once and for ever. Safe to repeat: the response stays the same.',
    body: { schema: wire.Revoke },
    answers: { 200: wire.Revoked },
    refusals: ['NOT_FOUND'],
    prepare: ({ body }) => ({ input: { name: body.secretName, environment: body.environment } }),
  }),
];
