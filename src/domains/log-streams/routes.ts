// HTTP routes of log streams. The Worker validates and encrypts configs before it calls the gate, and
// decrypts them only to send.
import { newId } from '../../db/ids';
import type { LogStreamKind, LogStreamRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import { type Context, keysOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, type DeclaredRoute, route } from '../../http/route';
import { newSigningSecret } from '../webhooks/encryption';
import { checked } from './config';
import { decrypted, encrypted } from './encryption';
import type { Made, UpdateInput, Verdict } from './gate/operations';
import { send } from './send';
import { testLine } from './targets';
import * as wire from './wire';

const tag = 'Log streams';
const streams = '/orgs/{org_id}/log-streams';
const one = `${streams}/{id}`;

/** A valid config, encrypted for its stream, with a new secret for kind https; or the problems. */
function sealed(context: Context, id: string, kind: LogStreamKind, given: unknown) {
  const found = checked(kind, given, context.settings);
  if ('details' in found) return found;
  const secret = kind === 'https' ? newSigningSecret() : null;
  const columns = encrypted(keysOf(context), context.org, id, kind, { config: found.config, secret });
  return { columns, ...(secret !== null && { once: { secret } }) };
}

/** What of a change the gate needs. The config stays in the Worker until it is encrypted. */
const patchInput = ({
  config,
  ...rest
}: Omit<UpdateInput, 'configures' | 'made'> & { config?: unknown }): UpdateInput => ({
  ...rest,
  configures: config !== undefined,
});

/** Sends one message that is no entry, to see whether the target takes it. */
async function tested(context: Context, row: LogStreamRow): Promise<Verdict> {
  const whole = decrypted(keysOf(context), context.org, row);
  const lines = [testLine(context.org, row.id, Date.now())];
  const sent = await send(context.settings, whole, {
    org: context.org,
    id: row.id,
    kind: row.kind,
    lines,
    isTest: true,
  });
  return { status: sent.status, taken: sent.taken };
}

export const logStreamRoutes: DeclaredRoute[] = [
  route({
    method: 'post',
    path: streams,
    action: 'log_stream.create',
    tag,
    summary: 'Create a log stream',
    description:
      'Sends the audit log to Splunk, Datadog, an S3-compatible bucket, an OTLP or an HTTPS endpoint as it grows, in order, each entry at least once. Needs `audit:read` and `webhooks:write`, without limits to environments or names. Credentials are encrypted and never returned.',
    body: { schema: wire.LogStreamIn },
    answers: { 201: wire.LogStreamMade },
    refusals: ['LIMIT_REACHED', 'CONFLICT'],
    prepare({ body }, context) {
      const { name, kind, config, format = 'svc', from = 'now', enabled = true } = body;
      const id = newId('log');
      const made = sealed(context, id, kind, config);
      if ('details' in made) throw new ApiError(refuse('VALIDATION_FAILED', { details: made.details }));
      const { columns, ...once } = made;
      return { input: { id, name, kind, ...columns, format, from, enabled }, ...once };
    },
  }),
  listRoute({
    path: streams,
    action: 'log_stream.list',
    tag,
    summary: 'List log streams',
    answers: { 200: wire.LogStreamPage },
  }),
  route({
    method: 'get',
    path: one,
    action: 'log_stream.read',
    tag,
    summary: 'Show a log stream',
    answers: { 200: wire.LogStream },
    refusals: ['NOT_FOUND'],
    named: by('log_stream'),
  }),
  route({
    method: 'patch',
    path: one,
    action: 'log_stream.update',
    revises: true,
    tag,
    summary: 'Change a log stream',
    description:
      'A config replaces the stored one whole, credentials included. Entries up to that of the change are first sent to the target before it, for up to a minute. Whoever sends a config, or enables a stream that had stopped, is its maker from then on.',
    body: { schema: wire.LogStreamPatch },
    answers: { 200: wire.LogStreamMade },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('log_stream'),
    prepare: ({ body }) => ({ input: patchInput(body) }),
    async more(row: LogStreamRow, { body }, context) {
      const made = sealed(context, row.id, row.kind, body.config);
      const { revision } = row;
      if ('details' in made)
        return { input: { ...patchInput(body), made: { revision, details: made.details } satisfies Made } };
      const { columns, ...once } = made;
      return { input: { ...patchInput(body), made: { revision, ...columns } satisfies Made }, ...once };
    },
  }),
  route({
    method: 'delete',
    path: one,
    action: 'log_stream.delete',
    revises: true,
    tag,
    summary: 'Delete a log stream',
    description: 'Entries up to that of the deletion are first sent to its target, for up to a minute.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('log_stream'),
  }),
  route({
    method: 'post',
    path: `${one}/seek`,
    action: 'log_stream.seek',
    tag,
    summary: 'Send entries again',
    description: 'From a sequence on, which is at most the position: no entry can be skipped.',
    body: { schema: wire.SeekIn },
    answers: { 200: wire.LogStream },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('log_stream'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'post',
    path: `${one}/test`,
    action: 'log_stream.test',
    tag,
    summary: 'Send a test message',
    description:
      'In one attempt, even where the stream is disabled. The message is no entry: it has `test: true`.',
    answers: { 200: wire.Tested },
    refusals: ['NOT_FOUND', 'TARGET_REJECTED', 'TARGET_UNREACHABLE'],
    named: by('log_stream'),
    unkept: true,
    more: async (row: LogStreamRow, _input, context) => ({ input: { verdict: await tested(context, row) } }),
  }),
];
