// The Worker under test: the real one, but for a D1, a gate and a queue that tests can watch, delay and break
// (`test/support/faults.ts`).
import { env as outer } from 'cloudflare:workers';
import type { Env } from '../../src/env';
import worker from '../../src/index';
import { Gate as RealGate } from '../../src/objects/gate';
import { DeviceLogin as RealDeviceLogin } from '../../src/objects/terminal-login';
import { faults, faulty, faultyStorage } from './faults';

export { IssuerKeys } from '../../src/objects/issuer-keys';
export { Throttle } from '../../src/objects/throttle';

const { DB } = outer as unknown as Env;

export class Gate extends RealGate {
  constructor(ctx: DurableObjectState, env: Env) {
    const abort = () => ctx.abort('reset by a test');
    Object.defineProperty(ctx, 'storage', { value: faultyStorage(ctx.storage, abort) });
    const abortDurably = () => ctx.storage.sync().then(abort);
    super(ctx, faulty(env, DB, abortDurably));
    // Storage of a newer release is not opened.
    if (this.core) this.core.now = () => faults.clock ?? Date.now();
  }

  protected override catalogue() {
    return faults.catalogue ?? super.catalogue();
  }

  override async alarm() {
    if (!faults.isAlarmHeld) await super.alarm();
  }
}

export class DeviceLogin extends RealDeviceLogin {
  protected override now() {
    return faults.clock ?? Date.now();
  }
}

let isolate: { number: number; env: Env } | null = null;
const once = (env: Env) => {
  if (isolate?.number !== faults.isolate)
    isolate = { number: faults.isolate, env: { ...faulty(env, DB), ...faults.variables } };
  return isolate.env;
};

export default {
  fetch: (request, env, ctx) => worker.fetch(request, once(env), ctx),
  queue: (batch, env, ctx) => worker.queue(batch as never, once(env), ctx),
  scheduled: (controller, env) => worker.scheduled(controller, once(env)),
} satisfies ExportedHandler<Env>;
