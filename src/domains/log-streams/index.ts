// Log streams: the audit log, sent to the systems of a security team as it grows.
import type { Domain } from '../domain';
import { actions } from './actions';
import { deliver } from './deliver';
import { logStreamOperations } from './gate/operations';
import { states } from './gate/states';
import { followLogStream, runLogStreams } from './gate/task';
import { logStreamRoutes } from './routes';
import { logStream } from './rows';

export const logStreams = {
  tags: { 'Log streams': 'The audit log, sent to a SIEM or a bucket as it grows.' },
  actions,
  rows: [logStream],
  follows: { log_stream: followLogStream },
  raises: {
    log_stream(before, after, { action }) {
      const row = after ?? before;
      if (!row) return [];
      const data = { log_stream_id: row.id, name: row.name, kind: row.kind };
      if (action === 'log_stream.disable')
        return [{ type: 'LOG_STREAM_DISABLED', data: { ...data, reason: row.disabled } }];
      const change = before === null ? 'created' : after === null ? 'deleted' : 'updated';
      return [{ type: 'LOG_STREAM_CHANGED', data: { ...data, change } }];
    },
  },
  tasks: { log_streams: runLogStreams },
  bringForward: (core, now) => states(core).bringForward(now),
  clear: (core) => states(core).clear(),
  operations: logStreamOperations,
  routes: logStreamRoutes,
  jobs: { log_stream: deliver },
  examples: {},
} satisfies Domain;
