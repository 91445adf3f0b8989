// Operations on the environments of an organisation in the gate. Invariants: the default environment and
// environments that contain secrets cannot be deleted.

import { namesHeld, reaches, reachesEnvironment } from '../../../auth/authorize';
import type { EnvironmentRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, found, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf, MOST_ENVIRONMENTS } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { prefixesOf } from '../../secrets/gate/selection';
import { environmentOut } from '../wire';
import { whole } from './unlimited-callers';

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
    return ok({
      items: items.map(environmentOut),
      next: rows.length > input.limit ? items.at(-1)?.id : null,
    });
  },
};

const named = ({ core, ask }: Call<unknown>): EnvironmentRow | null =>
  environmentOf(core, ask.named.environment);
const aboutNamed = (call: Call<unknown>) => ({ resource: named(call)?.id ?? null });

const readOne: Operation<Record<string, never>> = {
  subject: aboutNamed,
  read: (call) => found(named(call), environmentOut),
};

/** What a caller can do with secrets. */
const SECRETS = ['list', 'read', 'write', 'rotate', 'delete'].map((verb) => `secrets:${verb}`);

/** The environments with secrets that the caller can use: the one that is named, or all of them. */
const mounts: Operation<Record<string, never>> = {
  subject: aboutNamed,
  read(call): Outcome {
    const { core, ask, caller } = call;
    const all =
      ask.named.environment === undefined
        ? core.rows.after('environment', '', MOST_ENVIRONMENTS)
        : [named(call)].filter((row) => row !== null);
    const shown = all.filter(({ id }) => reachesEnvironment(caller, SECRETS, id));
    if (ask.named.environment !== undefined && shown.length === 0) return fail(refuse('NOT_FOUND'));
    return ok({ environments: shown.map(({ id, slug, name }) => ({ id, slug, name })) });
  },
};

/** A name in an environment, or all names with a prefix; null for any. */
export interface PlaceAsked {
  environment: string;
  name: string | null;
  prefix: string | null;
}

/** Which scopes of secrets the caller holds at some places. What does not exist has none. */
const capabilities: Operation<{ places: PlaceAsked[] }> = {
  read({ core, caller, input }): Outcome {
    const heldAt = ({ environment: ref, name, prefix }: PlaceAsked) => {
      const environment = environmentOf(core, ref);
      return SECRETS.filter((scope) => {
        if (!environment) return false;
        if (name !== null) return reaches(caller, [scope], environment.id, name);
        const isThere = reachesEnvironment(caller, [scope], environment.id);
        const patterns = namesHeld(caller, [scope], environment.id);
        return isThere && (prefix === null || prefixesOf(prefix, patterns).length > 0);
      });
    };
    return ok({ held: input.places.map(heldAt) });
  },
};

const create: Operation<{ id: string; name: string; slug: string }> = {
  subject: ({ input }) => ({ resource: input.id, environment: input.slug }),
  authorize: (call) => whole(call),
  change: {
    plan(call, now) {
      const { core, ask, input } = call;
      if (core.rows.find('environment', '', input.slug)) return refuse('SLUG_TAKEN');
      const put = insertion(call, 'environment', { org_id: ask.org, ...input, created_at: now });
      return {
        status: 201,
        data: environmentOut(put.row as EnvironmentRow),
        writes: [put],
        resource: input.id,
      };
    },
  },
};

const update: Operation<{ name?: string; lease_seconds?: number }> = {
  subject: aboutNamed,
  change: {
    revises: named,
    plan(call) {
      const row = named(call);
      if (!row) return refuse('NOT_FOUND');
      const put = revision(call, 'environment', row, call.input);
      return { status: 200, data: environmentOut(put.row as EnvironmentRow), writes: [put] };
    },
  },
};

const HAS_EMPTY = refuse('ENVIRONMENT_NOT_EMPTY', {
  message:
    'The environment has secrets without a value. ListSecrets of its endpoint for clients of AWS shows them, and DeleteSecret deletes them.',
});

const remove: Operation<Record<string, never>> = {
  subject: aboutNamed,
  authorize: (call) => whole(call),
  change: {
    revises: named,
    plan(call) {
      const { core, ask } = call;
      const row = named(call);
      if (!row) return refuse('NOT_FOUND');
      if (core.rows.get('org', ask.org)?.default_environment === row.id)
        return refuse('ENVIRONMENT_IS_DEFAULT');
      if (core.rows.named(row.id, '', '', 1).length) return refuse('ENVIRONMENT_NOT_EMPTY');
      // safety: secrets-without-value-kept
      if (core.rows.within('reserved_secret', row.id).some(({ stays }) => stays)) return HAS_EMPTY;
      const describes = `delete the environment "${row.slug}", which takes it off the policies that name it`;
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'environment', id: row.id }],
        describes,
      };
    },
  },
};

export const environmentOperations = {
  'environment.list': list,
  'environment.read': readOne,
  'environment.create': create,
  'environment.update': update,
  'environment.mounts': mounts,
  'environment.capabilities': capabilities,
  'environment.delete': remove,
};
