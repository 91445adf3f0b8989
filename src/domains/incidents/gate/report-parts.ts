// What the Worker asks the gate for an exposure report, part by part. Invariant: a part changes nothing
// except raising due events, and needs no audit entry.

import { reaches, reachesEnvironment } from '../../../auth/authorize';
import { covers } from '../../../auth/scopes';
import { type CredentialRow, parentIdOf, type SecretRow } from '../../../db/schema';
import { isNewValueHeld } from '../../../gate/approvals/hold';
import { missingEntries } from '../../../gate/archive/gaps';
import { secretData } from '../../../gate/events/raised';
import { formerSessions } from '../../../gate/identity/former-sessions';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { ok } from '../../../gate/request/outcome';
import { slugOf } from '../../../gate/request/target';
import { pause } from '../../../gate/request/yielding';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { payerOf, rootOfCredential } from '../../../gate/rows/quota-root';
import { actions as integrationNeeds } from '../../integrations/actions';
import { sees } from '../../integrations/gate/reach';
import { etagOf, statusOf } from '../../secrets/rules';
import { actions as syncNeeds } from '../../syncs/actions';
import { syncs } from '../../syncs/gate/store';
import { statusNow } from '../../syncs/wire';
import type {
  ConnectionsPart,
  CredentialSummary,
  DescentPart,
  LogPart,
  NamedSecret,
  Part,
  RootPart,
  SecretsPart,
  SetUpPart,
} from '../payloads';
import { announced } from './announced';
import { rowOf } from './contain';
import { descentOf, isLiving, target } from './descent';
import { mayListSetUp, maySeeUpstream } from './listed';
import { incidentOf } from './record';

const PAGE = 1000;

function summaryOf(call: Call<unknown>, row: CredentialRow): CredentialSummary {
  const { id, kind, name, created_at, expires_at, revoked_at, generation } = row;
  return {
    id,
    kind,
    name,
    created_at,
    expires_at,
    revoked_at,
    generation,
    parent_id: parentIdOf(row),
    alive: isLiving(call, id),
  };
}

/** The contained credential: its row or, once that is gone, what its incident says of it. */
async function rootOf(
  call: Call<unknown>,
): Promise<(CredentialSummary & { member_id: string | null }) | null> {
  const row = await rowOf(call, target(call));
  if (row) return { ...summaryOf(call, row), member_id: row.member_id };
  const incident = incidentOf(call.core, target(call));
  if (!incident?.credential) return null;
  return {
    ...incident.credential,
    expires_at: null,
    revoked_at: incident.created_at,
    generation: null,
    parent_id: null,
    alive: false,
  };
}

async function root(call: Call<unknown>): Promise<RootPart | null> {
  const { core, ask } = call;
  const summary = await rootOf(call);
  const org = core.rows.get('org', ask.org);
  if (!summary || !org) return null;
  const { member_id, ...root } = summary;
  const { generation, keys_generation, spared, panicked_at } = org;
  return {
    org: { generation, keys_generation, spared, panicked_at },
    root,
    member: member_id,
    payer: payerOf(call),
  };
}

/** Summaries of credentials, and of what they end with. */
function credentials(call: Call<unknown>, ids: string[]): CredentialSummary[] {
  const { rows } = call.core;
  const found = new Map<string, CredentialSummary>();
  for (const id of ids) {
    const left = formerSessions(call.core).find('id', id);
    const row = rows.get('credential', id) ?? left;
    for (const link of row ? lineageOf(call.core, row) : []) {
      const known = rows.get('credential', link.id) ?? (link.id === id ? left : null);
      if (known) found.set(known.id, summaryOf(call, known));
    }
  }
  return [...found.values()];
}

function secrets({ core }: Call<unknown>, environments: string[], after: string): SecretsPart {
  const page = core.rows.after('secret', after, 2 * PAGE);
  const rows = page
    .filter(({ environment_id }) => environments.includes(environment_id))
    .map(({ id, environment_id, name, version, expires_at, deleted_at, revoked_at }) => ({
      id,
      environment: environment_id,
      name,
      version,
      expires_at,
      deleted: deleted_at !== null,
      revoked: revoked_at !== null,
    }));
  return {
    rows,
    head: core.auditLog.head().sequence,
    next: page.length < 2 * PAGE ? null : (page.at(-1) as SecretRow).id,
  };
}

/** Names that are compared with patterns before other requests are served. */
const COMPARED = 100;

async function named(call: Call<unknown>, ids: string[]): Promise<NamedSecret[]> {
  const found: NamedSecret[] = [];
  for (const [at, id] of ids.entries()) {
    if (at > 0 && at % COMPARED === 0) await pause();
    const row = call.core.rows.get('secret', id);
    if (row) found.push(namedOf(call, row));
  }
  return found;
}

function namedOf(call: Call<unknown>, row: SecretRow): NamedSecret {
  const { core, caller } = call;
  const { id, environment_id, name, type, version, generated } = row;
  const mayList = reaches(caller, ['secrets:list', 'secrets:read'], environment_id, name);
  return {
    id,
    name: mayList ? name : null,
    // safety: report-environments-as-listed
    environment: mayList ? slugOf(core, environment_id) : null,
    type,
    etag: etagOf(row),
    isActive: statusOf(row, core.now()) === 'active',
    generated: generated !== null,
    version,
    // safety: preview-rotates-as-act
    isBarred:
      generated !== null &&
      (!reaches(caller, ['secrets:rotate'], environment_id, name) || isNewValueHeld(call, row)),
  };
}

/** What the lists of connections and syncs would show this caller. */
function connections(
  { core, caller }: Call<unknown>,
  ids: Extract<Part, { part: 'connections' }>,
): ConnectionsPart {
  const rows = <K extends 'integration' | 'sync'>(kind: K, wanted: string[]) =>
    wanted.flatMap((id) => core.rows.get(kind, id) ?? []);
  const list = integrationNeeds['integration.list'].scopes;
  const look = syncNeeds['integration.syncs'].scopes;
  const mayList = list.some((scope) => caller.permissions.some(({ scopes }) => covers(scopes, scope)));
  return {
    // safety: report-connections-as-listed
    connections: rows('integration', mayList ? ids.connections : [])
      .filter((row) => sees(caller, list, row))
      .map(({ id, kind, platform, name }) => ({ id, kind, platform, name })),
    // safety: report-syncs-as-listed
    syncs: rows('sync', ids.syncs)
      .filter(({ environment_id }) => reachesEnvironment(caller, look, environment_id))
      .map((row) => ({
        id: row.id,
        platform: row.platform,
        integration_id: row.integration_id,
        environment: slugOf(core, row.environment_id),
        status: statusNow(row, syncs(core).startedAt(row.id)),
      })),
  };
}

/**
 * Of upstreams, log streams, domains and connections to identity providers, what their lists would show this
 * caller. An upstream that is gone has no name here: the log has it.
 */
function setUp(call: Call<unknown>, { kind, ids }: Extract<Part, { part: 'set_up' }>): SetUpPart {
  const { core } = call;
  const rows = <K extends 'log_stream' | 'domain' | 'sso_connection'>(wanted: K) =>
    ids.flatMap((id) => core.rows.get(wanted, id) ?? []);
  if (kind === 'upstreams')
    return ids.flatMap((id) => {
      const row = core.rows.get('upstream', id);
      return maySeeUpstream(call, row) ? [{ id, name: row?.name ?? '' }] : [];
    });
  if (!mayListSetUp(call, kind)) return [];
  if (kind === 'domains') return rows('domain').map(({ id, domain }) => ({ id, name: domain }));
  return rows(kind === 'log_streams' ? 'log_stream' : 'sso_connection').map(({ id, name }) => ({ id, name }));
}

/** Raises SECRET_ROTATION_DUE once per secret for this containment. Returns whether any event was raised. */
function due(call: Call<unknown>, ids: string[]): boolean {
  const { core } = call;
  const id = target(call);
  return core.storage.transactionSync(() => {
    const fresh = announced(core).fresh(id, ids);
    announced(core).note(id, fresh, rootOfCredential(core, id), core.now());
    for (const secret of fresh) {
      const row = core.rows.get('secret', secret);
      if (!row) continue;
      const data = { ...secretData(core, row), credential_id: id };
      core.outbox.put({ type: 'SECRET_ROTATION_DUE', data }, core.now());
    }
    return fresh.length > 0;
  });
}

export const part: Operation<Part> = {
  readsLog: true,
  async read(call): Promise<OperationOutcome> {
    const { core, input } = call;
    const answer = (data: unknown): OperationOutcome => ({ ...ok(data), audited: true });
    if (input.part === 'log') {
      const oldest = core.auditLog.oldest();
      const { entries } = input.from >= oldest ? core.auditLog.from(input.from, PAGE) : { entries: [] };
      const head = core.auditLog.head().sequence;
      return answer({
        entries,
        oldest,
        held: core.auditLog.held(),
        head,
        missing: missingEntries(core),
      } satisfies LogPart);
    }
    if (input.part === 'secrets') return answer(secrets(call, input.environments, input.after));
    if (input.part === 'named') return answer(await named(call, input.ids));
    if (input.part === 'connections') return answer(connections(call, input));
    if (input.part === 'set_up') return answer(setUp(call, input));
    if (input.part === 'due') {
      // The event has an audit entry of its own, so neither exists without the other.
      return { ...ok(null), audited: !due(call, input.ids) };
    }
    if (input.part === 'descent') {
      const { found, isCut } = await descentOf(core, target(call), new Set(input.spared));
      return answer({ ids: [...found.keys()], isCut } satisfies DescentPart);
    }
    if (input.part === 'credentials') return answer(credentials(call, input.ids));
    return answer(await root(call));
  },
};
