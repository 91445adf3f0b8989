// What a leaked credential did, as tables: shown by svc contain, before and after, and by svc incident.
import type { components } from '@secrets-vault/client';
import type { Context } from './context.ts';
import { counted } from './text.ts';

type Contained = components['schemas']['Contained'];
type Report = NonNullable<components['schemas']['IncidentReport']['report']>;
type Child = components['schemas']['CredentialGraph']['children'][number];

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
  written,
  shared,
  connections,
  syncs,
  ...report
}: Report): Row[] => [
  ...credentials.map((one) => row('created', named(one), one.kind, one.created_at)),
  ...read.map((one) => row('read', secret(one), `version ${one.version}`, one.time)),
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
  ...[...report.log_streams, ...report.domains, ...report.sso_connections].map((one) =>
    row(SET_UP[one.action], named(one), one.time),
  ),
];

/** What a containment did, or with a dry run what it would do to each of the live credentials. */
export function rowsOf(data: Contained, children: readonly Child[] | null): Row[] {
  const isDry = data.dry_run === true;
  const depth = new Map(children?.map((child) => [child.id, child.depth]));
  const below = (id: string) => (depth.has(id) ? `depth ${depth.get(id)}` : undefined);
  return [
    ...data.revoked.map((one) => row(isDry ? 'would end' : 'revoked', named(one), one.kind, below(one.id))),
    ...(children ?? [])
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
