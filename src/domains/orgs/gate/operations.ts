// Operations on an organisation in the gate. Invariants: an organisation is created completely or not at all;
// its default environment always exists.

import { isWithin } from '../../../auth/addresses';
import { mustBeConfirmed } from '../../../auth/authorize';
import type { Region, Regions } from '../../../db/regions';
import { journalPositions, type MemberRow, type OrgRow, orgKeys } from '../../../db/schema';
import { insertOf } from '../../../db/statements';
import { invalid, refuse } from '../../../errors';
import { withTies } from '../../../gate/approvals/ties';
import { missingEntries, noteCut } from '../../../gate/archive/gaps';
import { genesis } from '../../../gate/audit/chain';
import { countLive } from '../../../gate/identity/lifetime';
import { mirror } from '../../../gate/journal/mirror';
import { journal } from '../../../gate/journal/records';
import { restore } from '../../../gate/journal/restore';
import { placeOfGate } from '../../../gate/replicas/regions';
import { replicaStates } from '../../../gate/replicas/states';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf, slugOf } from '../../../gate/request/target';
import { insertion, revision, rowKeyOf } from '../../../gate/request/writes';
import { backlogs } from '../../../gate/tasks/backlog';
import { acceptClock } from '../../../gate/tasks/clock';
import { iso, isoOrNull } from '../../../http/wire';
import { firstKey } from '../../credentials/gate/create';
import { shown as credentialShown, type TokenInput } from '../../credentials/gate/credential';
import { ending, nextGeneration } from '../../incidents/gate/panic';
import { recordedIn } from '../../incidents/gate/record';
import { enrolment, shown as memberShown, ownerOf, ownersOf } from '../../members/gate/member';
import type { ResetInput } from '../reset';
import { orgOut } from '../wire';
import { environmentOperations } from './environments';
import { whole } from './unlimited-callers';

const aboutOrg = ({ ask }: Call<unknown>) => ({ resource: ask.org });

/**
 * An organisation that never had regions has null, as in rows of earlier releases. Of another one, a gate
 * that lost its storage must assume that replicas still answer.
 */
const stored = (
  { regions }: { regions?: Regions },
  before: Regions | null = null,
): Pick<OrgRow, 'regions'> | null =>
  // safety: former-regions-known
  regions === undefined ? null : { regions: regions.length || before ? regions : null };

interface FoundInput {
  name: string;
  owner: { id: string; email: string; name: string };
  regions?: Regions;
  /** Where the gate is: a Durable Object is placed near the request that first calls it, or at its hint. */
  location_hint?: Region | null;
  /** The hash of the owner's enrolment token. */
  enrolment: string;
  environments: { id: string; slug: string }[];
  token: TokenInput;
  /** The new organisation's key, wrapped by a master key. */
  wrapped: Pick<typeof orgKeys.$inferSelect, 'master_id' | 'key_sealed'>;
}

const createOrg: Operation<FoundInput> = {
  subject: aboutOrg,
  change: {
    plan(call, now) {
      const { core, ask, input } = call;
      const { org } = ask;
      if (core.rows.get('org', org)) return refuse('CONFLICT');
      // The hash chain begins with this entry.
      if (core.auditLog.head().sequence === 0) {
        core.auditLog.begin(0, genesis(org));
        noteCut(core, { sequence: 0, hash: genesis(org) });
      }
      const production = input.environments.find(({ slug }) => slug === 'production')?.id as string;
      const put = insertion(call, 'org', {
        id: org,
        shard: 0,
        name: input.name,
        default_environment: production,
        ...stored(input),
        ...(input.location_hint && { location_hint: input.location_hint }),
        created_at: now,
        updated_at: now,
      });
      const environments = input.environments.map(({ id, slug }) =>
        insertion(call, 'environment', { org_id: org, id, slug, name: slug, created_at: now }),
      );
      const owner = insertion(call, 'member', {
        org_id: org,
        ...input.owner,
        role: 'owner',
        created_at: now,
        ...enrolment(input.enrolment, now),
      });
      const key = firstKey(call, input.token, 'first key', input.owner.id, now);
      return {
        status: 201,
        data: {
          org: orgOut(put.row as OrgRow, 'production'),
          owner: memberShown(call, owner.row as MemberRow),
          api_key: credentialShown(call, key.row as never),
        },
        writes: [put, ...environments, owner, key],
        statements: [
          insertOf(journalPositions, {
            org_id: org,
            term: journal(core).term(),
            position: 0,
            record: '',
            holds: 1,
          }),
          insertOf(orgKeys, { org_id: org, ...input.wrapped, created_at: now }),
        ],
        resource: org,
      };
    },
  },
};

interface RecoverInput {
  token: TokenInput;
  reason: string;
  /** The email address of the owner who enrols again; null for the oldest owner. */
  email: string | null;
  enrolment: string;
  /** Whether every other credential ends. */
  contain?: boolean;
}

/** What a recovery that ends nothing leaves alive. */
const OTHERS_LIVE =
  'Every other credential of the organisation still works, and so does a lost API key in the hands of whoever finds it. Revoke what is lost, or repeat this request with contain: true, which ends every other credential and session.';

const recover: Operation<RecoverInput> = {
  subject: ({ input }) => ({ resource: input.token.id, reason: input.reason }),
  change: {
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org);
      if (!org || org.deleted_at !== null) return refuse('NOT_FOUND');
      const owner = ownerOf(core, input.email);
      if (!owner) return refuse('NOT_FOUND', { message: 'No owner has this email address.' });
      // safety: owners-accountable-for-recovery
      const accountable = ownersOf(core).map(({ id }) => id);
      // safety: recovery-key-of-new-generation
      const generation = input.contain ? { generation: nextGeneration(call) } : {};
      const key = firstKey(call, input.token, 'recovery', 'bootstrap', now, { accountable, ...generation });
      // safety: recovery-contains
      const contained = input.contain ? ending(call, { reason: input.reason, key, spared: null }, now) : null;
      // Owners whom the operator recovers are tied to each other: whoever holds the bootstrap token may hold
      // both links.
      const connections = withTies(owner.connections, [call.caller.id], now);
      const enrolled = revision(call, 'member', owner, { ...enrolment(input.enrolment, now), connections });
      return {
        status: 201,
        data: {
          api_key: credentialShown(call, key.row as never),
          ...(contained
            ? { ended_at: iso(now), incident_id: contained.incident?.id ?? null }
            : { warning: OTHERS_LIVE }),
        },
        ...contained?.plan,
        writes: [...(contained?.plan.writes ?? []), key, enrolled],
        events: [
          { type: 'ORG_RECOVERED', data: { credential_id: input.token.id, member_id: owner.id } },
          ...(contained?.plan.events ?? []),
        ],
        resource: input.token.id,
        audit: recordedIn(contained?.incident ?? null),
      };
    },
  },
};

const restoreDatabase: Operation<{ reason: string }> = {
  subject: ({ ask, input }) => ({ resource: ask.org, reason: input.reason }),
  async read(call): Promise<OperationOutcome> {
    const { core, ask } = call;
    const org = core.rows.get('org', ask.org);
    if (!org || org.deleted_at !== null) return fail(refuse('NOT_FOUND'));
    if (mirror(core).isAdopting)
      return fail(
        refuse('CONFLICT', {
          message:
            'The database of this organisation is being adopted by another request. Wait until it ends.',
        }),
      );
    const { at, request_id, ...adopted } = await restore(
      core,
      rowKeyOf(call),
      ask.request.id,
      call.caller.id,
    );
    // Claims of domains may be lost too: they are made again once their records are found.
    // safety: adoption-claims-domains
    core.schedule.at('domains', core.now());
    // Recorded in the entry too, so an offline check of the log sees what is lost.
    const missing = missingEntries(core);
    const loaded = core.meta.get('loaded_at');
    const data = {
      ...adopted,
      adopted_at: isoOrNull(at),
      gate_loaded_at: isoOrNull(loaded === null ? null : Number(loaded)),
    };
    return {
      ...ok(data),
      audit: { ...(missing.length && { missing }), ...(request_id === ask.request.id && { adopted }) },
    };
  },
};

/** Records that this gate began in place of another one. */
const recordReset: Operation<ResetInput> = {
  subject: ({ ask, input }) => ({ resource: ask.org, reason: input.reason }),
  read({ core, input }): OperationOutcome {
    const missing = missingEntries(core);
    const gate_loaded_at = iso(Number(core.meta.get('loaded_at') ?? core.now()));
    return {
      ...ok({ gate_loaded_at, audit_entries_archived: input.archived, missing }),
      ...(missing.length && { audit: { missing } }),
    };
  },
};

/** The operator says that the clock is right again. */
const clockAccepted: Operation<{ reason: string }> = {
  subject: ({ ask, input }) => ({ resource: ask.org, reason: input.reason }),
  read({ core, ask }): OperationOutcome {
    const org = core.rows.get('org', ask.org);
    if (!org || org.deleted_at !== null) return fail(refuse('NOT_FOUND'));
    return ok({ ahead_seconds: Math.ceil(core.storage.transactionSync(() => acceptClock(core)) / 1000) });
  },
};

/** The organisation and its usage of its limits. */
const shown = ({ core }: Call<unknown>, org: OrgRow) => ({
  ...orgOut(org, slugOf(core, org.default_environment)),
  location_hint: placeOfGate(core),
  replicas: replicaStates(core),
  usage: {
    secrets: core.rows.count('secret'),
    sealed_bytes: core.rows.sealedBytes(),
    credentials: countLive(core, core.now()),
    members: core.rows.count('member'),
    backlog: backlogs(core).of(core.now()),
  },
});

const read: Operation<Record<string, never>> = {
  subject: aboutOrg,
  read(call): Outcome {
    const org = call.core.rows.get('org', call.ask.org);
    return org ? ok(shown(call, org)) : fail(refuse('NOT_FOUND'));
  },
};

interface UpdateInput {
  name: string | null;
  default_environment: string | null;
  /** Undefined leaves a field unchanged. */
  allowed_addresses?: string[] | null;
  audit_retention_days?: number | null;
  regions?: Regions;
}

const spelled = (regions: Regions | null): string =>
  regions === 'auto' ? regions : regions?.join(', ') || 'none';

/** What the entry says of how long evidence is kept and where copies are, before what the caller gives. */
function reasonOf({ ask, input }: Call<UpdateInput>, org: OrgRow): string | null {
  const { audit_retention_days: days, regions } = input;
  const changes = [
    ...(days === undefined ? [] : [`audit_retention_days: ${org.audit_retention_days} to ${days}`]),
    ...(regions === undefined ? [] : [`regions: ${spelled(org.regions)} to ${spelled(regions)}`]),
  ];
  if (changes.length === 0) return null;
  return [...changes, ...(ask.request.reason === null ? [] : [ask.request.reason])].join('. ');
}

const update: Operation<UpdateInput> = {
  subject: aboutOrg,
  // allowed_addresses can lock other members out; audit_retention_days can have evidence deleted.
  authorize(call) {
    const { allowed_addresses, audit_retention_days } = call.input;
    // safety: retention-by-owner
    if (audit_retention_days !== undefined && !call.caller.isOwner)
      return refuse('INSUFFICIENT_SCOPE', {
        message:
          'Only an owner, or an API key with the scope * and no limits, can change audit_retention_days.',
      });
    const isSensitive = allowed_addresses !== undefined || audit_retention_days !== undefined;
    return whole(call) ?? (isSensitive ? mustBeConfirmed(call.caller) : null);
  },
  change: {
    revises: ({ core, ask }) => core.rows.get('org', ask.org),
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org) as OrgRow;
      const { allowed_addresses, audit_retention_days } = input;
      // safety: no-self-lockout
      if (allowed_addresses && call.caller.kind === 'member' && !isWithin(ask.request.ip, allowed_addresses))
        return invalid(
          'allowed_addresses',
          'must include the IP address of this request, or you would lock yourself out',
        );
      const environment =
        input.default_environment === null ? null : environmentOf(core, input.default_environment);
      if (input.default_environment !== null && !environment)
        return refuse('NOT_FOUND', { message: 'The environment in default_environment does not exist.' });
      const put = revision(call, 'org', org, {
        ...(input.name !== null && { name: input.name }),
        ...(environment && { default_environment: environment.id }),
        ...(allowed_addresses !== undefined && { member_addresses: allowed_addresses }),
        ...(audit_retention_days !== undefined && { audit_retention_days }),
        ...stored(input, org.regions),
        updated_at: now,
      });
      const about = reasonOf(call, org);
      const describes =
        environment && `make "${environment.slug}" the environment of requests that name none`;
      return {
        status: 200,
        data: shown(call, put.row as OrgRow),
        writes: [put],
        ...(describes && { describes }),
        ...(about !== null && { audit: { reason: about } }),
      };
    },
  },
};

const end: Operation<{ confirm: string }> = {
  subject: aboutOrg,
  change: {
    revises: ({ core, ask }) => core.rows.get('org', ask.org),
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org) as OrgRow;
      if (input.confirm !== org.name) return invalid('confirm', 'must be the name of the organisation');
      return {
        status: 204,
        data: null,
        writes: [revision(call, 'org', org, { deleted_at: now, updated_at: now })],
        statements: [{ sql: 'delete from org_keys where org_id = ?', params: [ask.org] }],
      };
    },
  },
};

export const orgOperations = {
  ...environmentOperations,
  'org.create': createOrg,
  'org.recover': recover,
  'org.adopt': restoreDatabase,
  'org.reset_gate': recordReset,
  'org.accept_clock': clockAccepted,
  'org.read': read,
  'org.update': update,
  'org.delete': end,
};
