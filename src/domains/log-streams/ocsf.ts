// An audit entry in the Open Cybersecurity Schema Framework: API Activity (6003), or Authentication (3002)
// for sign-ins and the ends of sessions. https://schema.ocsf.io/1.3.0/classes/api_activity Invariant:
// `raw_data` is the entry as the audit log has it.
import type { Action } from '../../auth/actions';
import type { Entry } from '../../gate/audit/entry';
import { version } from '../../version';

const SCHEMA = '1.3.0';
const PRODUCT = { name: 'Secrets Vault Service', vendor_name: 'Secrets Vault Service', version };

const CREATE = 1;
const READ = 2;
const UPDATE = 3;
const DELETE = 4;
const OTHER = 99;

/** The words of verbs, by activity; what is not here is `Other`. */
const WORDS: [number, string[]][] = [
  [CREATE, ['add', 'create', 'enrol', 'import', 'issue']],
  [
    READ,
    [
      ...['access', 'compare', 'describe', 'export', 'graph', 'histogram', 'links', 'list', 'overview'],
      ...['read', 'readers', 'report', 'search', 'verify', 'versions', 'view', 'violations'],
    ],
  ],
  [
    UPDATE,
    [
      ...['assign', 'block', 'disable', 'promote', 'readmit', 'restore', 'resume', 'rollback', 'rotate'],
      ...['seek', 'suspend', 'unlink', 'update', 'write'],
    ],
  ],
  [DELETE, ['delete', 'remove', 'revoke']],
];

const activityOf = (action: string): number => {
  const verb = action.split('.').at(-1)?.split('_') ?? [];
  return WORDS.find(([, words]) => verb.some((word) => words.includes(word)))?.[0] ?? OTHER;
};

const LOGONS: readonly Action[] = [
  'auth.login',
  'auth.sso',
  'auth.enrol',
  'auth.refresh',
  'auth.confirm',
  'auth.device_token',
  'auth.exchange',
];
const LOGOFFS: readonly Action[] = ['auth.logout', 'auth.session_end', 'auth.sso_logout'];
const isIn = (list: readonly string[], action: string): boolean => list.includes(action);

const userOf = ({ id, name, kind }: Entry['actor']) => ({
  uid: id ?? 'unknown',
  ...(name !== null && { name }),
  // 1: a person; 3: the system; 99: another kind, which `type` names.
  type_id: kind === 'member' ? 1 : kind === 'system' ? 3 : 99,
  type: kind,
});

/** An event of the schema. `raw` is the entry as text. */
export function ocsfOf(org: string, entry: Entry, raw: string): object {
  const isSuccess = entry.outcome === 'success';
  const isLogon = isIn(LOGONS, entry.action);
  const user = userOf(entry.actor);
  const common = {
    time: Date.parse(entry.time),
    severity_id: entry.emergency ? 4 : isSuccess ? 1 : 2,
    status_id: isSuccess ? 1 : 2,
    status_code: String(entry.status),
    status_detail: entry.outcome,
    message: entry.action,
    metadata: {
      version: SCHEMA,
      product: PRODUCT,
      uid: entry.id,
      sequence: entry.sequence,
      tenant_uid: org,
      log_name: 'audit',
    },
    src_endpoint: { ...(entry.ip && { ip: entry.ip }), ...(!entry.ip && { name: 'system' }) },
    ...(entry.user_agent !== null && {
      http_request: { user_agent: entry.user_agent, uid: entry.request_id },
    }),
    raw_data: raw,
  };
  if (isLogon || isIn(LOGOFFS, entry.action)) {
    const activity_id = isLogon ? 1 : 2;
    const service = { name: PRODUCT.name };
    return { ...typed(3, 3002, activity_id), ...common, user, actor: { user }, service, is_remote: true };
  }
  return {
    ...typed(6, 6003, activityOf(entry.action)),
    ...common,
    actor: { user },
    api: { operation: entry.action, request: { uid: entry.request_id }, service: { name: PRODUCT.name } },
    ...(entry.resource !== null && {
      resources: [{ uid: entry.resource, ...(entry.resource_name != null && { name: entry.resource_name }) }],
    }),
  };
}

const typed = (category_uid: number, class_uid: number, activity_id: number) => ({
  category_uid,
  class_uid,
  activity_id,
  type_uid: class_uid * 100 + activity_id,
});
