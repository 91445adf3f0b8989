// HTTP routes of incident response: panic, containment and the graph of a credential.

import type { z } from '@hono/zod-openapi';
import { unwrap } from '../../gate/outcome';
import type { RenderContext } from '../../http/context';
import { type Input, route } from '../../http/route';
import { iso } from '../../http/wire';
import { issue } from '../credentials/routes';
import type { Contained } from './gate/contain';
import type { Parts } from './log';
import type { CredentialSummary, Part } from './parts';
import { namesOf, reportOf } from './report';
import { rotateAll } from './rotation';
import * as wire from './wire';

const tag = 'Incident response';
const byCredential = ({ params }: { params: Record<string, string> }) => ({ credential: params.id as string });

/** How often one request asks the gate to continue revoking. */
const MOST_ROUNDS = 40;

const partsOf = (context: RenderContext, credential: string): Parts =>
  (async (input: Part) => {
    const asked = { action: 'credential.contain', operation: 'credential.contain_part', named: { credential }, input } as const;
    return unwrap(await context.also(asked)).data;
  }) as Parts;

/** Revokes what one commit could not. Returns how many are left. */
async function revokeRest(context: RenderContext, credential: string, rotate: boolean, remaining: number): Promise<number> {
  let left = remaining;
  for (let round = 0; left && round < MOST_ROUNDS; round++) {
    const outcome = await context.also({ action: 'credential.contain', named: { credential }, input: { rotate } });
    left = (unwrap(outcome).data as Contained).remaining;
  }
  return left;
}

/** Revokes the rest, creates the exposure report and rotates secrets if requested. */
async function renderReport(
  { remaining }: Contained,
  { params, body }: Input<unknown, z.output<typeof wire.ContainIn>>,
  context: RenderContext,
) {
  const id = params.id as string;
  const parts = partsOf(context, id);
  const left = await revokeRest(context, id, body.rotate !== undefined, remaining);
  const report = await reportOf(context, parts, id, body.since ?? null);
  const rotation = body.rotate ? await rotateAll(context, parts, id, report) : null;
  const names = await namesOf(parts, [...new Set([...report.read, ...report.written, ...report.shared].map(({ secret }) => secret))]);
  const nameOf = (secret_id: string) => ({ secret_id, name: names.get(secret_id)?.name ?? null });
  const access = ({ secret, version, time }: { secret: string; version: number; time: number }) => ({
    ...nameOf(secret),
    version,
    time: iso(time),
  });
  const shown = ({ kind, id, name }: CredentialSummary) => ({ kind, id, name });
  const json: z.infer<typeof wire.Contained> = {
    revoked: report.revoked.map(shown),
    read: report.read.map(access),
    written: report.written.map((one) => ({ ...access(one), action: one.action })),
    shared: report.shared.map((one) => ({ ...nameOf(one.secret), version: one.version, time: iso(one.time) })),
    credentials: report.credentials.map((one) => ({ ...shown(one), created_at: iso(one.created_at) })),
    ...(rotation && {
      rotated: [...rotation.rotated].map(([secret, version]) => ({ ...nameOf(secret), version })),
      rotation_due: rotation.due.map(nameOf),
    }),
    ...(left && { remaining: left }),
    ...(report.omitted && { omitted: report.omitted }),
    ...(report.gaps.length && { gaps: report.gaps }),
  };
  return { json };
}

export const incidentRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/panic',
    action: 'org.panic',
    tag,
    summary: 'Revoke all credentials (panic)',
    description:
      "Revokes session tokens, agent credentials, provider tokens, break-glass tokens and browser sessions as soon as this request returns. API keys and trusts stay valid unless you send api_keys: true. Then they are revoked too, including the calling key, and the response contains a new API key, shown only once. In a browser session, only the JWT of this request stays valid: its refresh cookies and other JWTs are refused, and POST /auth/confirm issues new ones. The response lists what was created in the last seven days and may be an attacker's.",
    body: { schema: wire.PanicIn },
    answers: { 200: wire.Panicked },
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context, 'api_key.token');
      return body.api_keys ? { input: { reason: body.reason, token }, once } : { input: { reason: body.reason, token: null } };
    },
  }),
  route({
    method: 'post',
    path: '/orgs/{org_id}/credentials/{id}/contain',
    action: 'credential.contain',
    tag,
    summary: 'Contain a credential',
    description:
      'Revokes a credential of any kind and all credentials revoked together with it, and reports what they read, wrote and created. Safe to repeat: the report stays the same. With rotate, the caller needs secrets:rotate for everything the credential could reach.',
    body: { schema: wire.ContainIn, optional: true },
    answers: { 200: wire.Contained },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: byCredential,
    prepare: ({ body }) => ({ input: { rotate: body.rotate !== undefined } }),
    resumes: true,
    render: renderReport,
  }),
  route({
    method: 'get',
    path: '/orgs/{org_id}/credentials/{id}/graph',
    action: 'credential.graph',
    tag,
    summary: 'Show the graph of a credential',
    description: 'Returns its parent, the credentials it created, and the environments and secrets it can reach.',
    answers: { 200: wire.Graph },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
];
