import { and, asc, gt, isNull } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { newId } from '../../db/ids';
import { fromCursor } from '../../db/page';
import { orgs } from '../../db/schema';
import { ApiError, invalid, refuse } from '../../errors';
import { regionOf } from '../../http/calls/region';
import { pageOf } from '../../http/context';
import { listRoute, PageQuery } from '../../http/list';
import { by, route } from '../../http/route';
import { iso } from '../../http/wire';
import { issue } from '../credentials/routes';
import { enrolment } from '../members/routes';
import { resetGate } from './reset';
import * as wire from './wire';

const FIRST_ENVIRONMENTS = ['development', 'staging', 'production'];

const org = '/orgs/{org_id}';
const environments = `${org}/environments`;

export const orgRoutes = [
  route({
    method: 'post',
    path: '/orgs',
    action: 'org.create',
    tag: 'Organisations',
    summary: 'Create an organisation',
    description:
      'The response contains the first API key, which has the scope *, and the enrolment link of the owner. Both are shown only once. The organisation starts with the environments development, staging and production; production is the default.',
    body: { schema: wire.OrgIn },
    answers: { 201: wire.Founded },
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context, 'api_key.token');
      const owner = enrolment(context, 'owner.enrolment_url');
      return {
        input: {
          name: body.name,
          owner: { id: newId('mem'), ...body.owner },
          ...(body.regions && { regions: body.regions }),
          location_hint: body.location_hint ?? regionOf(context.place),
          enrolment: owner.hash,
          environments: FIRST_ENVIRONMENTS.map((slug) => ({ id: newId('env'), slug })),
          token,
          wrapped: context.wrapped,
        },
        once: { ...once, ...owner.once },
      };
    },
  }),
  route({
    method: 'get',
    path: '/orgs',
    action: 'org.list',
    tag: 'Organisations',
    summary: 'List organisations',
    query: PageQuery,
    answers: { 200: wire.OrgPage },
    refusals: ['INVALID_CURSOR'],
    async deployment({ query }, context) {
      const limit = query.limit ?? 50;
      const after =
        query.cursor === undefined ? '' : fromCursor(context.deployment.cursor, '', '/orgs', query.cursor);
      if (after === null) throw new ApiError(refuse('INVALID_CURSOR'));
      context.trace.d1_calls++;
      const rows = await drizzle(context.env.DB)
        .select({ id: orgs.id, name: orgs.name, created_at: orgs.created_at })
        .from(orgs)
        .where(and(gt(orgs.id, after), isNull(orgs.deleted_at)))
        .orderBy(asc(orgs.id))
        .limit(limit + 1);
      const items = rows.slice(0, limit).map((row) => ({ ...row, created_at: iso(row.created_at) }));
      return {
        json: pageOf({ ...context, org: '' }, '/orgs', {
          items,
          next: rows.length > limit ? (items.at(-1)?.id ?? null) : null,
        }),
      };
    },
  }),
  route({
    method: 'post',
    path: `${org}/recovery`,
    action: 'org.recover',
    tag: 'Organisations',
    summary: 'Recover an organisation',
    description:
      'For an organisation that has lost its API keys and passkeys. The response contains a new API key with the scope * and an enrolment link for an owner: the oldest one, unless email names another. Every other credential keeps working, a lost API key too, unless contain is true: then every other credential and session ends in the same call. The audit log records the reason.',
    body: { schema: wire.Recovery },
    answers: { 201: wire.Recovered },
    refusals: ['NOT_FOUND'],
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context, 'api_key.token');
      const owner = enrolment(context);
      return {
        input: {
          token,
          reason: body.reason,
          email: body.email ?? null,
          enrolment: owner.hash,
          contain: body.contain ?? false,
        },
        once: { ...once, ...owner.once },
      };
    },
  }),
  route({
    method: 'post',
    path: `${org}/adopt`,
    action: 'org.adopt',
    tag: 'Organisations',
    summary: 'Accept a database restored from a backup',
    description:
      'Send it after you have restored the database from a backup. Secrets return to their state in the backup. Credentials, environments and revocations keep their current state, and secrets that were deleted since the backup stay deleted. Safe to repeat.',
    body: { schema: wire.Adoption },
    answers: { 200: wire.Adopted },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    prepare: ({ body }) => ({ input: body }),
    async render(data: object, _, { env }) {
      // The health check stops looking for organisations that this database does not have.
      await env.GATE.getByName('health')
        .adopted()
        .catch(() => {});
      return { json: data };
    },
  }),
  route({
    method: 'post',
    path: `${org}/gate/reset`,
    action: 'org.reset_gate',
    tag: 'Organisations',
    summary: 'Give the organisation a new gate',
    description:
      'For a gate that is broken: its storage is deleted, and a new gate begins from the database. Secrets, credentials, members and all that has ended stay as the database has them. Audit entries that the old gate can no longer move to the database are lost, and so are events that were not delivered yet, stored responses of Idempotency-Keys and last uses. The audit log records the reason.',
    body: { schema: wire.Adoption },
    answers: { 200: wire.GateReset },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    deployment: async ({ params, body }, context) => ({
      json: await resetGate(params.org_id as string, body.reason, context),
    }),
  }),
  route({
    method: 'post',
    path: `${org}/clock/accept`,
    action: 'org.accept_clock',
    tag: 'Organisations',
    summary: 'Say that the clock is right',
    description:
      'Send it after a clock that was ahead was put right: what it put off goes on, and /healthz no longer reports the audit log, whose times stay ahead. Nothing that has ended is alive again. Safe to repeat.',
    body: { schema: wire.Adoption },
    answers: { 200: wire.ClockAccepted },
    refusals: ['NOT_FOUND'],
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'get',
    path: org,
    action: 'org.read',
    tag: 'Organisations',
    summary: 'Show the organisation and its usage',
    answers: { 200: wire.OrgWithUsage },
  }),
  route({
    method: 'patch',
    path: org,
    action: 'org.update',
    revises: true,
    tag: 'Organisations',
    summary: 'Change the organisation',
    description:
      'Changes the name, the default environment, the IP addresses that members may use, the audit log retention or the regions. To change allowed_addresses, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`), and its own address must be included. Only an owner, or an API key that acts as one, can change audit_retention_days; a browser session must have been confirmed for this too.',
    body: { schema: wire.OrgPatch },
    answers: { 200: wire.OrgWithUsage },
    refusals: ['REAUTHENTICATION_REQUIRED', 'NOT_FOUND'],
    prepare: ({ body }) => ({
      input: { ...body, name: body.name ?? null, default_environment: body.default_environment ?? null },
    }),
  }),
  route({
    method: 'delete',
    path: org,
    action: 'org.delete',
    revises: true,
    tag: 'Organisations',
    summary: 'Delete the organisation',
    description:
      'Destroys the key of the organisation immediately, so none of its secrets can ever be read again. Other data is purged in the background. This cannot be undone.',
    body: { schema: wire.OrgDelete },
    answers: { 204: null },
    prepare: ({ body }) => ({ input: body }),
  }),
  listRoute({
    path: environments,
    action: 'environment.list',
    tag: 'Environments',
    summary: 'List environments',
    answers: { 200: wire.EnvironmentPage },
  }),
  route({
    method: 'post',
    path: environments,
    action: 'environment.create',
    tag: 'Environments',
    summary: 'Create an environment',
    body: { schema: wire.EnvironmentIn },
    answers: { 201: wire.Environment },
    refusals: ['SLUG_TAKEN', 'LIMIT_REACHED'],
    prepare({ body }) {
      const slug = body.slug ?? wire.slugOfName(body.name);
      if (!slug) throw new ApiError(invalid('slug', 'is required: no slug can be derived from the name'));
      return { input: { id: newId('env'), name: body.name, slug } };
    },
  }),
  route({
    method: 'get',
    path: `${environments}/{id}`,
    action: 'environment.read',
    tag: 'Environments',
    summary: 'Show an environment',
    answers: { 200: wire.Environment },
    refusals: ['NOT_FOUND'],
    named: by('environment'),
  }),
  route({
    method: 'patch',
    path: `${environments}/{id}`,
    action: 'environment.update',
    revises: true,
    tag: 'Environments',
    summary: 'Change an environment',
    description: 'The slug does not change.',
    body: { schema: wire.EnvironmentPatch },
    answers: { 200: wire.Environment },
    refusals: ['NOT_FOUND'],
    named: by('environment'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'delete',
    path: `${environments}/{id}`,
    action: 'environment.delete',
    revises: true,
    tag: 'Environments',
    summary: 'Delete an environment',
    description:
      'The environment must not contain secrets or be the default environment. Approval policies that name it hold the request.',
    answers: { 204: null },
    refusals: ['NOT_FOUND', 'ENVIRONMENT_NOT_EMPTY', 'ENVIRONMENT_IS_DEFAULT'],
    named: by('environment'),
  }),
];
