// The Worker: HTTP, queue and schedule handlers, and the Durable Object classes it exports.
import { app } from './app';
import type { DeployedEnv, Env } from './env';
import { ApiError } from './errors';
import { type JobName, MAX_RETRIES, type QueueMessage } from './gate/queue-messages';
import { probeCame, watch } from './health/check';
import { measure, sendSoon, withMetrics } from './metrics/collect';
import { isJob, runJob } from './queue';
import { withStoredSecrets } from './stored-secrets';

export { DomainOwner } from './objects/domain-owner';
export { Gate } from './objects/gate';
export { IssuerKeys } from './objects/issuer-keys';
export { Metrics } from './objects/metrics';
export { Replica } from './objects/replica';
export { DeviceLogin } from './objects/terminal-login';
export { Throttle } from './objects/throttle';
export { Upstream, Vault } from './vault-binding';

const failed = (error: unknown) =>
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'delivery_job_failed',
      why: error instanceof ApiError ? error.refusal.code : 'unexpected',
    }),
  );

/**
 * How long a message that failed waits, in seconds: each time twice as long, about four hours in all. What it
 * needs may be away for hours.
 */
const delayAfter = (attempts: number): number => 15 * 2 ** (attempts - 1);

/** From which age of a message, in milliseconds, the log warns. */
const LATE = 60_000;

/**
 * What identifies a message in the log. A message that somebody else put into the queue may have any body,
 * such as `null`.
 */
const subjectOf = (body: QueueMessage | null) =>
  body?.kind === 'job' ? { job: body.job, org: body.org } : { job: body?.kind };

/** Notes how long a message waited for its first attempt, and tells of one that waited long. */
function noteAge(env: Env, queue: string, { body, attempts, timestamp }: Message<QueueMessage>): void {
  if (attempts > 1) return;
  const age = Date.now() - timestamp.getTime();
  measure(env, 'svc_queue_lag_seconds', [queue], age / 1000);
  if (age < LATE) return;
  console.warn(
    JSON.stringify({
      level: 'warn',
      event: 'queue_late',
      ...subjectOf(body),
      seconds: Math.round(age / 1000),
    }),
  );
}

/** Tells of a message that fails; the last time, it goes to the dead-letter queue. */
function tellFailed({ body, attempts }: Message<QueueMessage>): void {
  const isDead = attempts > MAX_RETRIES;
  const entry = {
    level: isDead ? 'error' : 'warn',
    event: isDead ? 'message_dead' : 'message_failed',
    ...subjectOf(body),
    attempts,
  };
  console[isDead ? 'error' : 'warn'](JSON.stringify(entry));
}

/**
 * A sync may take longer than the 30 seconds of `waitUntil`, so the queue waits for it, except the local
 * runtime's queue, which processes one message at a time.
 */
const isInBackground = ({ job }: { job: JobName }, { LOCAL_QUEUE }: Env): boolean =>
  job === 'deliver' || job === 'notify' || job === 'log_stream' || (job === 'sync' && LOCAL_QUEUE === 'true');

/**
 * The handlers that the platform calls. Workers bound to this one call methods too, but of an export that is
 * no entrypoint class they reach own properties alone: inherited methods are for the platform.
 */
class Handlers {
  async fetch(request: Request, given: DeployedEnv, ctx: ExecutionContext) {
    return app.fetch(request, withMetrics(await withStoredSecrets(given)), ctx);
  }

  async queue(batch: MessageBatch<QueueMessage>, given: DeployedEnv, ctx: ExecutionContext) {
    const env = withMetrics(await withStoredSecrets(given));
    // Concurrently and independently: a failed message is retried, and a slow one does not delay the others.
    await Promise.all(
      batch.messages.map(async (message) => {
        const { body } = message;
        noteAge(env, batch.queue, message);
        try {
          if (body.kind === 'probe') await probeCame(env);
          // It goes to the dead letters, from which the release that knows it can take it.
          else if (!isJob(body)) throw new Error('unknown message');
          // The gate requests a failed job again, so the queue need not wait for slow receivers.
          else if (isInBackground(body, env)) ctx.waitUntil(runJob(env, body).catch(failed));
          else await runJob(env, body);
          message.ack();
        } catch {
          tellFailed(message);
          message.retry({ delaySeconds: delayAfter(message.attempts) });
        }
      }),
    );
    sendSoon(env, (work) => ctx.waitUntil(work));
  }

  async scheduled({ scheduledTime }: ScheduledController, given: DeployedEnv, ctx: ExecutionContext) {
    const env = withMetrics(await withStoredSecrets(given));
    await watch(env, scheduledTime);
    sendSoon(env, (work) => ctx.waitUntil(work));
  }
}

// safety: handlers-for-the-platform
export default new Handlers() satisfies ExportedHandler<DeployedEnv, QueueMessage>;
