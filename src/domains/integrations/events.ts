// The message about one event, or about several of one kind. Pure. Invariant: a message contains only data
// from the events, which never contain a secret's value.
import type { Message } from '../../adapters/notify/adapter';
import type { Sent } from '../../delivery/gate/attempts';
import { iso } from '../../http/wire';
import { type EventKind, severityOf, titleOf } from './kinds';

/** Subjects that a message names. */
const MOST_NAMED = 10;

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** The subject of an event: the first of these fields that it has. */
const SUBJECTS = [
  'secret_id',
  'device_id',
  'approval_id',
  'member_id',
  'webhook_id',
  'log_stream_id',
  'upstream_id',
  'credential_id',
  'grant_id',
  'policy_id',
  'sync_id',
  'resource_id',
];

export const subjectOf = ({ id, data }: Sent): string =>
  SUBJECTS.map((field) => text(data[field])).find((found) => found !== null) ?? id;

/** What an event is about, in words. */
function wordsOf(event: Sent): string {
  const { name, environment, version, host, operation, status } = event.data;
  const said = text(name) ?? text(host) ?? text(operation) ?? subjectOf(event);
  return [
    said,
    ...(text(environment) ? [`in ${environment}`] : []),
    ...(typeof version === 'number' && event.type !== 'SECRET_DELETED' ? [`(version ${version})`] : []),
    ...(text(status) ? [`(${status})`] : []),
  ].join(' ');
}

/** Who did it, if the event says so. */
function actorOf({ type, data }: Sent): string | null {
  const actor = data.actor as { name?: unknown; id?: unknown } | string | undefined;
  const named =
    typeof actor === 'object' && actor !== null ? (text(actor.name) ?? text(actor.id)) : text(actor);
  return named ?? text(data.by) ?? (type === 'BREAK_GLASS_USED' ? text(data.credential_id) : null);
}

/** The console's page about a subject: of one, by its id, and of all. */
const PAGES: Record<string, { one: string; all: string }> = {
  incident_id: { one: 'incident/report/', all: 'incident' },
  approval_id: { one: 'approvals/', all: 'approvals' },
  secret_id: { one: 'secrets/', all: 'secrets' },
  device_id: { one: 'devices?id=', all: 'devices' },
  member_id: { one: 'members/', all: 'members' },
  webhook_id: { one: 'webhooks/', all: 'webhooks' },
  log_stream_id: { one: 'log-streams/', all: 'log-streams' },
  credential_id: { one: 'credentials/', all: 'credentials' },
  policy_id: { one: 'policies/', all: 'policies' },
  sync_id: { one: 'syncs/', all: 'syncs' },
};

/** The page of the console to open: of the first subject that the event names, or the audit log. */
function linkOf({ data }: Sent, many: boolean, base: string | null): string | null {
  if (base === null) return null;
  const field = Object.keys(PAGES).find((name) => text(data[name]));
  const page = field && PAGES[field];
  if (!page) return `${base}/console/audit`;
  return `${base}/console/${many ? page.all : `${page.one}${encodeURIComponent(String(data[field]))}`}`;
}

/** A message about events of one kind, oldest first. */
export function messageAbout(events: Sent[], org: string, base: string | null): Message {
  const first = events[0] as Sent;
  const last = events.at(-1) as Sent;
  const many = events.length > 1;
  const kind = first.type as EventKind;
  const subjects = new Set(events.map(subjectOf));
  const named = events.slice(0, MOST_NAMED).map(wordsOf);
  const actors = [...new Set(events.map(actorOf).filter((actor) => actor !== null))].slice(0, MOST_NAMED);
  const rest = events.length - named.length;
  const lines = [
    ...(many ? [`${events.length} times:`, ...named, ...(rest > 0 ? [`and ${rest} more`] : [])] : named),
    ...(actors.length ? [`By: ${actors.join(', ')}`] : []),
    many && first.at !== last.at ? `Time: ${iso(first.at)} to ${iso(last.at)}` : `Time: ${iso(first.at)}`,
  ];
  const { id, type, at, data } = first;
  return {
    severity: severityOf(kind),
    title: titleOf(kind),
    text: lines.join('\n'),
    event: {
      id,
      type,
      timestamp: iso(at),
      org_id: org,
      data: many ? { ...data, count: events.length } : data,
    },
    link: linkOf(first, many, base),
    key: subjects.size === 1 ? `${type}:${subjectOf(first)}` : `${type}:${id}`,
    time: last.at,
  };
}
