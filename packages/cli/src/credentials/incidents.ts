// What a leaked credential did, as tables: shown by svc contain, before and after, and by svc incident.
import type { components } from '@secrets-vault/client';
import type { Context } from '../context.ts';
import { counted } from '../text.ts';

type Contained = components['schemas']['Contained'];
type Report = NonNullable<components['schemas']['IncidentReport']['report']>;
type Graph = components['schemas']['CredentialGraph'];

/** A row: what happened, to what, and which. */
export type Row = [what: string, name: string | null, which: string];

const row = (what: string, name: string | null, ...more: (string | number | undefined)[]): Row => [
  what,
  name,
  more.filter((part) => part !== undefined).join(' '),
];

const named = ({ name, id }: { name: string | null; id: string }) => name ?? id;
const secret = ({ name, secret_id }: { name: string | null; secret_id: string }) => name ?? secret_id;

const SET_UP = {
  'upstream.create': 'created upstream',
  'upstream.update': 'changed upstream',
  'log_stream.create': 'created log stream',
  'log_stream.update': 'changed log stream',
  'domain.create': 'added domain',
  'domain.verify': 'verified domain',
  'sso_connection.create': 'connected identity provider',
  'sso_connection.update': 'changed identity provider',
} as const;

/** What the credential and everything below it did. */
export const deeds = ({
  credentials,
  read,
  used,
  written,
  shared,
  connections,
  syncs,
  ...report
}: Report): Row[] => [
  ...credentials.map((one) => row('created', named(one), one.kind, one.created_at)),
  ...read.map((one) => row('read', secret(one), `version ${one.version}`, one.time)),
  ...used.map((one) => row('used through upstream', secret(one), `version ${one.version}`, one.time)),
  ...written.map((one) => row('wrote', secret(one), `version ${one.version}`, one.time)),
  ...shared.map((one) => row('shared', secret(one), one.time)),
  ...connections.map((one) =>
    row(
      one.action === 'integration.create' ? 'connected' : 'changed connection',
      named(one),
      one.platform ?? undefined,
      one.time,
    ),
  ),
  ...syncs.map((one) =>
    row(
      'synced',
      one.id,
      one.platform ?? undefined,
      one.environment ?? undefined,
      one.status ?? undefined,
      one.time,
    ),
  ),
  ...[...report.upstreams, ...report.log_streams, ...report.domains, ...report.sso_connections].map((one) =>
    row(SET_UP[one.action], named(one), one.time),
  ),
];

/**
 * Whether a dry run would end a credential, and not find it ended. Without a whole graph, all count as alive.
 */
const endsNow = (graph: Graph | null) => {
  const live = new Set(graph?.children.map(({ id }) => id));
  if (graph?.reach.alive) live.add(graph.id);
  return ({ id }: { id: string }) => graph === null || graph.omitted !== undefined || live.has(id);
};

/** How many credentials a dry run would end. */
export const endingIn = (data: Contained, graph: Graph | null): number =>
  data.revoked.filter(endsNow(graph)).length;

/** What a containment did, or with a dry run what it would do to each of the live credentials. */
export function rowsOf(data: Contained, graph: Graph | null): Row[] {
  const isLive = endsNow(graph);
  const depth = new Map(graph?.children.map((child) => [child.id, child.depth]));
  const below = (id: string) => (depth.has(id) ? `depth ${depth.get(id)}` : undefined);
  const isDry = data.dry_run === true;
  const fate = (one: { id: string }) => (!isDry ? 'revoked' : isLive(one) ? 'would end' : 'has ended');
  return [
    ...data.revoked.map((one) => row(fate(one), named(one), one.kind, below(one.id))),
    ...(graph?.children ?? [])
      .filter(({ ended_by_contain }) => !ended_by_contain)
      .map((one) => row('would stay', named(one), one.kind, below(one.id))),
    ...deeds(data),
    ...(data.rotated ?? []).map((one) =>
      row(isDry ? 'would rotate' : 'rotated', secret(one), `version ${one.version}`),
    ),
    ...(data.rotation_due ?? []).map((one) => row('rotate at its issuer', secret(one))),
  ];
}

/** What a report leaves out. */
export function warn({ out }: Context, { omitted, gaps }: Pick<Report, 'omitted' | 'gaps'>): void {
  if (omitted)
    out.warn(`At least ${counted(omitted, 'more credential is', 'more credentials are')} not listed.`);
  if (gaps?.length) out.warn('Parts of the audit log are missing, so this report is incomplete.');
}
