// Operations on upstreams in the gate. Invariants: an upstream that the caller may neither see nor use looks
// like one that does not exist; nobody makes one place a secret that they may not read.
import { idStart } from '../../../db/ids';
import type { UpstreamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, ok } from '../../../gate/request/outcome';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { briefOut, upstreamOut } from '../wire';
import { mayInspect, mayMake, mayUse, works } from './permission';

const find = ({ core, ask }: Call<unknown>): UpstreamRow | null =>
  core.rows.get('upstream', namedId(ask, 'upstream'));

const whole = (core: Core, row: UpstreamRow) =>
  upstreamOut(row, slugOf(core, row.environment_id), works(core, row));

/** What the caller may see of an upstream; null for nothing. */
function shown({ core, caller }: Call<unknown>, row: UpstreamRow) {
  // safety: upstream-shown-by-reach
  if (mayInspect(caller, row)) return whole(core, row);
  return mayUse(caller, row) ? briefOut(row) : null;
}

const list: Operation<ListInput> = {
  read: (call) => listed(call.core, 'upstream', idStart('upstream'), call.input, (row) => shown(call, row)),
};

const read: Operation<Record<string, never>> = {
  subject: (call) => about(call, find(call)),
  read(call) {
    const row = find(call);
    const data = row && shown(call, row);
    return data ? ok(data) : fail(refuse('NOT_FOUND'));
  },
};

const about = ({ core }: Call<unknown>, row: UpstreamRow | null) =>
  row ? { resource_name: row.name, environment: slugOf(core, row.environment_id) } : {};

/** The maker of an upstream from now on. */
const takenBy = ({ core, ask, caller }: Call<unknown>, now: number) => ({
  maker: caller.root,
  taken_at: now,
  generation: core.rows.get('org', ask.org)?.generation ?? 0,
});

/** 400 for secrets that are not there: who makes an upstream decides about the secrets, not their names. */
function missing({ core }: Call<unknown>, environment: string, names: readonly string[]): Refusal | null {
  const absent = names.filter((name) => !core.rows.find('secret', environment, name));
  return absent.length === 0
    ? null
    : refuse('VALIDATION_FAILED', {
        details: absent.map((name) => ({
          path: 'auth',
          message: `names the secret ${name}, which does not exist`,
        })),
      });
}

const taken = refuse('SLUG_TAKEN', { message: 'An upstream with this name already exists.' });

type Stored = Pick<
  UpstreamRow,
  | 'name'
  | 'base_url'
  | 'auth'
  | 'secrets'
  | 'allow'
  | 'max_request_bytes'
  | 'max_response_bytes'
  | 'timeout_seconds'
  | 'rate_limit'
>;

const create: Operation<Stored & { id: string; environment: string }> = {
  subject: ({ core, input }) => ({
    resource: input.id,
    resource_name: input.name,
    environment: environmentOf(core, input.environment)?.slug ?? null,
  }),
  authorize({ core, caller, input }) {
    const environment_id = environmentOf(core, input.environment)?.id ?? '';
    return mayMake(caller, { environment_id, secrets: input.secrets });
  },
  change: {
    locks: ({ input }) => [input.id, `upstream ${input.name}`],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const { environment: ref, ...fields } = input;
      const environment = environmentOf(core, ref);
      if (!environment)
        return refuse('NOT_FOUND', { message: 'The environment in environment does not exist.' });
      const refused = missing(call, environment.id, fields.secrets);
      if (refused) return refused;
      if (core.rows.find('upstream', '', fields.name)) return taken;
      const put = insertion(call, 'upstream', {
        org_id: ask.org,
        ...fields,
        environment_id: environment.id,
        created_by: caller.id,
        ...takenBy(call, now),
        created_at: now,
        updated_at: now,
      });
      const row = put.row as UpstreamRow;
      return { status: 201, data: whole(core, row), writes: [put], resource: row.id };
    },
  },
};

/** The fields that say who may call what with which secrets. */
const DIRECTING = ['name', 'base_url', 'auth', 'allow'] as const;

/** 403 unless the caller may change an upstream; what it may not see looks as if it did not exist. */
function mayChange(call: Call<unknown>, secrets?: readonly string[]): Refusal | null {
  const row = find(call);
  if (!row || !shown(call, row)) return null;
  return (
    mayMake(call.caller, row) ?? (secrets ? mayMake(call.caller, { ...row, secrets: [...secrets] }) : null)
  );
}

const visible = (call: Call<unknown>): UpstreamRow | null => {
  const row = find(call);
  return row && shown(call, row) ? row : null;
};

const update: Operation<Partial<Stored>> = {
  subject: (call) => about(call, find(call)),
  reach: (call) => mayChange(call),
  authorize: (call) => mayChange(call, call.input.secrets),
  change: {
    revises: visible,
    plan(call, now) {
      const { core, input } = call;
      const row = visible(call);
      if (!row) return refuse('NOT_FOUND');
      const refused = input.secrets ? missing(call, row.environment_id, input.secrets) : null;
      if (refused) return refused;
      const other = input.name === undefined ? null : core.rows.find('upstream', '', input.name);
      if (other && other.id !== row.id) return taken;
      // Whoever says where it sends, or revives one that has stopped, answers for it from now on.
      const isTaken = DIRECTING.some((field) => input[field] !== undefined) || !works(core, row);
      const put = revision(call, 'upstream', row, {
        ...input,
        ...(isTaken && takenBy(call, now)),
        updated_at: now,
      });
      const after = put.row as UpstreamRow;
      return { status: 200, data: whole(core, after), writes: [put], resource: row.id };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  subject: (call) => about(call, find(call)),
  reach: (call) => mayChange(call),
  change: {
    revises: visible,
    plan(call) {
      const row = visible(call);
      if (!row) return refuse('NOT_FOUND');
      return { status: 204, data: null, deletes: [{ kind: 'upstream', id: row.id }], destroyed: [row.id] };
    },
  },
};

export const upstreamOperations = {
  'upstream.list': list,
  'upstream.read': read,
  'upstream.create': create,
  'upstream.update': update,
  'upstream.delete': remove,
};
