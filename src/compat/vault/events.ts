// `sys/events/subscribe/…`: changes of secrets over a WebSocket, as Vault Secrets Operator takes them for
// instant updates. It is the event stream of the API (domains/events/stream.ts); only the messages are
// translated here. Invariant: a message names no secret that the stream would not show to its caller.
import { isPattern, matches } from '../../auth/globs';
import { forms } from '../../db/names';
import type { EventsPart } from '../../domains/events/gate/operations';
import { socketOf } from '../../domains/events/stream';
import type { EventType, StoredEvent } from '../../gate/outbox';
import type { RenderContext } from '../../http/context';
import { sentence } from './body';
import { becomes } from './route';

/** What changes a map, and the operations that it is to clients of Vault. */
const OPERATIONS: Partial<Record<EventType, string>> = {
  SECRET_CREATED: 'data-write',
  SECRET_UPDATED: 'data-write',
  SECRET_ROTATED: 'data-write',
  SECRET_RESTORED: 'undelete',
  SECRET_DELETED: 'data-delete',
  SECRET_REVOKED: 'data-delete',
};
const TYPES = Object.keys(OPERATIONS) as EventType[];

/** A pattern of event types, such as `kv*`: each `*` stands for any text. Throws what is wrong with it. */
function patternOf(pattern: string): string {
  // To Vault, `?` is no wildcard.
  // safety: event-pattern-bounded
  if (!isPattern(pattern) || pattern.includes('?'))
    throw sentence('an event type has at most 256 characters of a-z, A-Z, 0-9, _ . / -, and five *');
  return pattern;
}

interface Changed {
  name: string;
  environment: string;
  environment_id: string;
  version: number;
}

/** The paths that an event is about: the secret, and its folder on the mount of folders. */
function pathsOf({ name, environment }: Changed): { mount: string; path: string }[] {
  const folder = name.includes('/') ? `/${name.slice(0, name.lastIndexOf('/'))}` : '';
  return [
    { mount: environment, path: `${environment}/data/${name}` },
    { mount: `${environment}.folders`, path: `${environment}.folders/data${folder}` },
  ];
}

/** The messages for an event, in the shape of Vault's. */
function messagesOf({ type, id, at, data }: StoredEvent, namespace: string, base: string): object[] {
  const changed = data as unknown as Changed;
  const operation = OPERATIONS[type] as string;
  return pathsOf(changed).map(({ mount, path }, n) => ({
    id: n === 0 ? id : `${id}.folder`,
    source: base,
    specversion: '1.0',
    type: '*',
    datacontenttype: 'application/cloudevents',
    time: new Date(at).toISOString(),
    data: {
      event: {
        id: n === 0 ? id : `${id}.folder`,
        metadata: {
          path,
          data_path: path,
          operation,
          modified: 'true',
          current_version: String(changed.version),
        },
      },
      event_type: `kv-v2/${operation}`,
      plugin_info: {
        mount_class: 'secret',
        mount_accessor: `kv_${changed.environment_id}`,
        mount_path: `${mount}/`,
        plugin: 'kv',
        version: '2',
      },
    },
    namespace,
  }));
}

/** A subscription. The namespace in its messages is the one that the client named: it compares them. */
export const subscribe = becomes(
  {
    method: 'get',
    action: 'event.stream',
    streams: true,
    prepare: () => ({ input: { after: null, types: TYPES, further: false, wait: 0 } }),
    render(part: EventsPart, { params, is_websocket }, context: RenderContext) {
      if (!is_websocket) throw sentence('events are sent over a WebSocket');
      const pattern = patternOf(params.pattern as string);
      const namespace = forms.org(params.org_id ?? '') ? `${params.org_id}/` : '';
      const asked = new Set(TYPES.filter((type) => matches(pattern, `kv-v2/${OPERATIONS[type]}`)));
      return socketOf(context, part, TYPES, (event) =>
        asked.has(event.type) ? messagesOf(event, namespace, context.base) : [],
      );
    },
  },
  {
    takes: (_, query) => {
      if (query.has('filter')) throw sentence('filter is not supported');
      return {};
    },
  },
);
