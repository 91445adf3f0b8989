// HTTP routes of upstreams.
import { newId } from '../../db/ids';
import { ApiError, refuse } from '../../errors';
import type { Context } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, type DeclaredRoute, route } from '../../http/route';
import { baseUrlOf, problemsOf } from './config';
import { placedBy } from './references';
import * as wire from './wire';

const tag = 'Upstreams';
const upstreams = '/orgs/{org_id}/upstreams';
const one = `${upstreams}/{id}`;

type Sent = Parameters<typeof problemsOf>[0];

/** What is stored of the fields that say where an upstream sends, once they are checked. */
function checked(sent: Sent, { settings, base }: Context) {
  const details = problemsOf(sent, { ...settings, publicUrl: settings.publicUrl ?? base });
  if (details.length) throw new ApiError(refuse('VALIDATION_FAILED', { details }));
  return {
    ...(sent.base_url !== undefined && { base_url: baseUrlOf(sent.base_url) }),
    ...(sent.auth && { secrets: placedBy(sent.auth) }),
  };
}

export const upstreamRoutes: DeclaredRoute[] = [
  route({
    method: 'post',
    path: upstreams,
    action: 'upstream.create',
    tag,
    summary: 'Create an upstream',
    description:
      'Needs `upstreams:write`, and `secrets:read` on each secret that it places. Whoever holds `secrets:use` on them can then call the API without ever seeing a value. It works while its maker may read them.',
    body: { schema: wire.UpstreamIn },
    answers: { 201: wire.Upstream },
    refusals: ['NOT_FOUND', 'SLUG_TAKEN', 'LIMIT_REACHED'],
    prepare: ({ body }, context) => ({
      input: {
        id: newId('ups'),
        max_request_bytes: 10 * 1024 ** 2,
        max_response_bytes: 25 * 1024 ** 2,
        timeout_seconds: 30,
        rate_limit: null,
        ...body,
        ...checked(body, context),
      },
    }),
  }),
  listRoute({
    path: upstreams,
    action: 'upstream.list',
    tag,
    summary: 'List upstreams',
    description: 'Those that the caller may see or use.',
    answers: { 200: wire.UpstreamPage },
  }),
  route({
    method: 'get',
    path: one,
    action: 'upstream.read',
    tag,
    summary: 'Show an upstream',
    answers: { 200: wire.UpstreamShown },
    refusals: ['NOT_FOUND'],
    named: by('upstream'),
  }),
  route({
    method: 'patch',
    path: one,
    action: 'upstream.update',
    revises: true,
    tag,
    summary: 'Change an upstream',
    description:
      'Needs what its creation needs. Whoever changes `name`, `base_url`, `auth` or `allow`, or anything of one that has stopped, is its maker from then on.',
    body: { schema: wire.UpstreamPatch },
    answers: { 200: wire.Upstream },
    refusals: ['NOT_FOUND', 'SLUG_TAKEN'],
    named: by('upstream'),
    prepare: ({ body }, context) => ({ input: { ...body, ...checked(body, context) } }),
  }),
  route({
    method: 'delete',
    path: one,
    action: 'upstream.delete',
    revises: true,
    tag,
    summary: 'Delete an upstream',
    description: 'No call begins after the response.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('upstream'),
  }),
];
