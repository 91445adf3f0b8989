// The Worker under test: the real one, but for a D1 and a queue that tests can watch, delay and break (`faults.ts`).

import type { Env } from '../src/env';
import { Gate as RealGate } from '../src/gate';
import worker from '../src/index';
import { faults, faulty } from './faults';

export { Throttle } from '../src/throttle';

export class Gate extends RealGate {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, faulty(env));
  }
}

let isolate: { number: number; env: Env } | null = null;
const once = (env: Env) => {
  if (isolate?.number !== faults.isolate) isolate = { number: faults.isolate, env: faulty(env) };
  return isolate.env;
};

export default {
  fetch: (request, env, ctx) => worker.fetch(request, once(env), ctx),
  queue: (batch, env) => worker.queue(batch as never, once(env)),
  scheduled: (controller, env) => worker.scheduled(controller, once(env)),
} satisfies ExportedHandler<Env>;
