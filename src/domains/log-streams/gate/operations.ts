// Operations on log streams in the gate. Invariants: the gate has targets and credentials only as ciphertext;
// nobody can make a stream skip an entry.

import { idStart } from '../../../db/ids';
import type { LogStreamKind, LogStreamRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { cutOf } from '../../../gate/archive/gaps';
import type { Core } from '../../../gate/core';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, type Outcome, ok, wants } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { insertion, revision, rowKeyOf } from '../../../gate/request/writes';
import { logStreamOut } from '../wire';
import { deliver, disable } from './deliver';
import { mayRun, whole } from './maker';
import { positionMac, restore } from './positions';
import { MOST_DRAINS, states } from './states';

const target = ({ ask }: Call<unknown>): string => namedId(ask, 'log_stream');
const find = (call: Call<unknown>): LogStreamRow | null => call.core.rows.get('log_stream', target(call));

const shown = (core: Core, row: LogStreamRow) => {
  const state = states(core).get(row.id);
  return logStreamOut(row, state, row.disabled ?? (mayRun(core, row) ? null : 'maker'));
};

/** Reads the positions from D1 where the gate has lost its storage. */
const restored = (call: Call<unknown>): Promise<void> => restore(call.core, rowKeyOf(call));

const list: Operation<ListInput> = {
  reach: whole,
  async read(call): Promise<Outcome> {
    await restored(call);
    return listed(call.core, 'log_stream', idStart('log_stream'), call.input, (row) => shown(call.core, row));
  },
};

const read: Operation<Record<string, never>> = {
  reach: whole,
  async read(call): Promise<Outcome> {
    await restored(call);
    const row = find(call);
    return row ? ok(shown(call.core, row)) : fail(refuse('NOT_FOUND'));
  },
};

/** What is made of a config in the Worker. */
type Sealed = Pick<LogStreamRow, 'config' | 'credentials_sealed'>;

interface CreateInput extends Sealed {
  id: string;
  name: string;
  kind: LogStreamKind;
  format: LogStreamRow['format'];
  from: 'now' | 'beginning' | number;
  enabled: boolean;
}

/** The maker of a stream, and the number of panics until now. */
const madeBy = ({ core, ask, caller }: Call<unknown>) => ({
  maker: caller.root,
  generation: core.rows.get('org', ask.org)?.generation ?? 0,
});

/** After which sequence a new stream begins. */
function beginsAfter(core: Core, from: CreateInput['from']): number | Refusal {
  const head = core.auditLog.head().sequence;
  const cut = cutOf(core)?.sequence ?? 0;
  if (from === 'now') return head;
  if (from === 'beginning') return cut;
  return from > head + 1
    ? refuse('VALIDATION_FAILED', {
        details: [
          { path: 'from', message: `must be at most ${head + 1}, the next sequence of the audit log` },
        ],
      })
    : Math.max(from - 1, cut);
}

const create: Operation<CreateInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  reach: whole,
  change: {
    plan(call, now) {
      const { core, ask, caller } = call;
      const { from, enabled, ...fields } = call.input;
      const starts_after = beginsAfter(core, from);
      if (typeof starts_after !== 'number') return starts_after;
      const put = insertion(call, 'log_stream', {
        org_id: ask.org,
        ...fields,
        disabled: enabled ? null : 'user',
        created_by: caller.id,
        ...madeBy(call),
        starts_after,
        created_at: now,
        updated_at: now,
      });
      const row = put.row as LogStreamRow;
      const begun = { position: starts_after, time: null };
      return {
        status: 201,
        data: logStreamOut(row, begun, row.disabled),
        writes: [put],
        resource: row.id,
      };
    },
  },
};

/** The Worker's result for a stored row and a new config: the columns, or the problems. */
export type Made = { revision: number } & (Sealed | { details: NonNullable<Refusal['details']> });

export interface UpdateInput {
  name?: string;
  format?: LogStreamRow['format'];
  enabled?: boolean;
  configures: boolean;
  made?: Made;
}

const waiting = refuse('CONFLICT', {
  message:
    'The entries before the last change are still sent to the earlier target. Repeat the request in a minute.',
});

const update: Operation<UpdateInput> = {
  reach: whole,
  change: {
    before: restored,
    revises: find,
    plan(call, now) {
      const { core } = call;
      const { configures, made, enabled, ...rest } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (configures && !made) return wants('value', row);
      if (made && 'details' in made) return refuse('VALIDATION_FAILED', { details: made.details });
      // safety: log-stream-unchanged-meanwhile
      if (made && made.revision !== row.revision)
        return refuse('CONFLICT', {
          message: 'Another request changed the log stream in the meantime. Repeat the request.',
        });
      // safety: log-stream-drains-bounded
      if (states(core).drains(row.id).length >= MOST_DRAINS) return waiting;
      const { config, credentials_sealed } = made ?? row;
      const disabled = enabled === undefined ? row.disabled : enabled ? null : (row.disabled ?? 'user');
      // Whoever sets its target, or starts it again, answers for it from now on.
      const isTaken =
        made !== undefined || (row.disabled !== null && disabled === null) || !mayRun(core, row);
      const put = revision(call, 'log_stream', row, {
        ...rest,
        config,
        credentials_sealed,
        disabled,
        ...(isTaken && madeBy(call)),
        updated_at: now,
      });
      const after = put.row as LogStreamRow;
      const isRetried = made !== undefined || row.disabled !== after.disabled;
      const state = states(core).get(row.id);
      return {
        status: 200,
        data: logStreamOut(
          after,
          state && isRetried ? { ...state, error: null, failing_since: null } : state,
          after.disabled,
        ),
        writes: [put],
        resource: row.id,
      };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  reach: whole,
  change: {
    before: restored,
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'log_stream', id: row.id }],
        destroyed: [row.id],
      };
    },
  },
};

const seek: Operation<{ sequence: number }> = {
  reach: whole,
  async read(call): Promise<Outcome> {
    await restored(call);
    const { core, input } = call;
    const row = find(call);
    const state = row && states(core).get(row.id);
    if (!row || !state) return fail(refuse('NOT_FOUND'));
    // safety: log-stream-seeks-back-only
    if (input.sequence > state.position)
      return fail(invalid('sequence', `must be at most ${state.position}, the position of the stream`));
    if (states(core).drains(row.id).length) return fail(waiting);
    const position = Math.max(input.sequence - 1, cutOf(core)?.sequence ?? 0);
    const now = core.now();
    core.storage.transactionSync(() => {
      states(core).set(row.id, {
        position,
        hash: null,
        time: null,
        batch_to: null,
        // Whoever seeks does not wait until the next attempt after failures is due.
        next_at: Math.min(state.next_at, now),
        catch_up: Math.max(state.catch_up, state.position),
        mac: positionMac(rowKeyOf(call), core.org, row.id, position),
      });
    });
    core.schedule.at('log_streams', now);
    return ok(shown(core, row));
  },
};

/** What a target said to a test: its status, and whether it took the message. */
export interface Verdict {
  status: number | null;
  taken: boolean;
}

/** Tries a failed batch again at once. What counts towards disabling the stream stays. */
function resume(core: Core, id: string): void {
  if ((states(core).get(id)?.attempts ?? 0) === 0) return;
  states(core).set(id, { next_at: core.now() });
  core.schedule.at('log_streams', core.now());
}

const test: Operation<{ verdict?: Verdict }> = {
  reach: whole,
  read(call): Outcome {
    const { verdict } = call.input;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    if (!verdict) return wants('value', row);
    const { status, taken } = verdict;
    if (status === null) return fail(refuse('TARGET_UNREACHABLE'));
    if (taken) {
      // The target is mended: a batch that failed need not wait for hours.
      // safety: log-stream-test-resumes
      resume(call.core, row.id);
      return ok({ delivered: true, status });
    }
    const message = `The target answered with status ${status}${status < 300 ? ', and did not take the message' : ''}.`;
    return fail(refuse('TARGET_REJECTED', { message }));
  },
};

export const logStreamOperations = {
  'log_stream.list': list,
  'log_stream.read': read,
  'log_stream.create': create,
  'log_stream.update': update,
  'log_stream.delete': remove,
  'log_stream.seek': seek,
  'log_stream.test': test,
  'log_stream.deliver': deliver,
  'log_stream.disable': disable,
};
