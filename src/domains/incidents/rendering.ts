// Reports in responses: what a containment answers, and what its incident shows afterwards. Invariant: both
// are written by the same functions, from the audit log, so an incident still shows what its containment
// answered.
import type { z } from '@hono/zod-openapi';
import type { Action } from '../../auth/actions';
import type { Entry } from '../../gate/audit/entry';
import { unwrap } from '../../gate/request/outcome';
import type { RenderContext } from '../../http/context';
import { iso, isoOrNull } from '../../http/wire';
import { isDone, type MadeResource } from './activity';
import type { ShownIncident } from './gate/incidents';
import { type Parts, walk } from './log';
import type { ConnectionsPart, CredentialSummary, NamedSecret, Part, SetUp, SetUpPart } from './payloads';
import { containedAt, type ExposureReport, namesOf, type Replaced, replacedSince, reportOf } from './report';
import { seenBy } from './rotation';
import type * as wire from './wire';
import { incidentOut } from './wire';

type Names = ReadonlyMap<string, NamedSecret>;
interface Known {
  connections: Map<string, ConnectionsPart['connections'][number]>;
  syncs: Map<string, ConnectionsPart['syncs'][number]>;
  /** Names of upstreams, and of what was set up. */
  setUp: Map<string, string>;
}
type Timeline = z.infer<typeof wire.IncidentReport>['timeline'];

/** The most steps of a timeline. */
const MOST_STEPS = 1000;
/** Ids in one question to the gate. */
const AT_ONCE = 1000;

/** Asks the gate for parts of a report about a credential, as this action. */
export const partsOf = (context: RenderContext, action: Action, credential: string): Parts =>
  (async (input: Part) => {
    const asked = { action, operation: 'credential.contain_part', named: { credential }, input } as const;
    return unwrap(await context.also(asked)).data;
  }) as Parts;

/** The names of all secrets in a report. */
export const namesIn = (
  { read, used, written, shared }: ExposureReport,
  parts: Parts,
): Promise<Map<string, NamedSecret>> =>
  namesOf(parts, [...new Set([...read, ...used, ...written, ...shared].map(({ secret }) => secret))]);

/** What is known about all connections and syncs in a report. */
export async function connectionsIn(
  { connections, syncs, setUp, upstreams }: ExposureReport,
  parts: Parts,
): Promise<Known> {
  const known: Known = { connections: new Map(), syncs: new Map(), setUp: new Map() };
  const kinds = Object.entries({ ...setUp, upstreams }) as [SetUp | 'upstreams', { id: string }[]][];
  for (const [kind, made] of kinds)
    for (let at = 0; at < made.length; at += AT_ONCE) {
      const ids = made.slice(at, at + AT_ONCE).map(({ id }) => id);
      const part = await parts<SetUpPart>({ part: 'set_up', kind, ids });
      for (const { id, name } of part) known.setUp.set(id, name);
    }
  const ids = { connections: connections.map(({ id }) => id), syncs: syncs.map(({ id }) => id) };
  for (let at = 0; at < Math.max(connections.length, syncs.length); at += AT_ONCE) {
    const some = ids.connections.slice(at, at + AT_ONCE);
    const others = ids.syncs.slice(at, at + AT_ONCE);
    const part = await parts<ConnectionsPart>({ part: 'connections', connections: some, syncs: others });
    for (const one of part.connections) known.connections.set(one.id, one);
    for (const one of part.syncs) known.syncs.set(one.id, one);
  }
  return known;
}

export const nameIn = (names: Names, secret_id: string) => ({
  secret_id,
  name: names.get(secret_id)?.name ?? null,
  environment: names.get(secret_id)?.environment ?? null,
});

const shown = ({ kind, id, name }: CredentialSummary) => ({ kind, id, name });

const madeOut = ({ id, action, time }: MadeResource, { setUp }: Known) => ({
  id,
  name: setUp.get(id) ?? null,
  action,
  time: iso(time),
});

/** A report, with the names that the caller may list. */
export function reportOut(report: ExposureReport, names: Names, known: Known) {
  const access = ({ secret, version, time }: { secret: string; version: number; time: number }) => ({
    ...nameIn(names, secret),
    version,
    time: iso(time),
  });
  return {
    credential: shown(report.credential),
    revoked: report.revoked.map(shown),
    read: report.read.map(access),
    used: report.used.map(access),
    upstreams: report.upstreams.map(({ id, name, action, time }) => ({
      id,
      name: known.setUp.has(id) ? name : null,
      action,
      time: iso(time),
    })),
    written: report.written.map((one) => ({ ...access(one), action: one.action })),
    shared: report.shared.map(({ secret, version, time }) => ({
      ...nameIn(names, secret),
      version,
      time: iso(time),
    })),
    credentials: report.credentials.map((one) => ({ ...shown(one), created_at: iso(one.created_at) })),
    connections: report.connections.map(({ id, action, time }) => ({
      ...(known.connections.get(id) ?? { id, kind: null, platform: null, name: null }),
      action,
      time: iso(time),
    })),
    syncs: report.syncs.map(({ id, time }) => ({
      ...(known.syncs.get(id) ?? {
        id,
        platform: null,
        integration_id: null,
        environment: null,
        status: null,
      }),
      time: iso(time),
    })),
    log_streams: report.setUp.log_streams.map((one) => madeOut(one, known)),
    domains: report.setUp.domains.map((one) => madeOut(one, known)),
    sso_connections: report.setUp.sso_connections.map((one) => madeOut(one, known)),
    ...(report.omitted && { omitted: report.omitted }),
    ...(report.gaps.length && { gaps: report.gaps }),
  };
}

/** What was exposed, and which of it has a new value. */
function rotationOut(report: ExposureReport, names: Names, replaced: ReadonlyMap<string, Replaced>) {
  const secrets = [...seenBy(report)].flatMap(([secret, version]) => {
    const now = names.get(secret);
    const rotated_at = isoOrNull(replaced.get(secret)?.time ?? null);
    const status = rotated_at === null ? ('due' as const) : ('rotated' as const);
    return now
      ? [{ ...nameIn(names, secret), version, current_version: now.version, status, rotated_at }]
      : [];
  });
  secrets.sort((a, b) =>
    a.status === b.status ? ((a.name ?? '') < (b.name ?? '') ? -1 : 1) : a.status === 'due' ? -1 : 1,
  );
  return {
    total: secrets.length,
    rotated: secrets.filter(({ status }) => status === 'rotated').length,
    secrets,
  };
}

const ACTS = ['credential.contain', 'incident.update', 'org.panic', 'org.recover'];

/** What people did about an incident. */
async function stepsOf(context: RenderContext, parts: Parts, { row }: ShownIncident): Promise<Timeline> {
  const found: Timeline = [];
  const resources = new Set([row.id, row.credential?.id ?? context.org]);
  const isStep = (entry: Entry) =>
    entry.incident?.id === row.id && ACTS.includes(entry.action) && isDone(entry);
  // A panic that creates a key names the key.
  const wanted = { actions: ACTS, since: row.created_at, ...(row.kind === 'contain' && { resources }) };
  for await (const entries of walk(context, parts, wanted, []))
    for (const { time, action, actor, incident } of entries.filter(isStep)) {
      if (found.length === MOST_STEPS) return found;
      const { kind, id, name } = actor;
      found.push({ time, action, actor: { kind, id, name }, ...(incident && { status: incident.status }) });
    }
  return found;
}

/** An incident with its report. */
export async function incidentReport(shownIncident: ShownIncident, context: RenderContext) {
  const { row, recent } = shownIncident;
  const { credential } = row;
  // What a panic ended needs no part of a report but the log.
  const parts = partsOf(context, 'incident.read', credential?.id ?? '');
  const steps = await stepsOf(context, parts, shownIncident);
  const base = incidentOut(row);
  if (!credential) return { ...base, ...(recent && { recent }), timeline: steps };
  const report = await reportOf(context, parts, { id: credential.id, since: row.since, spared: row.spared });
  const names = await namesIn(report, parts);
  const made = await connectionsIn(report, parts);
  const replaced = await replacedSince(
    context,
    parts,
    await containedAt(context, parts, credential.id),
    seenBy(report),
  );
  const created = { time: iso(credential.created_at), action: 'credential.create' };
  const rotations = [...replaced]
    .filter(([secret]) => names.has(secret))
    .slice(0, MOST_STEPS)
    .map(([secret, { version, time }]) => ({
      time: iso(time),
      action: 'secret.rotate',
      ...nameIn(names, secret),
      version,
    }));
  const timeline = [created, ...steps, ...rotations]
    .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
    .slice(0, MOST_STEPS);
  return {
    ...base,
    report: reportOut(report, names, made),
    rotation: rotationOut(report, names, replaced),
    timeline,
  };
}
