// Jobs: work that a gate requests from the Worker by queue message, because it needs keys that gates do not
// have. Invariants: a message contains only the organisation, the kind of job and an id; a job is safe to
// repeat, because the queue may deliver a message twice.

import { newId } from './db/ids';
import { jobs } from './domains';
import { type Env, settingsOf } from './env';
import type { QueueMessage } from './gate/queue-messages';
import { callGate } from './http/calls/gate-call';
import { keyringOf } from './keys/keyring';
import { measure } from './metrics/collect';

/**
 * Whether this release knows the job of a message. It does not if the message is of a newer release, or of
 * somebody else.
 */
export const isJob = (body: QueueMessage): body is QueueMessage & { kind: 'job' } =>
  body.kind === 'job' && typeof body.org === 'string' && Object.hasOwn(jobs, body.job);

/** Runs the job of a message. Throws if the job must be retried. */
export async function runJob(env: Env, { job, org, id }: QueueMessage & { kind: 'job' }): Promise<void> {
  const settings = settingsOf(env);
  if ('problem' in settings) throw new Error('misconfigured');
  const keys = await keyringOf(env, settings.masterKeys).org(org);
  // An organisation without a key has been deleted.
  if (!keys) return;
  const request = () => ({ id: newId('req'), ip: '', user_agent: null, reason: null, place: null });
  const trace = { route: 'job', org, credential: null, gate_calls: 0, gate_ms: 0, d1_calls: 0, code: null };
  await jobs[job]({
    env,
    org,
    keys,
    id: id ?? null,
    measure: (name, labels, value) => measure(env, name, labels, value),
    async ask(action, input, operation = action) {
      const ask = {
        org,
        action,
        operation,
        bearer: 'system',
        path_org: null,
        named: {},
        finding: null,
        input,
        idempotency: null,
      } as const;
      const rest = {
        one_time: null,
        again: false,
        repeated: false,
        keys: { row: keys.row, answer: keys.answer },
        request: request(),
      };
      return (await callGate(env, { ...ask, ...rest }, trace, true, () => {})).outcome;
    },
  });
}
