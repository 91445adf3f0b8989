// The Worker: HTTP, queue and schedule handlers, and the Durable Object classes it exports.
import { app } from './app';
import { runJob } from './delivery/jobs';
import type { JobName, QueueMessage } from './delivery/messages';
import type { Env } from './env';
import { ApiError } from './errors';
import { probeCame, watch } from './health';

export { DeviceLogin } from './device-login';
export { Gate } from './gate';
export { IssuerKeys } from './issuer-keys';
export { Throttle } from './throttle';

const failed = (error: unknown) =>
  console.error(
    JSON.stringify({ level: 'error', event: 'delivery_job_failed', why: error instanceof ApiError ? error.refusal.code : 'unexpected' }),
  );

/**
 * A sync may take longer than the 30 seconds of `waitUntil`, so the queue waits for it, except the local runtime's queue, which processes
 * one message at a time.
 */
const isInBackground = ({ job }: { job: JobName }, { LOCAL_QUEUE }: Env): boolean =>
  job === 'deliver' || job === 'notify' || (job === 'sync' && LOCAL_QUEUE === 'true');

export default {
  fetch: app.fetch,
  async queue(batch, env, ctx) {
    // Concurrently and independently: a failed message is retried, and a slow one does not delay the others.
    await Promise.all(
      batch.messages.map(async (message) => {
        const { body } = message;
        try {
          // The gate requests a failed job again, so the queue need not wait for slow receivers.
          if (body.kind === 'job' && isInBackground(body, env)) ctx.waitUntil(runJob(env, body).catch(failed));
          else await (body.kind === 'probe' ? probeCame(env) : runJob(env, body));
          message.ack();
        } catch {
          message.retry();
        }
      }),
    );
  },
  async scheduled(_controller, env) {
    await watch(env);
  },
} satisfies ExportedHandler<Env, QueueMessage>;
