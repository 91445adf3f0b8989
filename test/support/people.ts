// People for tests: members, and what a member does. Until one signs in, the gate is asked as the Worker asks
// it for somebody whom it has seen sign in.
import type { Action } from '../../src/auth/actions';
import { sha256 } from '../../src/crypto/digest';
import { newId } from '../../src/db/ids';
import { kindOf, macOf, type RowKind, type RowTypes } from '../../src/db/rows';
import type { CredentialRow } from '../../src/db/schema';
import { upsertOf } from '../../src/db/statements';
import { type Refusal, statusOf } from '../../src/errors';
import type { Ask, Reply } from '../../src/gate/request/call';
import { askOf, browserBearer, gateOf, inGate, keysOf } from './gate';
import { type Caller, db } from './world';

let invited = 0;

/** A new member of that role, as the service answers. */
export async function newMember(o: Caller, role = 'developer', fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/members', {
    email: `m${++invited}@example.com`,
    name: `M ${invited}`,
    role,
    ...fields,
  });
  if (status !== 201) throw new Error(`no member: ${status} ${text}`);
  return json as { id: string; email: string; enrolment_url: string };
}

export async function newTeam(o: Caller, ...members: string[]) {
  const { id } = (await o.post('/teams', { name: 'team' })).json;
  for (const member_id of members) await o.post(`/teams/${id}/members`, { member_id });
  return id as string;
}

export async function newGrant(
  o: Caller,
  type: 'member' | 'team',
  id: string,
  fields: Record<string, unknown> = {},
) {
  const { json, status, text } = await o.post('/grants', {
    grantee: { type, id },
    permission: 'read',
    ...fields,
  });
  if (status !== 201) throw new Error(`no grant: ${status} ${text}`);
  return json as { id: string; expires_at: string | null; environments: string[] | null };
}

export const ownerId = async (o: Caller) => (await o.get('/members')).json.data[0].id as string;

/** Puts rows into D1 and the gate, as if they had been committed. */
export async function add<K extends RowKind>(
  o: Caller,
  kind: K,
  rows: Omit<RowTypes[K], 'mac' | 'revision' | 'org_id'>[],
) {
  const { row: key } = await keysOf(o);
  const whole = rows.map((row) => {
    const bare = { ...row, org_id: o.id, revision: 1 };
    return { ...bare, mac: macOf(key, kind, bare) } as unknown as RowTypes[K];
  });
  const { sql, params } = upsertOf(kindOf(kind).table, whole);
  await db
    .prepare(sql)
    .bind(...params)
    .run();
  await inGate(o, ({ core }) => {
    for (const row of whole) core.rows.put(kind, row);
  });
  return whole.map(({ id }) => id);
}

const credential = (kind: CredentialRow['kind'], id: string, fields: Partial<CredentialRow>) => ({
  kind,
  id,
  name: 'many',
  token_hash: id,
  hint: 'h',
  scopes: ['secrets:read'],
  environments: null,
  secrets: null,
  upstreams: null,
  allowed_addresses: null,
  rate_limit: 600,
  created_by: '',
  below_owner: null,
  created_in: null,
  dies_with: null,
  successor_id: null,
  created_at: Date.now(),
  expires_at: null,
  revoked_at: null,
  generation: null,
  reason: null,
  member_id: null,
  passkey_id: null,
  refresh: null,
  confirmed_at: null,
  accountable: null,
  device_id: null,
  mcp_limits: null,
  aws: null,
  sso: null,
  scim: null,
  trust: null,
  workload: null,
  ...fields,
});

/** What the Worker asks of the gate for a new API key. */
export const newKeyInput = (name = 'k') => ({
  token: { id: newId('key'), hash: sha256(crypto.randomUUID()), hint: 'h' },
  name,
  scopes: ['secrets:read'],
  environments: null,
  secrets: null,
  allowed_addresses: null,
  expires_at: null,
  ttlSeconds: null,
});

/** Many API keys that somebody has made. */
export const addKeys = (o: Caller, created_by: string, many: number) =>
  add(
    o,
    'credential',
    Array.from({ length: many }, () => credential('api_key', newId('key'), { created_by })),
  );

/** Many live session tokens of an API key. */
export const addSessions = (o: Caller, dies_with: string, many: number) =>
  add(
    o,
    'credential',
    Array.from({ length: many }, () =>
      credential('session', newId('tok'), {
        created_by: dies_with,
        dies_with,
        expires_at: Date.now() + 3_600_000,
      }),
    ),
  );

export async function addPasskey(o: Caller, member_id: string): Promise<string> {
  const row = { id: newId('psk'), member_id, name: 'p', credential_id: crypto.randomUUID(), public_key: 'k' };
  const [id] = await add(o, 'passkey', [
    { ...row, counter: 0, transports: [], backed_up: 0, created_at: Date.now() },
  ]);
  return id as string;
}

/** A confirmed browser session of a member; answers by what the gate finds it. */
export async function addSession(o: Caller, member_id: string, passkey_id: string): Promise<string> {
  const confirmed = { refresh: { live: [1], used: [], last: 1, confirmed: 1 }, confirmed_at: Date.now() };
  const fields = {
    created_by: member_id,
    member_id,
    passkey_id,
    expires_at: Date.now() + 600_000,
    ...confirmed,
  };
  const [id] = await add(o, 'credential', [credential('browser', newId('ses'), fields)]);
  return id as string;
}

/**
 * What a member asks of the gate, in a browser session where one is given: the status and code, or the data,
 * of the answer.
 */
export async function asMember(
  o: Caller,
  member: string,
  action: Action,
  {
    input = {},
    named = {},
    ip = '203.0.113.7',
    finding = null,
    session,
  }: { input?: unknown; named?: Ask['named']; ip?: string; finding?: Refusal | null; session?: string } = {},
) {
  const bearer = session === undefined ? { member } : browserBearer(o, session);
  const ask = await askOf(o, action, bearer, { input, named, finding });
  ask.request.ip = ip;
  const { outcome } = (await gateOf(o).call(ask)) as unknown as Reply;
  if (outcome.kind === 'refused')
    return { status: statusOf(outcome.refusal), code: outcome.refusal.code, data: null };
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return { status: outcome.kind === 'ok' ? outcome.status : 0, code: null, data: outcome.data as any };
}
