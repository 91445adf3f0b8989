// Operations on an organisation and its environments in the gate. Invariants: an organisation is created completely or not at all; its
// default environment always exists; an environment that contains secrets cannot be deleted.

import { isWithin } from '../../../auth/addresses';
import { mustBeConfirmed, reachesAll, reachesEnvironment } from '../../../auth/authorize';
import { type EnvironmentRow, fences, type MemberRow, type OrgRow, orgKeys } from '../../../db/schema';
import { insertOf } from '../../../db/statements';
import { invalid, type Refusal, refuse } from '../../../errors';
import { genesis } from '../../../gate/audit-entry';
import { insertion, removal, revision, rowKeyOf } from '../../../gate/commit';
import { noteCut } from '../../../gate/cut';
import { countLive } from '../../../gate/lifetime';
import { missingEntries } from '../../../gate/missing-entries';
import { environmentOf, MOST_ENVIRONMENTS, slugOf } from '../../../gate/named';
import { fail, found, type Outcome, ok } from '../../../gate/outcome';
import { restore } from '../../../gate/restore';
import type { Call, Operation, OperationOutcome } from '../../../gate/types';
import { firstKey } from '../../credentials/gate/create';
import { shown as credentialShown, type TokenInput } from '../../credentials/gate/credential';
import { enrolment, shown as memberShown, ownerOf } from '../../members/gate/operations';
import { environmentOut, orgOut } from '../wire';

const aboutOrg = ({ ask }: Call<unknown>) => ({ resource: ask.org });

interface FoundInput {
  name: string;
  owner: { id: string; email: string; name: string };
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
    locks: ({ ask }) => [ask.org],
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
          owner: memberShown(core, owner.row as MemberRow),
          api_key: credentialShown(core, key.row as never),
        },
        puts: [put, ...environments, owner, key],
        also: [insertOf(fences, { org_id: org, epoch: 1 }), insertOf(orgKeys, { org_id: org, ...input.wrapped, created_at: now })],
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
}

const recover: Operation<RecoverInput> = {
  subject: ({ input }) => ({ resource: input.token.id, reason: input.reason }),
  change: {
    locks: ({ core, input }) => [input.token.id, 'owners', ownerOf(core, input.email)?.id ?? 'none'],
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org);
      if (!org || org.deleted_at !== null) return refuse('NOT_FOUND');
      const owner = ownerOf(core, input.email);
      if (!owner) return refuse('NOT_FOUND', { message: 'No owner has this email address.' });
      const key = firstKey(call, input.token, 'recovery', 'bootstrap', now);
      const enrolled = revision(call, 'member', owner, enrolment(input.enrolment, now));
      return {
        status: 201,
        data: { api_key: credentialShown(core, key.row as never) },
        puts: [key, enrolled],
        events: [{ type: 'ORG_RECOVERED', data: { credential_id: input.token.id, member_id: owner.id } }],
        resource: input.token.id,
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
    if (core.intents.held)
      return fail(
        refuse('CONFLICT', { message: 'The database of this organisation is being adopted by another request. Wait until it ends.' }),
      );
    const adopted = await restore(core, ask.org, rowKeyOf(call), ask.request.id, call.caller.id);
    // Recorded in the entry too, so an offline check of the log sees what is lost.
    const missing = missingEntries(core);
    return { ...ok(adopted), ...(missing.length && { about: { missing } }) };
  },
};

/** The organisation and its usage of its limits. */
const shown = ({ core }: Call<unknown>, org: OrgRow) => ({
  ...orgOut(org, slugOf(core, org.default_environment)),
  usage: {
    secrets: core.rows.count('secret'),
    sealed_bytes: core.rows.sealedBytes(),
    credentials: countLive(core, org.id, core.now()),
    members: core.rows.count('member'),
  },
});

const read: Operation<Record<string, never>> = {
  subject: aboutOrg,
  read(call): Outcome {
    const org = call.core.rows.get('org', call.ask.org);
    return org ? ok(shown(call, org)) : fail(refuse('NOT_FOUND'));
  },
};

/** Only callers without limits may change the organisation as a whole. */
const whole = ({ need, caller }: Call<unknown>): Refusal | null =>
  reachesAll(caller, need.scopes)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message: 'A credential limited to environments or names cannot change the organisation.',
      });

interface UpdateInput {
  name: string | null;
  default_environment: string | null;
  /** Undefined leaves a field unchanged. */
  allowed_addresses?: string[] | null;
  audit_retention_days?: number | null;
}

const update: Operation<UpdateInput> = {
  subject: aboutOrg,
  // allowed_addresses can lock other members out; audit_retention_days can have evidence deleted.
  authorize(call) {
    const { allowed_addresses, audit_retention_days } = call.input;
    // safety: retention-by-owner
    if (audit_retention_days !== undefined && !call.caller.isOwner)
      return refuse('INSUFFICIENT_SCOPE', {
        message: 'Only an owner, or an API key with the scope * and no limits, can change audit_retention_days.',
      });
    const isSensitive = allowed_addresses !== undefined || audit_retention_days !== undefined;
    return whole(call) ?? (isSensitive ? mustBeConfirmed(call.caller) : null);
  },
  change: {
    locks: ({ ask }) => [ask.org],
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org) as OrgRow;
      const { allowed_addresses, audit_retention_days } = input;
      // safety: no-self-lockout
      if (allowed_addresses && call.caller.kind === 'member' && !isWithin(ask.request.ip, allowed_addresses))
        return invalid('allowed_addresses', 'must include the IP address of this request, or you would lock yourself out');
      const environment = input.default_environment === null ? null : environmentOf(core, ask.org, input.default_environment);
      if (input.default_environment !== null && !environment)
        return refuse('NOT_FOUND', { message: 'The environment in default_environment does not exist.' });
      const put = revision(call, 'org', org, {
        ...(input.name !== null && { name: input.name }),
        ...(environment && { default_environment: environment.id }),
        ...(allowed_addresses !== undefined && { member_addresses: allowed_addresses }),
        ...(audit_retention_days !== undefined && { audit_retention_days }),
        updated_at: now,
      });
      const about = audit_retention_days !== undefined && {
        reason: `audit_retention_days: ${org.audit_retention_days} to ${audit_retention_days}${ask.request.reason === null ? '' : `. ${ask.request.reason}`}`,
      };
      return { status: 200, data: shown(call, put.row as OrgRow), puts: [put], ...(about && { about }) };
    },
  },
};

const end: Operation<{ confirm: string }> = {
  subject: aboutOrg,
  authorize: (call) => whole(call),
  change: {
    locks: ({ ask }) => [ask.org],
    plan(call, now) {
      const { core, ask, input } = call;
      const org = core.rows.get('org', ask.org) as OrgRow;
      if (input.confirm !== org.name) return invalid('confirm', 'must be the name of the organisation');
      return {
        status: 204,
        data: null,
        puts: [revision(call, 'org', org, { deleted_at: now, updated_at: now })],
        also: [{ sql: 'delete from org_keys where org_id = ?', params: [ask.org] }],
      };
    },
  },
};

// ---------------------------------------------------------------- environments

interface ListInput {
  limit: number;
  after: string | null;
}

const list: Operation<ListInput> = {
  read({ core, need, input, caller }): Outcome {
    const rows = core.rows
      .after('environment', input.after ?? '', MOST_ENVIRONMENTS)
      .filter(({ id }) => reachesEnvironment(caller, need.scopes, id));
    const items = rows.slice(0, input.limit);
    return ok({ items: items.map(environmentOut), next: rows.length > input.limit ? items.at(-1)?.id : null });
  },
};

const named = ({ core, ask }: Call<unknown>): EnvironmentRow | null => environmentOf(core, ask.org, ask.named.environment);
const aboutNamed = (call: Call<unknown>) => ({ resource: named(call)?.id ?? null });

const readOne: Operation<Record<string, never>> = {
  subject: aboutNamed,
  read: (call) => found(named(call), environmentOut),
};

const create: Operation<{ id: string; name: string; slug: string }> = {
  subject: ({ input }) => ({ resource: input.id, environment: input.slug }),
  authorize: (call) => whole(call),
  change: {
    locks: ({ input }) => [`slug:${input.slug}`],
    plan(call, now) {
      const { core, ask, input } = call;
      if (core.rows.find('environment', '', input.slug)) return refuse('SLUG_TAKEN');
      if (core.rows.count('environment') >= MOST_ENVIRONMENTS)
        return refuse('LIMIT_REACHED', { message: 'An organisation can have at most 1,000 environments.' });
      const put = insertion(call, 'environment', { org_id: ask.org, ...input, created_at: now });
      return { status: 201, data: environmentOut(put.row as EnvironmentRow), puts: [put], resource: input.id };
    },
  },
};

const rename: Operation<{ name: string }> = {
  subject: aboutNamed,
  change: {
    locks: (call) => [named(call)?.id ?? 'none'],
    plan(call) {
      const row = named(call);
      if (!row) return refuse('NOT_FOUND');
      const put = revision(call, 'environment', row, { name: call.input.name });
      return { status: 200, data: environmentOut(put.row as EnvironmentRow), puts: [put] };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  subject: aboutNamed,
  authorize: (call) => whole(call),
  change: {
    // Locked together with the organisation: the environment must not become the default one in the meantime.
    locks: (call) => [named(call)?.id ?? 'none', call.ask.org],
    plan(call) {
      const { core, ask } = call;
      const row = named(call);
      if (!row) return refuse('NOT_FOUND');
      if (core.rows.get('org', ask.org)?.default_environment === row.id) return refuse('ENVIRONMENT_IS_DEFAULT');
      // safety: environment-not-being-filled
      if (core.rows.named(row.id, '', '', 1).length || core.intents.concerns(row.id).filling) return refuse('ENVIRONMENT_NOT_EMPTY');
      return { status: 204, data: null, ...removal(ask.org, [{ kind: 'environment', id: row.id }]) };
    },
  },
};

export const orgOperations = {
  'org.create': createOrg,
  'org.recover': recover,
  'org.adopt': restoreDatabase,
  'org.read': read,
  'org.update': update,
  'org.delete': end,
  'environment.list': list,
  'environment.read': readOne,
  'environment.create': create,
  'environment.update': rename,
  'environment.delete': remove,
};
