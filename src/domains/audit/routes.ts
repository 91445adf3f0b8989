// HTTP routes of the audit log.
import type { z } from '@hono/zod-openapi';
import { toCursor } from '../../db/page';
import type { Filter } from '../../gate/audit/filter';
import { pageOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { type Input, route } from '../../http/route';
import { checkpointsOn, keyOf, streamCheckpoints } from './checkpoints';
import { streamExport } from './export';
import type { HistogramPart } from './gate/histogram';
import type { AuditPart, VerifyPart } from './gate/operations';
import type { ExportPart } from './gate/retention';
import { histogramOf } from './histogram';
import { readOn, streamOf } from './reading';
import { verifyOn } from './verify';
import * as wire from './wire';

const path = '/orgs/{org_id}/audit-log';
const verifyPath = `${path}/verify`;
const exportPath = `${path}/export`;
const checkpointsPath = `${path}/checkpoints`;

type Query = z.output<typeof wire.AuditQuery>;
type HistogramQuery = z.output<typeof wire.HistogramQuery>;
type Filters = Omit<HistogramQuery, 'buckets'>;

const filterOf = ({ actor, action, resource, outcome, from, to }: Filters): Filter => ({
  ...(actor !== undefined && { actor }),
  ...(action !== undefined && (action.includes(',') ? { actions: action.split(',') } : { action })),
  ...(resource !== undefined && { resource }),
  ...(outcome !== undefined && { outcome }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
});
const before = ({ cursor }: { cursor?: string }) => (cursor === undefined ? null : Number(cursor));
const limitOf = (query: Query) => (query.format === 'ndjson' ? 1000 : (query.limit ?? 50));

/** Parses the cursor of a check: `from:hash`. */
const positionOf = (cursor: string | undefined) => {
  const [from, hash] = (cursor ?? '1').split(':');
  return { from: Number(from), hash: hash || null };
};

export const auditRoutes = [
  route({
    method: 'get',
    path,
    action: 'audit.read',
    tag: 'Audit log',
    summary: 'Read the audit log',
    description:
      'Returns entries, newest first. Every request with a credential of the organisation has an entry. Entries form a hash chain and never change. A credential limited to environments or names sees its own entries and those about resources it can reach.',
    query: wire.AuditQuery,
    answers: { 200: wire.AuditPage },
    alsoAs: ['application/x-ndjson'],
    refusals: ['INVALID_CURSOR'],
    prepare: ({ query }) => ({
      input: { filter: filterOf(query), before: before(query), limit: limitOf(query) + 1, further: false },
    }),
    async render(part: AuditPart, { query }: Input<Query>, context) {
      const slice = await readOn(context, part, filterOf(query), before(query), limitOf(query));
      if (query.format === 'ndjson') return streamOf(context, slice, filterOf(query));
      return {
        json: pageOf(context, path, {
          items: slice.items,
          next: slice.next === null ? null : String(slice.next),
        }),
      };
    },
  }),
  route({
    method: 'get',
    path: `${path}/histogram`,
    action: 'audit.histogram',
    tag: 'Audit log',
    summary: 'Count the entries of the audit log by time',
    description:
      'Counts the requests of the entries that the list would show with the same filters, in equal parts of the time from from, seven days ago by default, until before to, now by default.',
    query: wire.HistogramQuery,
    answers: { 200: wire.Histogram },
    prepare: ({ query }) => ({ input: { filter: filterOf(query), buckets: query.buckets ?? 24 } }),
    render: async (part: HistogramPart, _input, context) => ({ json: await histogramOf(context, part) }),
  }),
  route({
    method: 'get',
    path: verifyPath,
    action: 'audit.verify',
    tag: 'Audit log',
    summary: 'Verify the audit log',
    description:
      'Recalculates the hash chain part by part. Pass next as cursor until it is null. The response names the first entry that does not match.',
    query: wire.VerifyQuery,
    answers: { 200: wire.Verification },
    refusals: ['INVALID_CURSOR'],
    prepare: ({ query }) => ({ input: { from: positionOf(query.cursor).from } }),
    async render(part: VerifyPart, { query }: Input<z.output<typeof wire.VerifyQuery>>, context) {
      const { next, ...verdict } = await verifyOn(context, part, positionOf(query.cursor));
      return {
        json: {
          ...verdict,
          next:
            next &&
            toCursor(context.deployment.cursor, context.org, verifyPath, `${next.from}:${next.hash ?? ''}`),
        },
      };
    },
  }),
  route({
    method: 'get',
    path: checkpointsPath,
    action: 'audit.checkpoints',
    tag: 'Audit log',
    summary: 'List signed checkpoints of the audit log',
    description:
      'Returns checkpoints, newest first. A checkpoint is a signature over the sequence and the hash of an entry. Checkpoints are signed when a segment closes, and every ten minutes while there are new entries. Keep checkpoints outside the service to detect if the log is later changed or truncated.',
    query: wire.CheckpointQuery,
    answers: { 200: wire.CheckpointPage },
    alsoAs: ['application/x-ndjson'],
    refusals: ['INVALID_CURSOR'],
    async render(_: null, { query }: Input<z.output<typeof wire.CheckpointQuery>>, context) {
      if (query.format === 'ndjson') return streamCheckpoints(context, before(query));
      const { items, next } = await checkpointsOn(context, before(query), query.limit ?? 50);
      return { json: pageOf(context, checkpointsPath, { items, next: next === null ? null : String(next) }) };
    },
  }),
  route({
    method: 'get',
    path: `${path}/key`,
    action: 'audit.key',
    tag: 'Audit log',
    summary: 'Show the public key that checkpoints are signed with',
    description:
      'The key is derived from the key of the organisation and does not change. Keep a copy of it outside the service.',
    answers: { 200: wire.CheckpointKey },
    render: async (_: null, _input, context) => ({ json: await keyOf(context) }),
  }),
  route({
    method: 'get',
    path: exportPath,
    action: 'audit.export',
    tag: 'Audit log',
    summary: 'Export the audit log entries that are past retention',
    description:
      'Streams the entries, oldest first, one per line. The last line is `{ "checkpoint": { … } }`: the signed checkpoint of the last entry. An export without this line is incomplete. The response is empty if no entries are past retention.',
    answers: { 200: wire.ExportLine },
    alsoAs: ['application/x-ndjson'],
    prepare: () => ({ input: { further: false } }),
    render: (part: ExportPart, _input, context) => streamExport(context, part),
  }),
  route({
    method: 'post',
    path: `${exportPath}/confirm`,
    action: 'audit.export_confirm',
    tag: 'Audit log',
    summary: 'Confirm an export so that its entries can be deleted',
    description:
      'Required if the organisation sets audit_retention_days: entries past retention are then deleted only after their export is confirmed. First check the export with `npm run audit:verify` and store it. Safe to repeat.',
    body: { schema: wire.ExportConfirmation },
    answers: { 200: wire.ExportConfirmed },
    refusals: ['CONFLICT'],
    prepare: ({ body }) => ({ input: body }),
  }),
  listRoute({
    path: '/orgs/{org_id}/secrets/{id}/readers',
    action: 'audit.readers',
    tag: 'Audit log',
    summary: 'List the readers of a secret',
    description:
      'Returns the credentials and members that have read the secret, most recent first. Use it to see who is affected before you rotate the secret. The session tokens of an API key count as one reader. A 304 response counts as a read. A bulk read counts if the name starts with the prefix of the request.',
    answers: { 200: wire.ReaderPage },
    refusals: ['NOT_FOUND'],
    named: ({ params }) => ({ secret: params.id as string }),
  }),
  route({
    method: 'post',
    path: `${path}/archive`,
    action: 'audit.archive',
    tag: 'Audit log',
    summary: 'Move the newest audit log entries to the database',
    description:
      '`npm run backup` calls it so that the backup contains every entry written so far. Safe to repeat.',
    answers: { 200: wire.Archived },
  }),
];
