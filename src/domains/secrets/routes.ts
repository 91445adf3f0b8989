// Secrets over HTTP.

import { type GenerateOptions, generate } from '../../crypto/generate';
import { newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { listRoute, type Slice } from '../../http/list';
import { by, route } from '../../http/route';
import { byNameRoutes } from './by-name';
import { encryptValue } from './encryption';
import { allValues, VALUES, valuesInput, withValue } from './values';
import * as wire from './wire';

const tag = 'Secrets';
const encrypted = (context: Context, secret: string, value: string, generated?: 1) =>
  encryptValue(keysOf(context), context.org, secret, value, generated);

/** Generates a value, encrypts it for a secret, and returns it with what the response shows once. */
async function generated(
  context: Context,
  secret: string,
  type: string,
  options: GenerateOptions | undefined,
) {
  const { value, public_key } = await generate(type, options);
  return {
    value: encrypted(context, secret, value, 1),
    once: { value, ...(public_key !== undefined && { public_key }) },
  };
}

const path = '/orgs/{org_id}/secrets';
const one = `${path}/{id}`;

export const secretRoutes = [
  ...byNameRoutes,
  route({
    method: 'post',
    path,
    action: 'secret.create',
    tag,
    summary: 'Create a secret',
    description:
      'Send value, or generate to have a value generated. Only this response returns a generated value; otherwise it contains no value. An ssh_key is generated in OpenSSH PEM format, with its public_key.',
    body: { schema: wire.SecretIn },
    answers: { 201: wire.NewSecret },
    refusals: ['NOT_FOUND', 'SECRET_NAME_TAKEN', 'LIMIT_REACHED', 'POLICY_VIOLATED'],
    async prepare({ body }, context) {
      const id = newId('sec');
      const { name, type, environment, description, tags, ttlSeconds, rotate_every_seconds, auto_rotate } =
        body;
      const { value, once } =
        body.value === undefined
          ? await generated(context, id, type, body.generate as GenerateOptions)
          : { value: encrypted(context, id, body.value), once: undefined };
      return {
        ...(once && { once }),
        input: {
          id,
          name,
          type,
          environment: environment ?? null,
          description: description ?? null,
          tags: tags ?? {},
          ttl: ttlSeconds ?? null,
          rotate_every_seconds: rotate_every_seconds ?? null,
          ...wire.optedIn(auto_rotate),
          value,
        },
      };
    },
  }),
  listRoute({
    path,
    action: 'secret.list',
    tag,
    summary: 'List secrets',
    description:
      'Returns metadata without values. If the caller is limited to some names, a page can have fewer items than limit. Continue until next_cursor is null. With delimiter, it lists one folder: its subfolders and its secrets. A folder is listed if the caller may list a secret in it.',
    query: wire.ListQuery,
    answers: { 200: wire.SecretPage },
    refusals: ['NOT_FOUND'],
    named: ({ query }) => (query.environment === undefined ? {} : { environment: query.environment }),
    filters: (query) => ({
      environment: query.environment ?? null,
      type: query.type ?? null,
      prefix: query.prefix ?? null,
      contains: query.contains?.toLowerCase() ?? null,
      status: query.status ?? null,
      tag: query.tag ?? null,
      id: query.id ?? null,
      by_name: query.sort === 'name',
      ...(query.delimiter && { by_folder: true }),
    }),
    beside: ({ folders }: Slice & { folders?: string[] }) => folders && { folders },
  }),
  route({
    method: 'get',
    path: one,
    action: 'secret.read',
    tag,
    summary: 'Read a secret',
    description: 'Returns the metadata and the value. With version, it returns an earlier value.',
    query: wire.VersionQuery,
    conditional: ['if-none-match'],
    answers: { 200: wire.SecretWithValue, 304: null },
    refusals: ['NOT_FOUND', 'SECRET_EXPIRED', 'SECRET_REVOKED'],
    named: by('secret'),
    prepare: ({ query, if_none_match }) => ({
      input: { version: query.version ?? null, if_none_match, as_text: true },
    }),
    render: withValue,
  }),
  route({
    method: 'patch',
    path: one,
    action: 'secret.update',
    tag,
    summary: 'Change a secret',
    description:
      'A new value creates a new version. If the value is equal to the current one and the caller may read it, no version is created. A new lifetime makes an expired secret active again.',
    body: { schema: wire.SecretPatch },
    conditional: ['if-match'],
    answers: { 200: wire.Secret },
    refusals: [
      'NOT_FOUND',
      'SECRET_EXPIRED',
      'SECRET_REVOKED',
      'SECRET_NAME_TAKEN',
      'VERSION_CONFLICT',
      'LIMIT_REACHED',
      'POLICY_VIOLATED',
    ],
    named: by('secret'),
    prepare({ params, body, if_match }, context) {
      const { name, value, ttlSeconds, auto_rotate, ...fields } = body;
      return {
        input: {
          if_match,
          name: name ?? null,
          fields,
          ...wire.optedIn(auto_rotate),
          ...(ttlSeconds !== undefined && { ttl: ttlSeconds }),
          value: value === undefined ? null : encrypted(context, params.id as string, value),
        },
      };
    },
  }),
  route({
    method: 'delete',
    path: one,
    action: 'secret.delete',
    tag,
    summary: 'Delete a secret',
    description:
      'The secret becomes unreadable at once. It can be restored for seven days. With permanent=true, all its values are destroyed now and it cannot be restored.',
    query: wire.DeleteQuery,
    conditional: ['if-match'],
    answers: { 204: null },
    refusals: ['NOT_FOUND', 'VERSION_CONFLICT'],
    named: by('secret'),
    prepare: ({ query, if_match }) => ({ input: { if_match, permanent: query.permanent === 'true' } }),
  }),
  route({
    method: 'post',
    path: `${one}/rotate`,
    action: 'secret.rotate',
    tag,
    summary: 'Rotate a secret',
    description:
      'Stores the new value from the request, or generates one that fits the type and returns it once. An ssh_key is generated in OpenSSH PEM format, with its public_key. For an api_key, env_var or generic secret whose current value was not generated by this service, generate is required: otherwise a random string could replace a value that was issued elsewhere.',
    body: { schema: wire.Rotate, optional: true },
    conditional: ['if-match'],
    answers: { 200: wire.RotatedSecret },
    refusals: ['NOT_FOUND', 'SECRET_EXPIRED', 'SECRET_REVOKED', 'VERSION_CONFLICT', 'LIMIT_REACHED'],
    named: by('secret'),
    prepare: ({ params, body, if_match }, context) => ({
      input: {
        if_match,
        value: body.value === undefined ? null : encrypted(context, params.id as string, body.value),
        generate: (body.generate as GenerateOptions | undefined) ?? null,
      },
    }),
    async more({ type }: { type: string }, { params, body, if_match }, context) {
      const { value, once } = await generated(
        context,
        params.id as string,
        type,
        body.generate as GenerateOptions | undefined,
      );
      return { input: { if_match, value, generate: body.generate ?? null }, once };
    },
  }),
  listRoute({
    path: `${one}/versions`,
    action: 'secret.versions',
    tag,
    summary: 'List the versions of a secret',
    description: 'Returns versions without values, newest first. A secret keeps its newest 1,000 versions.',
    answers: { 200: wire.VersionPage },
    refusals: ['NOT_FOUND'],
    named: by('secret'),
  }),
  route({
    method: 'post',
    path: `${one}/rollback`,
    action: 'secret.rollback',
    tag,
    summary: 'Roll back to an earlier version',
    description: 'Creates a new version with the value of an earlier one.',
    body: { schema: wire.Rollback },
    conditional: ['if-match'],
    answers: { 200: wire.Secret },
    refusals: ['NOT_FOUND', 'SECRET_EXPIRED', 'SECRET_REVOKED', 'VERSION_CONFLICT', 'LIMIT_REACHED'],
    named: by('secret'),
    prepare: ({ body, if_match }) => ({ input: { if_match, version: body.version } }),
  }),
  route({
    method: 'post',
    path: `${one}/restore`,
    action: 'secret.restore',
    tag,
    summary: 'Restore a deleted secret',
    description:
      'Possible for seven days after the deletion, unless the secret was deleted with permanent=true.',
    answers: { 200: wire.Secret },
    refusals: ['NOT_FOUND', 'SECRET_NAME_TAKEN', 'CONFLICT', 'POLICY_VIOLATED'],
    named: by('secret'),
  }),
  listRoute({
    path: '/orgs/{org_id}/environments/compare',
    action: 'secret.compare',
    tag,
    summary: 'Compare environments',
    description:
      'Returns the names of secrets in these environments, sorted, with the state of each. It reads no value, so nobody appears as a reader. Whether values are the same is told only of those that the caller could read now without an approval. An environment in which the caller may not list a name is left out for that name.',
    query: wire.CompareQuery,
    answers: { 200: wire.ComparisonPage },
    refusals: ['NOT_FOUND', 'SECRET_ACCESS_DENIED'],
    filters: ({ environments, prefix }) => ({ environments, prefix: prefix ?? null }),
  }),
  route({
    method: 'get',
    path: VALUES,
    action: 'secret.read_all',
    tag,
    summary: 'Read all values of an environment',
    description:
      'Returns all values that the caller may read, up to 2,000 secrets and 16 MiB, with an ETag. With If-None-Match, the response is 304 if nothing has changed. With limit, it returns them in pages. All pages show one revision of the environment: once a secret of it has changed, a cursor is 409 and the read starts again.',
    query: wire.ValuesQuery,
    conditional: ['if-none-match'],
    answers: { 200: wire.Values, 304: null },
    refusals: ['NOT_FOUND', 'RESULT_TOO_LARGE', 'INVALID_CURSOR', 'CONFLICT'],
    named: ({ params }) => ({ environment: params.environment as string }),
    prepare: ({ query, if_none_match }) => ({
      input: valuesInput(query, { if_none_match, after: null, etag: null }),
    }),
    render: allValues,
  }),
];
