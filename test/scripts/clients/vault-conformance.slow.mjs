// The same calls to the running service and to a real OpenBao, compared field by field.
// `npm run test:vault-clients` installs it. OPENBAO is another binary of OpenBao, or OPENBAO_ADDR and
// OPENBAO_TOKEN name a server with an empty mount `production` of KV version 2.
// Without any of them the test is skipped. What differs on purpose is in `DIFFERENCES`, each with its reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedService } from '../service.mjs';
import { inVenv, missing, startOpenBao } from './vault-programs.mjs';

const { OPENBAO = inVenv('bao'), OPENBAO_ADDR, OPENBAO_TOKEN } = process.env;
const skip = OPENBAO_ADDR && OPENBAO_TOKEN ? false : missing(OPENBAO);

const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const one = { data: { user: 'app', password: 'one' } };

/**
 * The calls, in order. Each runs on both servers.
 * @type {[name: string, method: string, path: string, body?: unknown, headers?: Record<string, string>][]}
 */
const CALLS = [
  ['health', 'GET', 'sys/health'],
  ['leader', 'GET', 'sys/leader'],
  ['init', 'GET', 'sys/init'],
  ['preflight', 'GET', 'sys/internal/ui/mounts/production/app'],
  ['preflight of an unknown mount', 'GET', 'sys/internal/ui/mounts/nowhere/app'],
  ['unknown mount', 'GET', 'nowhere/data/app'],
  ['absent', 'GET', 'production/data/app'],
  ['absent metadata', 'GET', 'production/metadata/app'],
  ['empty list', 'GET', 'production/metadata/app?list=true'],
  ['write without data', 'PUT', 'production/data/app', {}],
  ['write', 'PUT', 'production/data/app', { ...one, options: { cas: 0 } }],
  ['write that must create', 'PUT', 'production/data/app', { ...one, options: { cas: 0 } }],
  ['write of the same', 'POST', 'production/data/app', { ...one, options: { cas: 1 } }],
  ['write with a wrong version', 'PUT', 'production/data/app', { ...one, options: { cas: 1 } }],
  ['read', 'GET', 'production/data/app'],
  ['read of a version', 'GET', 'production/data/app?version=1'],
  ['read of a version that never was', 'GET', 'production/data/app?version=9'],
  ['merge', 'PATCH', 'production/data/app', { data: { user: null, port: '1' } }, MERGE],
  ['merge without its type', 'PATCH', 'production/data/app', { data: { a: 'b' } }],
  ['merge of what is absent', 'PATCH', 'production/data/none', { data: { a: 'b' } }, MERGE],
  ['subkeys', 'GET', 'production/subkeys/app'],
  ['metadata', 'GET', 'production/metadata/app'],
  ['custom metadata', 'PUT', 'production/metadata/app', { custom_metadata: { team: 'core' } }],
  ['merge of metadata', 'PATCH', 'production/metadata/app', { custom_metadata: { on: 'call' } }, MERGE],
  ['metadata with tags', 'GET', 'production/metadata/app'],
  ['metadata before a value', 'PUT', 'production/metadata/early', { custom_metadata: { a: 'b' } }],
  ['metadata of what has no value', 'GET', 'production/metadata/early'],
  ['value after metadata', 'PUT', 'production/data/early', { data: { value: 'x' } }],
  ['write below', 'PUT', 'production/data/app/db', { data: { value: 'x' } }],
  ['list', 'GET', 'production/metadata?list=true'],
  ['list below', 'GET', 'production/metadata/app?list=true'],
  ['delete', 'DELETE', 'production/data/app'],
  ['deleted', 'GET', 'production/data/app'],
  ['merge of what is deleted', 'PATCH', 'production/data/app', { data: { a: 'b' } }, MERGE],
  ['undelete without versions', 'PUT', 'production/undelete/app', {}],
  ['undelete', 'PUT', 'production/undelete/app', { versions: ['3'] }],
  ['restored', 'GET', 'production/data/app'],
  ['delete of versions', 'PUT', 'production/delete/app', { versions: [3] }],
  ['write again', 'PUT', 'production/data/app', one],
  ['delete of everything', 'DELETE', 'production/metadata/app'],
  ['gone', 'GET', 'production/data/app'],
  ['delete of what is gone', 'DELETE', 'production/metadata/app'],
  ['lookup-self', 'GET', 'auth/token/lookup-self'],
  ['renew-self of what is not renewable', 'PUT', 'auth/token/renew-self', {}],
  ['capabilities without paths', 'PUT', 'sys/capabilities-self', {}],
  ['unknown lease', 'PUT', 'sys/leases/lookup', { lease_id: 'x' }],
  ['renewal of an unknown lease', 'PUT', 'sys/leases/renew', { lease_id: 'x' }],
  ['no lease', 'PUT', 'sys/leases/lookup', {}],
];

/** What differs on purpose: the parts of an answer that are left out of the comparison, by call. */
const DIFFERENCES = {
  // Names, versions and clocks of the product.
  health: [
    ...['version', 'cluster_name', 'cluster_id', 'server_time_utc', 'echo_duration_ms', 'clock_skew_ms'],
    // Of Vault, which its Go client reads; OpenBao 2.7 left it out.
    'performance_standby',
  ],
  // Of Vault; OpenBao 2.7 leaves them out of a server without high availability.
  leader: ['is_self', 'leader_address', 'leader_cluster_address'],
  // The texts of refusals differ. OpenBao sends no body with one of them.
  'merge without its type': ['errors'],
  'merge of what is absent': ['body', 'type'],
  'unknown mount': ['errors'],
  // A lease says when to read again.
  read: ['lease_duration'],
  'read of a version': ['lease_duration'],
  restored: ['lease_duration'],
  // The bare text of a refusal.
  'preflight of an unknown mount': ['errors'],
  // Our mounts have neither descriptions nor settings of their own.
  preflight: [
    ...['description', 'accessor', 'uuid', 'config', 'deprecation_status', 'running_plugin_version'],
    'running_sha256',
  ],
  'lookup-self': ['policies', 'path', 'display_name', 'meta', 'expire_time', 'explicit_max_ttl', 'ttl'],
  // A root token of a development server is renewable for ever, ours never.
  'renew-self of what is not renewable': ['status', 'errors', 'auth'],
};
const ANYWHERE = new Set([
  ...['request_id', 'accessor', 'id', 'mount_type', 'issue_time', 'creation_time'],
  // OpenBao's own, of which Vault and its clients know nothing.
  ...['current_metadata_version', 'metadata_cas_required'],
]);
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** An answer without what differs between any two servers. */
function comparable(value, left) {
  if (Array.isArray(value)) return value.map((one) => comparable(one, left));
  if (typeof value === 'string') return TIME.test(value) ? 'a time' : value;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !ANYWHERE.has(key) && !left.includes(key))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, comparable(inner, left)]),
  );
}

/** @param {string} base @param {string} token */
async function answersOf(base, token) {
  const all = {};
  for (const [name, method, at, body, headers] of CALLS) {
    const response = await fetch(`${base}/v1/${at}`, {
      method,
      headers: { 'X-Vault-Token': token, 'X-Vault-Request': 'true', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const left = DIFFERENCES[name] ?? [];
    all[name] = comparable(
      {
        status: response.status,
        // The type of an answer without a body says nothing.
        ...(text && { type: response.headers.get('content-type'), body: JSON.parse(text) }),
      },
      left,
    );
  }
  return all;
}

test('Vault: each answer has the fields of a real OpenBao', { timeout: 300_000, skip }, async (t) => {
  const bao = OPENBAO_ADDR
    ? { base: OPENBAO_ADDR, token: OPENBAO_TOKEN ?? '' }
    : await startOpenBao(OPENBAO, 'production');
  const service = await sharedService();
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'conformance',
    owner: { email: 'ann@example.com', name: 'Ann' },
  });
  const theirs = await answersOf(bao.base, bao.token);
  const ours = await answersOf(service.base, json.api_key.token);
  for (const [name] of CALLS) await t.test(name, () => assert.deepEqual(ours[name], theirs[name]));
});
