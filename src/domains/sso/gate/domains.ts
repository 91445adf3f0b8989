// Operations on domains in the gate. Invariants: a domain is verified only by a claim of its Durable Object
// that is not void; a record that is not found for seven days ends the proof; a domain that is not verified
// admits nobody.

import { mustReachAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import { DAY } from '../../../db/rows';
import type { DomainRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found, ok, wants } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import type { HeldInput } from '../owner';
import { domainOut } from '../wire';
import { claims } from './claims';
import { connectionsWith, lapsing } from './lapse';

/** How long a record may be missing until the domain is pending again. */
const MISSING_FOR = 7 * DAY;
/** How often the records of verified domains are looked up. */
const CHECKED_EVERY = DAY;

const find = ({ core, ask }: Call<unknown>): DomainRow | null =>
  core.rows.get('domain', namedId(ask, 'domain'));

/** Domains are of the whole organisation. */
const whole = ({ need, caller }: Call<unknown>) => mustReachAll(caller, need.scopes, 'change domains');

const list: Operation<ListInput> = {
  read: ({ core, input }) => listed(core, 'domain', idStart('domain'), input, domainOut),
};

const read: Operation<Record<string, never>> = { read: (call) => found(find(call), domainOut) };

const create: Operation<{ id: string; domain: string }> = {
  subject: ({ input }) => ({ resource: input.id }),
  authorize: whole,
  change: {
    plan(call, now) {
      const { core, ask, caller, input } = call;
      if (core.rows.find('domain', '', input.domain))
        return refuse('CONFLICT', { message: 'The organisation already has this domain.' });
      const put = insertion(call, 'domain', {
        org_id: ask.org,
        ...input,
        created_by: caller.id,
        created_at: now,
      });
      return { status: 201, data: domainOut(put.row as DomainRow), writes: [put] };
    },
  },
};

/** What the Worker found: no record, another organisation's domain, or the number of its claim. */
export type Found = 'missing' | 'taken' | number;

const TAKEN = refuse('CONFLICT', {
  message:
    'The domain is verified for another organisation of this service. It becomes free when that organisation deletes it.',
});

const verify: Operation<{ found?: Found }> = {
  authorize: whole,
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (input.found === 'missing') return refuse('DOMAIN_NOT_VERIFIED');
      if (input.found === 'taken') return TAKEN;
      // safety: void-claim-verifies-nothing
      if (input.found === undefined || claims(core).isVoid(row.id, input.found)) return wants('value', row);
      const put = revision(call, 'domain', row, {
        verified_at: row.verified_at ?? now,
        missing_since: null,
      });
      return { status: 200, data: domainOut(put.row as DomainRow), writes: [put] };
    },
  },
};

/** The connections without a domain. */
const without = (call: Call<unknown>, id: string) =>
  connectionsWith(call, id).map((row) =>
    revision(call, 'sso_connection', row, { domains: row.domains.filter((one) => one !== id) }),
  );

const remove: Operation<Record<string, never>> = {
  authorize: whole,
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return {
        status: 204,
        data: null,
        writes: [...without(call, row.id), ...lapsing(call, connectionsWith(call, row.id), [row.id], now)],
        deletes: [{ kind: 'domain', id: row.id }],
      };
    },
  },
};

// ---------------------------------------------------------------- of the service itself

/** Whether a row is verified. If not, the claim is void from now on. */
const held: Operation<HeldInput> = {
  read({ core, ask, input }): OperationOutcome {
    const isAlive = core.rows.get('org', ask.org)?.deleted_at === null;
    const isHeld = isAlive && (core.rows.get('domain', input.id)?.verified_at ?? null) !== null;
    // safety: claim-void-before-it-is-passed-on
    if (!isHeld) claims(core).void(input.id, input.number);
    return { ...ok({ held: isHeld }), audited: true };
  },
};

/** A domain whose record is to be looked up. */
export type Checked = Pick<DomainRow, 'org_id' | 'id' | 'domain' | 'missing_since'>;

const verified = ({ rows }: Core) =>
  rows.within('domain', '').filter(({ verified_at }) => verified_at !== null);

const toCheck: Operation<Record<string, never>> = {
  read: ({ core }): OperationOutcome => ({
    ...ok(
      verified(core).map(
        ({ org_id, id, domain, missing_since }): Checked => ({ org_id, id, domain, missing_since }),
      ),
    ),
    audited: true,
  }),
};

/** A record was not found, or found again; or the domain turned out to be another organisation's. */
const checked: Operation<{ id: string; found: 'found' | 'missing' | 'taken' }> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = core.rows.get('domain', input.id);
      if (!row || row.verified_at === null) return refuse('NOT_FOUND');
      const since = input.found === 'found' ? null : (row.missing_since ?? now);
      // safety: missing-record-ends-proof
      const isOver = input.found === 'taken' || (since !== null && now - since >= MISSING_FOR);
      const put = revision(call, 'domain', row, {
        ...(isOver && { verified_at: null }),
        missing_since: isOver ? null : since,
      });
      const lapsed = isOver ? lapsing(call, connectionsWith(call, row.id), [row.id], now) : [];
      return { status: 200, data: { pending: isOver }, writes: [put, ...lapsed] };
    },
  },
};

/** Asks the Worker to look the records up. */
export async function checkDomains(core: Core, now: number): Promise<number | null> {
  if (core.rows.get('org', core.org)?.deleted_at !== null || verified(core).length === 0) return null;
  await core.enqueue('domains');
  return now + CHECKED_EVERY;
}

/** Also for a gate that lost its schedule with its storage. */
export function scheduleCheck(core: Core, now: number): void {
  if (verified(core).length > 0) core.schedule.at('domains', now + CHECKED_EVERY);
}

export const domainOperations = {
  'domain.list': list,
  'domain.read': read,
  'domain.create': create,
  'domain.verify': verify,
  'domain.delete': remove,
  'domain.held': held,
  'domain.check': toCheck,
  'domain.checked': checked,
};
