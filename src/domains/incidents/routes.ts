// HTTP routes of incident response: panic, containment, incidents, and the graph of a credential.

import type { z } from '@hono/zod-openapi';
import { readRefreshToken } from '../../auth/authentication/proofs';
import { readToken, type TokenRef } from '../../auth/authentication/token';
import { unwrap } from '../../gate/request/outcome';
import type { Context, RenderContext } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, type Input, route } from '../../http/route';
import { isJwt, readSession } from '../../keys/jwt';
import { signingKeysOf } from '../../keys/signing';
import { issue } from '../credentials/routes';
import type { Contained, ContainInput } from './gate/contain';
import type { ShownIncident } from './gate/incidents';
import { Graph } from './graph-wire';
import { connectionsIn, incidentReport, nameIn, namesIn, partsOf, reportOut } from './rendering';
import { reportOf } from './report';
import { foreseen, rotateAll } from './rotation';
import * as wire from './wire';

const tag = 'Incident response';
const incidents = '/orgs/{org_id}/incidents';

/** How often one request asks the gate to continue revoking. */
const MOST_ROUNDS = 40;

/** Revokes what one commit could not. Returns how many are left. */
async function revokeRest(
  context: RenderContext,
  credential: string,
  body: ContainBody,
  remaining: number,
): Promise<number> {
  let left = remaining;
  for (let round = 0; left && round < MOST_ROUNDS; round++) {
    const outcome = await context.also({
      action: 'credential.contain',
      named: { credential },
      input: inputOf(body, null),
    });
    left = (unwrap(outcome).data as Contained).remaining;
  }
  return left;
}

type ContainBody = z.output<typeof wire.ContainIn>;

/** Revokes the rest, creates the exposure report and rotates secrets if requested. */
async function renderReport(
  done: Contained,
  { params, body }: Input<unknown, ContainBody>,
  context: RenderContext,
) {
  // A response that a release before 0.5.0 stored has only `remaining`.
  const { id = params.id as string, remaining, incident = null, spared = [] } = done;
  const parts = partsOf(context, 'credential.contain', id);
  const { since = null, dry_run = false } = body;
  const left = await revokeRest(context, id, body, remaining);
  const report = await reportOf(context, parts, { id, since, spared, dry_run, waits: !dry_run });
  const rotation = !body.rotate
    ? null
    : dry_run
      ? await foreseen(parts, report)
      : await rotateAll(context, parts, id, report);
  const names = await namesIn(report, parts);
  const made = await connectionsIn(report, parts);
  const json: z.infer<typeof wire.Contained> = {
    ...(dry_run && { dry_run: true as const }),
    incident_id: incident,
    ...reportOut(report, names, made),
    ...(rotation && {
      rotated: [...rotation.rotated].map(([secret, version]) => ({ ...nameIn(names, secret), version })),
      rotation_due: rotation.due.map((secret) => nameIn(names, secret)),
    }),
    ...(left && { remaining: left }),
  };
  return { json };
}

/**
 * What a text refers to, if it is a token of this organisation: of a credential, or the JWT or refresh token
 * of a member's session.
 */
async function tokenIn(
  text: string,
  { deployment, env, base, org }: Context,
): Promise<Pick<TokenRef, 'kind' | 'hash'> | null> {
  const token = readToken(text);
  const refresh = readRefreshToken(deployment.proof, text);
  const read = token?.isGenuine(deployment.tokenTag)
    ? token
    : isJwt(text)
      ? (await readSession(signingKeysOf(env.DB, deployment), base, text))?.ref
      : refresh && { kind: 'browser' as const, org: refresh.org, hash: refresh.session };
  // Another organisation's token looks like any other text.
  return read?.org === org ? { kind: read.kind, hash: read.hash } : null;
}

const inputOf = ({ rotate, dry_run, since }: ContainBody, token: ContainInput['token']): ContainInput => ({
  rotate: rotate !== undefined,
  dry_run: dry_run === true,
  since: since ?? null,
  token,
});

export const incidentRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/panic',
    action: 'org.panic',
    tag,
    summary: 'Revoke all credentials (panic)',
    description:
      "Revokes session tokens, agent credentials, provider tokens, break-glass tokens and browser sessions as soon as this request returns. API keys and trusts stay valid unless you send api_keys: true. Then they are revoked too, including the calling key, and the response contains a new API key, shown only once. In a browser session, only the JWT of this request stays valid: its refresh cookies and other JWTs are refused, and POST /auth/confirm issues new ones. With sso, nobody signs in by single sign-on until an owner changes the connection. The response lists what was created in the last seven days and may be an attacker's.",
    body: { schema: wire.PanicIn },
    answers: { 200: wire.Panicked },
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context, 'api_key.token');
      const { reason, api_keys, sso = false } = body;
      return api_keys ? { input: { reason, sso, token }, once } : { input: { reason, sso, token: null } };
    },
  }),
  route({
    method: 'post',
    path: '/orgs/{org_id}/credentials/{id}/contain',
    action: 'credential.contain',
    tag,
    summary: 'Contain a credential',
    description:
      'Revokes a credential of any kind and all credentials revoked together with it, and reports what they read, wrote and created. Safe to repeat: the report stays the same. With rotate, the caller needs secrets:rotate for everything the credential could reach. With dry_run, nothing changes: the response is what the containment would answer now.',
    body: { schema: wire.ContainIn, optional: true },
    answers: { 200: wire.Contained },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('credential'),
    prepare: ({ body }) => ({ input: inputOf(body, null) }),
    resumes: true,
    unkept: ({ dry_run }) => dry_run === true,
    render: renderReport,
  }),
  route({
    method: 'post',
    path: '/orgs/{org_id}/credentials/contain',
    action: 'credential.contain',
    tag,
    summary: 'Contain a credential by its token',
    description:
      'Does the same for whoever has the text of a token: of a credential of this organisation, or of a session of a member, alive or not. Any other text is 404. The token is neither stored nor logged.',
    body: { schema: wire.ContainTokenIn },
    answers: { 200: wire.Contained },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    prepare: async ({ body: { token, ...body } }, context) => ({
      input: inputOf(body, await tokenIn(token, context)),
    }),
    resumes: true,
    unkept: ({ dry_run }) => dry_run === true,
    render: renderReport,
  }),
  listRoute({
    path: incidents,
    action: 'incident.list',
    tag,
    summary: 'List incidents',
    description: 'Newest first. They are kept as long as the audit log.',
    query: wire.IncidentQuery,
    answers: { 200: wire.IncidentPage },
    filters: ({ status, credential }) => ({ status: status ?? null, credential: credential ?? null }),
  }),
  route({
    method: 'get',
    path: `${incidents}/{id}`,
    action: 'incident.read',
    tag,
    summary: 'Show an incident',
    description:
      'Of a containment: its report, written anew from the audit log, and which of the secrets have a new value. Of a panic: what is left to look through. Secrets that the caller may not list have no name.',
    answers: { 200: wire.IncidentReport },
    refusals: ['NOT_FOUND'],
    named: by('incident'),
    render: async (incident: ShownIncident, _input, context) => ({
      json: await incidentReport(incident, context),
    }),
  }),
  route({
    method: 'patch',
    path: `${incidents}/{id}`,
    action: 'incident.update',
    revises: true,
    tag,
    summary: 'Change an incident',
    description: 'Closes an incident or opens it again, and keeps a note.',
    body: { schema: wire.IncidentPatch },
    answers: { 200: wire.Incident },
    refusals: ['NOT_FOUND'],
    named: by('incident'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'get',
    path: '/orgs/{org_id}/credentials/{id}/graph',
    action: 'credential.graph',
    tag,
    summary: 'Show the graph of a credential',
    description:
      'Returns its parent, all live credentials below it, which of them a containment by this caller would end, and the environments and secrets it can reach.',
    answers: { 200: Graph },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
];
