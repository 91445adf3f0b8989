// A small domain that only a test has: rows with a quota, changes of them, a task and an event. Everything
// that it needs is in this folder.
import type { Domain } from '../../../src/domains/domain';
import { refuse } from '../../../src/errors';
import type { EventType } from '../../../src/gate/outbox';
import type { Operation } from '../../../src/gate/request/call';
import { insertion, revision } from '../../../src/gate/request/writes';
import { widget } from './rows';

interface Input {
  id: string;
  name: string;
}

const put: Operation<Input> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    locks: ({ input }) => [input.id],
    plan(call) {
      const { core, ask, input } = call;
      const known = core.rows.get('widget', input.id);
      const row = known
        ? revision(call, 'widget', known, { name: input.name })
        : insertion(call, 'widget', { org_id: ask.org, ...input });
      return { status: 200, data: input, writes: [row] };
    },
  },
};

const remove: Operation<Input> = {
  change: {
    locks: ({ input }) => [input.id],
    plan: ({ core, input }) =>
      core.rows.get('widget', input.id)
        ? { status: 204, data: null, deletes: [{ kind: 'widget', id: input.id }] }
        : refuse('NOT_FOUND'),
  },
};

const nameOf = (id: string) => `widget:${id}`;

export const domain = {
  tags: {},
  actions: { 'widget.write': { scopes: [], kinds: ['system'] } },
  rows: [widget],
  operations: { 'widget.put': put as Operation, 'widget.remove': remove as Operation },
  routes: [],
  examples: {},
  raises: {
    widget: (before, after) => [
      { type: 'WIDGET_CHANGED' as EventType, data: { from: before?.name ?? null, to: after?.name ?? null } },
    ],
  },
  follows: {
    widget(core, { id, after }, now) {
      if (after) core.meta.set(nameOf(id), after.name);
      else core.meta.forget(nameOf(id));
      core.schedule.at('widgets', now + 1000);
    },
  },
  tasks: {
    widgets(core) {
      core.meta.set('widgets', String(core.rows.count('widget')));
      return null;
    },
  },
  clear: (core) => core.meta.drop('widget:'),
} satisfies Domain;
