// HTTP routes of webhooks. The Worker checks URLs, and encrypts URLs and secrets before it calls the gate.
import { newId } from '../../db/ids';
import { checkTarget } from '../../delivery/egress';
import { ApiError, type IntegrityViolation, invalid } from '../../errors';
import { unwrap } from '../../gate/request/outcome';
import { type Context, keysOf, pageOf, type RenderContext } from '../../http/context';
import { listName, listRoute, PageQuery, type Slice } from '../../http/list';
import { by, type DeclaredRoute, type Input, route } from '../../http/route';
import { attempt } from './deliver';
import {
  decryptSecret,
  decryptUrl,
  encryptOldSecret,
  encryptSecret,
  encryptUrl,
  newSigningSecret,
  shownUrl,
} from './encryption';
import type { Testing } from './gate/delivery-operations';
import type { EncryptedWebhook, RotateInput, Rotating } from './gate/operations';
import * as wire from './wire';

const tag = 'Webhooks';
const webhooks = '/orgs/{org_id}/webhooks';
const one = `${webhooks}/{id}`;
const deliveries = `${one}/deliveries`;

const ownerIn = (context: Context, id: string) => ({ keys: keysOf(context), org: context.org, id });

/** A URL, encrypted for its webhook; refused if it is not an allowed target. */
function addressOf(context: Context, id: string, url: string) {
  const problem = checkTarget(url, context.settings);
  // safety: webhook-target-checked
  if (problem !== null) throw new ApiError(invalid('url', problem));
  return encryptUrl(ownerIn(context, id), url);
}

/** How many URLs of one list that do not open are reported. */
const MOST_REPORTED = 20;

/** Webhooks with their URLs. One that does not open is named, and reported as an integrity violation. */
async function allShown(context: RenderContext, webhooks: EncryptedWebhook[]) {
  const violations: IntegrityViolation[] = [];
  const items = webhooks.map((webhook) => {
    try {
      return shown(context, webhook);
    } catch (error) {
      // safety: webhook-list-names-what-does-not-open
      if (!(error instanceof ApiError && error.violation)) throw error;
      violations.push(error.violation);
      const { host: _, url_sealed: __, ...rest } = webhook;
      return { ...rest, url: null, unreadable: ['url'] };
    }
  });
  for (const violation of violations.slice(0, MOST_REPORTED)) await context.report(violation);
  return items;
}

/** A webhook with the shown form of its URL. */
function shown(context: Context, { host, url_sealed, ...rest }: EncryptedWebhook) {
  return { ...rest, url: shownUrl(decryptUrl(ownerIn(context, rest.id), { host, url_sealed })) };
}

const renderOne = (webhook: EncryptedWebhook, _input: unknown, context: Context) => ({
  json: shown(context, webhook),
});

/** A webhook's new secret, and the previous one encrypted as the old secret. */
async function rotated(
  { host, url_sealed, secret_sealed }: Rotating,
  id: string,
  overlap: number,
  context: Context,
) {
  const owner = ownerIn(context, id);
  const secret = newSigningSecret();
  const made = {
    from: secret_sealed,
    secret_sealed: encryptSecret(owner, secret),
    old_secret_sealed: encryptOldSecret(owner, decryptSecret(owner, secret_sealed)),
    url: shownUrl(decryptUrl(owner, { host, url_sealed })),
  };
  return { input: { overlap, made } satisfies RotateInput, once: { secret } };
}

/** Sends the test event and has the gate record the result. */
async function tested({ target, event }: Testing, context: RenderContext) {
  const outcome = await attempt(context.settings, keysOf(context), context.org, target, event);
  return { json: unwrap(await context.further({ event, attempt: outcome })).data };
}

const OVERLAP = 86_400;

export const webhookRoutes: DeclaredRoute[] = [
  route({
    method: 'post',
    path: webhooks,
    action: 'webhook.create',
    tag,
    summary: 'Create a webhook',
    description:
      'New events are sent to the URL as signed POST requests. The signing secret is shown only in this response. A credential limited to environments or names cannot use webhooks.',
    body: { schema: wire.WebhookIn, nulls: ['description'] },
    answers: { 201: wire.WebhookCreated },
    refusals: ['LIMIT_REACHED'],
    prepare({ body }, context) {
      const id = newId('whk');
      const secret = newSigningSecret();
      const address = addressOf(context, id, body.url);
      const sealed = { ...address, secret_sealed: encryptSecret(ownerIn(context, id), secret) };
      const { events, description = null } = body;
      return { input: { id, url: shownUrl(body.url), ...sealed, events, description }, once: { secret } };
    },
  }),
  route({
    method: 'get',
    path: webhooks,
    action: 'webhook.list',
    tag,
    summary: 'List webhooks',
    query: PageQuery,
    answers: { 200: wire.WebhookPage },
    refusals: ['INVALID_CURSOR'],
    prepare: ({ query }) => ({ input: { limit: query.limit ?? 50, after: query.cursor ?? null } }),
    render: async (slice: Slice, { params }, context: RenderContext) => ({
      json: pageOf(context, listName(webhooks, params), {
        ...slice,
        items: await allShown(context, slice.items as EncryptedWebhook[]),
      }),
    }),
  }),
  route({
    method: 'get',
    path: one,
    action: 'webhook.read',
    tag,
    summary: 'Show a webhook',
    answers: { 200: wire.Webhook },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
    render: renderOne,
  }),
  route({
    method: 'patch',
    path: one,
    action: 'webhook.update',
    revises: true,
    tag,
    summary: 'Change a webhook',
    description:
      'Deliveries to a new URL are signed with the same secret. A disabled webhook gets no deliveries, and pending ones fail; `POST /webhooks/:id/redeliver` sends them after it is enabled again. Events that happen in the meantime are only in the feed.',
    body: { schema: wire.WebhookPatch },
    answers: { 200: wire.Webhook },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
    resumes: true,
    prepare({ body, params }, context) {
      const { url, ...rest } = body;
      return {
        input: { address: url === undefined ? null : addressOf(context, params.id as string, url), ...rest },
      };
    },
    render: renderOne,
  }),
  route({
    method: 'delete',
    path: one,
    action: 'webhook.delete',
    revises: true,
    tag,
    summary: 'Delete a webhook',
    description: 'Also deletes its deliveries.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
  }),
  route({
    method: 'post',
    path: `${one}/rotate-secret`,
    action: 'webhook.rotate_secret',
    revises: true,
    tag,
    summary: 'Rotate the signing secret of a webhook',
    description:
      'The new secret is shown only in this response. During the overlap, `webhook-signature` contains signatures by both secrets, and `X-Svc-Signature` uses the old one. If the old secret was already being replaced, the one before it stops working immediately.',
    body: { schema: wire.RotateSecretIn, optional: true },
    answers: { 200: wire.WebhookCreated },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
    prepare: ({ body }) => ({ input: { overlap: body.overlap_seconds ?? OVERLAP } satisfies RotateInput }),
    more: (asked: Rotating, { params, body }, context) =>
      rotated(asked, params.id as string, body.overlap_seconds ?? OVERLAP, context),
  }),
  route({
    method: 'post',
    path: `${one}/test`,
    action: 'webhook.test',
    tag,
    summary: 'Send a test event to a webhook',
    description:
      'Sends an event of type `WEBHOOK_TEST` immediately, in one attempt, even to a disabled webhook. The response is always 200: `status` is `delivered` or `failed`.',
    answers: { 200: wire.Delivery },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
    unkept: true,
    render: (testing: Testing, _input: Input, context: RenderContext) => tested(testing, context),
  }),
  listRoute({
    path: deliveries,
    action: 'webhook.deliveries',
    tag,
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. Deliveries are kept for 30 days.',
    query: wire.DeliveryQuery,
    answers: { 200: wire.DeliveryPage },
    refusals: ['NOT_FOUND'],
    named: by('webhook'),
    filters: ({ status }) => ({ status: status ?? null }),
  }),
  route({
    method: 'post',
    path: `${deliveries}/{delivery_id}/redeliver`,
    action: 'webhook.redeliver',
    tag,
    summary: 'Send a delivery again',
    description:
      'Works for any status. The delivery becomes pending again, with as many attempts as a new one and the same `webhook-id`.',
    answers: { 202: wire.Delivery },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: ({ params }) => ({ webhook: params.id as string, delivery: params.delivery_id as string }),
  }),
  route({
    method: 'post',
    path: `${one}/redeliver`,
    action: 'webhook.redeliver',
    operation: 'webhook.redeliver_since',
    tag,
    summary: 'Resend failed deliveries since a time',
    description: 'Up to 1,000 per request, oldest first. Test events are not included.',
    body: { schema: wire.RedeliverIn },
    answers: { 202: wire.Redelivered },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('webhook'),
    prepare: ({ body }) => ({ input: body }),
  }),
];
