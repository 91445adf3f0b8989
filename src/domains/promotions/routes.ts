// HTTP route of promotions. The Worker decrypts the values of the source and encrypts them for the target;
// the response contains names alone.
import type { z } from '@hono/zod-openapi';
import { newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import { decryptValue, encryptValue } from '../secrets/encryption';
import type { PromotedValue, PromotionInput, Wanted } from './payloads';
import * as wire from './wire';

type PromoteRequest = Input<unknown, z.output<typeof wire.PromoteIn>>;

const inputOf = ({ body, if_match }: PromoteRequest, values: PromotedValue[] | null): PromotionInput => ({
  from: body.from,
  names: body.names ?? null,
  prefix: body.prefix ?? null,
  prune: body.prune ?? false,
  dry_run: body.dryRun ?? false,
  if_match,
  values,
});

/** The same value for a secret of the target: a ciphertext is bound to the id of its secret. */
async function encryptedAgain(
  context: Context,
  { source, id: existing }: Wanted['items'][number],
): Promise<PromotedValue> {
  const { row, value } = await decryptValue(keysOf(context), context.org, source);
  const id = existing ?? newId('sec');
  return { name: row.name, id, value: encryptValue(keysOf(context), context.org, id, value) };
}

export const promotionRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/environments/{environment}/promote',
    action: 'secret.promote',
    tag: 'Secrets',
    summary: 'Promote secrets from another environment',
    description:
      'Copies current values in one transaction. New secrets also get the type, description and tags. Also needs secrets:read there, and secrets:delete to prune. Policies hold it as the change of each secret here, and as a read and a share of each one there.',
    body: { schema: wire.PromoteIn },
    conditional: ['if-match'],
    answers: { 200: wire.Promoted },
    refusals: [
      'NOT_FOUND',
      'SECRET_ACCESS_DENIED',
      'SECRET_EXPIRED',
      'SECRET_REVOKED',
      'VERSION_CONFLICT',
      'LIMIT_REACHED',
      'POLICY_VIOLATED',
      'RESULT_TOO_LARGE',
    ],
    unkept: ({ dryRun }) => dryRun === true,
    named: ({ params }) => ({ environment: params.environment as string }),
    prepare: (request) => ({ input: inputOf(request, null) }),
    async more({ items }: Wanted, request, context) {
      const values: PromotedValue[] = [];
      for (const item of items) values.push(await encryptedAgain(context, item));
      return { input: inputOf(request, values) };
    },
  }),
];
