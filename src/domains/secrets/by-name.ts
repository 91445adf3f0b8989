// Secrets by name over HTTP. A put encrypts the value for the secret that presumably has the name, as does a
// provider: see known-ids.ts.

import type { z } from '@hono/zod-openapi';
import { newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import { encryptValue } from './encryption';
import type { PutInput } from './gate/put';
import { knownId, type NamedSecret, rememberId } from './known-ids';
import { withValue } from './values';
import * as wire from './wire';

const tag = 'Secrets';
const path = '/orgs/{org_id}/secrets/by-name/{name}';

type PutRequest = Input<z.output<typeof wire.PutQuery>, z.output<typeof wire.SecretPut>>;
const named = ({
  params,
  query,
}: {
  params: Record<string, string>;
  query: { environment?: string | undefined };
}): NamedSecret => ({
  environment: query.environment ?? null,
  name: params.name as string,
});

/** The input of a put, with the value encrypted for the secret that presumably has the name. */
function putInput(input: PutRequest, context: Context, id: string): PutInput {
  const { value, ttlSeconds, auto_rotate, ...fields } = input.body;
  return {
    if_match: input.if_match,
    if_none_match: input.if_none_match,
    id: rememberId(context, named(input), id),
    fields,
    ...wire.optedIn(auto_rotate),
    ...(ttlSeconds !== undefined && { ttl: ttlSeconds }),
    value: encryptValue(keysOf(context), context.org, id, value),
  };
}

export const byNameRoutes = [
  route({
    method: 'get',
    path,
    action: 'secret.read',
    operation: 'secret.read_by_name',
    tag,
    summary: 'Read a secret by name',
    description:
      'The name may contain slashes, percent-encoded or not. Without environment, the default environment is used. For a name that the caller may not read, the response is 403 whether the secret exists or not.',
    query: wire.ByNameQuery,
    answers: { 200: wire.SecretWithValue },
    refusals: ['NOT_FOUND', 'SECRET_EXPIRED', 'SECRET_REVOKED'],
    named,
    // An ETag names a version, but not whose: another secret may have had the name, and the same ETag.
    prepare: ({ query }) => ({
      input: { version: query.version ?? null, if_none_match: null, as_text: true },
    }),
    render: withValue,
  }),
  route({
    method: 'put',
    path,
    action: 'secret.create',
    operation: 'secret.put',
    tag,
    summary: 'Create or update a secret by name',
    description:
      'Creates the secret (201), or updates the existing secret with this name as PATCH does (200). If the value is equal to the current one and the caller may read it, no version is created. With `If-None-Match: *`, the request can only create. PUT is idempotent and needs no Idempotency-Key.',
    query: wire.PutQuery,
    body: { schema: wire.SecretPut },
    conditional: ['if-match', 'if-none-match'],
    answers: { 200: wire.Secret, 201: wire.Secret },
    refusals: [
      'APPROVAL_REQUIRED',
      'APPROVAL_MISMATCH',
      'NOT_FOUND',
      'SECRET_EXPIRED',
      'SECRET_REVOKED',
      'VERSION_CONFLICT',
      'LIMIT_REACHED',
      'POLICY_VIOLATED',
    ],
    named,
    prepare: (input, context) => ({
      input: putInput(input, context, knownId(context, named(input)) ?? newId('sec')),
    }),
    more: async (asked: { id: string | null }, input, context) => ({
      input: putInput(input, context, asked.id ?? newId('sec')),
    }),
  }),
];
