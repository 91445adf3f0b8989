// The Worker: HTTP, queue and schedule, and the Durable Objects that it exports.
import { app } from './app';
import { runJob } from './delivery/jobs';
import type { QueueMessage } from './delivery/messages';
import type { Env } from './env';
import { ApiError } from './errors';
import { probeCame, sendProbe } from './health';

export { Gate } from './gate';
export { Throttle } from './throttle';

const failed = (error: unknown) =>
  console.error(
    JSON.stringify({ level: 'error', event: 'delivery_job_failed', why: error instanceof ApiError ? error.refusal.code : 'unexpected' }),
  );

export default {
  fetch: app.fetch,
  async queue(batch, env, ctx) {
    // At the same time, each alone: one that fails is tried again, one that is slow holds up no other.
    await Promise.all(
      batch.messages.map(async (message) => {
        const { body } = message;
        try {
          // The gate asks again for a delivery that came to nothing: the queue need not wait for slow receivers.
          if (body.kind === 'job' && (body.job === 'deliver' || body.job === 'notify')) ctx.waitUntil(runJob(env, body).catch(failed));
          else await (body.kind === 'probe' ? probeCame(env) : runJob(env, body));
          message.ack();
        } catch {
          message.retry();
        }
      }),
    );
  },
  async scheduled(_controller, env) {
    await sendProbe(env);
  },
} satisfies ExportedHandler<Env, QueueMessage>;
