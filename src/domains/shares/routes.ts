// HTTP routes of shares. The Worker encrypts a link's value under the link's key and decrypts it. Invariants:
// the key of a link exists only in the response that creates it, in the fragment of its URL and in the body
// of a view; without a genuine key a caller learns nothing about any link.

import type { z } from '@hono/zod-openapi';
import { newToken, readPageToken } from '../../auth/authentication/token';
import { idBytes, newId } from '../../db/ids';
import { ApiError, refuse } from '../../errors';
import { refusalOf } from '../../gate/request/outcome';
import { checking, waitOf } from '../../http/caller/refused-attempts';
import { type Context, keysOf, type PublicAnswer, type PublicContext } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, type Input, route } from '../../http/route';
import { decryptValue } from '../secrets/encryption';
import type { Delivered } from '../secrets/rules';
import { decryptForLink, encryptForLink, type Stretched, stretch, verifierOf } from './encryption';
import type { GrantInput, LinkInput, View, ViewInput } from './gate/operations';
import * as wire from './wire';

const tag = 'Shares';
const one = '/orgs/{org_id}/secrets/{id}';

type ShareRequest = Input<unknown, z.output<typeof wire.ShareIn>>;

function shareInput({ body }: ShareRequest): LinkInput | GrantInput {
  if (body.kind === 'link')
    return { kind: 'link', expires_in: body.expires_in, max_views: body.max_views, link: null };
  const { kind, grantee, permission, expires_at = null } = body;
  return { kind, id: newId('grt'), grantee, permission, expires_at };
}

/** A new link with the version from the gate, encrypted under the link's key. */
async function newLink(delivered: Delivered, { body }: ShareRequest, context: Context) {
  if (body.kind !== 'link') throw new Error('a grant asks for no value');
  const { org, deployment, base } = context;
  const { row, version, value } = await decryptValue(keysOf(context), org, delivered);
  const id = newId('shr');
  const { token: key, hash } = newToken('share', org, deployment.tokenTag);
  const stretched = body.passphrase === undefined ? null : await stretch(key, body.passphrase);
  const shared = { org, secret: row.id, share: id, version: version.version };
  const link: LinkInput['link'] = {
    id,
    version: version.version,
    key_hash: hash,
    value_sealed: encryptForLink(key, stretched, shared, value),
    passphrase: stretched && verifierOf(stretched),
  };
  const input: LinkInput = { kind: 'link', expires_in: body.expires_in, max_views: body.max_views, link };
  return { input, once: { url: `${base}/s/${id}#${key}` } };
}

/** The same response for every link that is not live. */
const gone = async (context: PublicContext) => ({ refusal: await context.count(refuse('SHARE_GONE')) });

async function viewed(
  { params, body }: Input<unknown, z.output<typeof wire.ViewIn>>,
  context: PublicContext,
): Promise<PublicAnswer> {
  const id = params.id as string;
  const { key, passphrase } = body;
  const token = readPageToken('share', key);
  // safety: link-key-genuine
  if (!token?.isGenuine(context.deployment.tokenTag) || !idBytes('shr', id)) return gone(context);
  const { org, hash } = token;
  const keys = await context.keyring.org(org);
  if (!keys) return gone(context);
  const ask = async (stretched: Stretched | null, again: boolean) => {
    const input: ViewInput = {
      id,
      key_hash: hash,
      sent: passphrase !== undefined,
      passphrase: stretched && verifierOf(stretched),
    };
    return (await context.ask(org, keys, { link: id, hash }, input, { again })).outcome;
  };
  const first = await ask(null, false);
  const wait = first.kind === 'more' ? waitOf(context.request.ip) : 0;
  // safety: passphrase-stretched-below-limits
  if (wait) return { refusal: refuse('RATE_LIMITED', { retry_after: wait }) };
  // Scrypt takes time and memory: only for a live link that has a passphrase.
  const stretched =
    first.kind === 'more' ? await checking(context, () => stretch(key, passphrase ?? '')) : null;
  if (typeof stretched === 'number') return { refusal: refuse('RATE_LIMITED', { retry_after: stretched }) };
  const outcome = stretched ? await ask(stretched, true) : first;
  if (outcome.kind === 'ok' && outcome.status === 403)
    return { refusal: await context.count(refuse('PASSPHRASE_WRONG')) };
  if (outcome.kind !== 'ok') {
    const refusal = refusalOf(outcome);
    return refusal.code === 'SHARE_GONE' ? gone(context) : { refusal };
  }
  const { secret_id, name, version, value_sealed, has_passphrase } = outcome.data as View;
  const value = decryptForLink(
    key,
    has_passphrase ? stretched : null,
    { org, secret: secret_id, share: id, version },
    value_sealed,
  );
  if (value === null) throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: id });
  return { status: 200, json: { name, version, value } };
}

export const shareRoutes = [
  route({
    method: 'post',
    path: `${one}/share`,
    action: 'secret.share',
    tag,
    summary: 'Share a secret',
    description:
      'Creates a link that shows the current version, or a grant of this secret to a member, team or agent. The caller also needs secrets:read for the secret. The URL of a link is shown only in this response. A link ends after its last view or its lifetime, and is revoked together with its secret and with the credential or member that created it.',
    body: { schema: wire.ShareIn },
    answers: { 201: wire.NewShare },
    refusals: ['NOT_FOUND', 'SECRET_EXPIRED', 'SECRET_REVOKED', 'SCOPE_EXCEEDS_PARENT', 'LIMIT_REACHED'],
    named: by('secret'),
    prepare: (input) => ({ input: shareInput(input) }),
    more: newLink,
  }),
  listRoute({
    path: `${one}/shares`,
    action: 'secret.share_list',
    tag,
    summary: 'List the shares of a secret',
    description:
      'Returns live links, and live grants that name only this secret. The URL of a link is never returned.',
    answers: { 200: wire.SharePage },
    refusals: ['NOT_FOUND'],
    named: by('secret'),
  }),
  route({
    method: 'delete',
    path: `${one}/shares/{share_id}`,
    action: 'secret.share_revoke',
    tag,
    summary: 'Revoke a share',
    description: 'Revokes a link, or a grant that names only this secret, as soon as this request returns.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named({ params }) {
      const id = params.share_id as string;
      return { ...by('secret')({ params }), ...(id.startsWith('grt_') ? { grant: id } : { share: id }) };
    },
  }),
  route({
    method: 'post',
    path: '/s/{id}',
    isPage: true,
    action: 'secret.share_view',
    tag,
    summary: 'View a shared secret',
    description:
      'The page of a link sends this request when a visitor asks for the value. The response counts as a view, even if it is lost. A link that was used up, has expired, was revoked or never existed gets the same refusal. The tenth wrong passphrase revokes the link.',
    body: { schema: wire.ViewIn },
    answers: { 200: wire.Viewed },
    refusals: ['SHARE_GONE', 'PASSPHRASE_WRONG'],
    public: viewed,
  }),
];
