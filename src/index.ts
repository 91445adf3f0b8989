// The Worker: HTTP, queue and schedule, and the Durable Objects that it exports.
import { app } from './app';
import { runJob } from './delivery/jobs';
import type { QueueMessage } from './delivery/messages';
import type { Env } from './env';
import { probeCame, sendProbe } from './health';

export { Gate } from './gate';
export { Throttle } from './throttle';

export default {
  fetch: app.fetch,
  async queue(batch, env) {
    // Message by message: one that fails is tried again alone.
    for (const message of batch.messages) {
      try {
        if (message.body.kind === 'probe') await probeCame(env);
        else await runJob(env, message.body);
        message.ack();
      } catch {
        message.retry();
      }
    }
  },
  async scheduled(_controller, env) {
    await sendProbe(env);
  },
} satisfies ExportedHandler<Env, QueueMessage>;
