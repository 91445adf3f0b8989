// Request and response schemas of upstreams.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { UpstreamRow } from '../../db/schema';
import { EnvironmentRef, iso, pageOf, Revision, Time } from '../../http/wire';
import { Allow, Allows, Auth, Auths } from './config';

const MIB = 1024 ** 2;

const Name = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 of a-z, 0-9 and -, not starting or ending with -',
  )
  .openapi({ example: 'stripe' });
const BaseUrl = z.string().min(1).max(2048).openapi({ example: 'https://api.stripe.com' });
const auth = {
  description:
    'How secrets are placed. `{{NAME}}` names a secret of the environment. At least one is required: other text is shown, so it must be no credential.',
  example: [{ type: 'header' as const, name: 'Authorization', value: 'Bearer {{STRIPE_KEY}}' }],
};
const allow = {
  description:
    'The requests that are let through, and no others. Paths are glob patterns on the path behind the base URL.',
  example: [{ methods: ['POST' as const], paths: ['/v1/charges'] }],
};
const bounds = {
  max_request_bytes: z
    .int()
    .min(1)
    .max(100 * MIB)
    .optional()
    .openapi({ description: '10 MiB by default.' }),
  max_response_bytes: z
    .int()
    .min(1)
    .max(1024 * MIB)
    .optional()
    .openapi({ description: '25 MiB by default.' }),
  timeout_seconds: z.int().min(1).max(60).optional().openapi({ description: '30 by default.' }),
};
const Rate = z.int().min(1).max(1000);

export const UpstreamIn = z
  .strictObject({
    name: Name,
    base_url: BaseUrl,
    environment: EnvironmentRef,
    auth: Auths.openapi(auth),
    allow: Allows.openapi(allow),
    ...bounds,
    rate_limit: Rate.optional().openapi({ description: 'Calls a minute.' }),
  })
  .openapi('UpstreamIn');

export const UpstreamPatch = z
  .strictObject({
    name: Name.optional(),
    base_url: BaseUrl.optional(),
    auth: Auths.optional().openapi(auth),
    allow: Allows.optional().openapi(allow),
    ...bounds,
    rate_limit: Rate.nullable().optional().openapi({ description: 'Calls a minute; null for no bound.' }),
  })
  .openapi('UpstreamPatch');

const brief = {
  id: z.string().openapi({ example: exampleId('upstream') }),
  revision: Revision,
  name: z.string().openapi({ example: 'stripe' }),
  base_url: z.string().openapi({ example: 'https://api.stripe.com' }),
  allow: z.array(Allow).openapi({ example: allow.example }),
};
const whole = {
  environment: z.string().openapi({ example: 'production' }),
  auth: z.array(Auth).openapi({ example: auth.example }),
  secrets: z.array(z.string()).openapi({
    description: 'The names of the secrets that it places.',
    example: ['STRIPE_KEY'],
  }),
  max_request_bytes: z.int(),
  max_response_bytes: z.int(),
  timeout_seconds: z.int(),
  rate_limit: z.int().nullable(),
  status: z.enum(['active', 'stopped']).openapi({
    description:
      '`stopped`: whoever made it, or last changed where it sends, has ended or may not read its secrets any more. It works again once somebody who may changes it.',
    example: 'active',
  }),
  created_by: z.string(),
  created_at: Time,
  updated_at: Time,
};

export const Upstream = z.object({ ...brief, ...whole }).openapi('Upstream');
export const UpstreamShown = z
  .object({ ...brief, ...z.object(whole).partial().shape })
  .openapi('UpstreamShown', {
    description: 'Whole for `upstreams:read`. With `secrets:use` alone, without where secrets are placed.',
  });
export const UpstreamPage = pageOf(UpstreamShown, 'UpstreamPage');

/** What a caller sees who may use an upstream. */
export const briefOut = ({ id, revision, name, base_url, allow }: UpstreamRow) => ({
  id,
  revision,
  name,
  base_url,
  allow: allow as z.infer<typeof Upstream>['allow'],
});

export const upstreamOut = (
  row: UpstreamRow,
  environment: string,
  isWorking: boolean,
): z.infer<typeof Upstream> => ({
  ...briefOut(row),
  environment,
  auth: row.auth,
  secrets: row.secrets,
  max_request_bytes: row.max_request_bytes,
  max_response_bytes: row.max_response_bytes,
  timeout_seconds: row.timeout_seconds,
  rate_limit: row.rate_limit,
  status: isWorking ? 'active' : 'stopped',
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
});
