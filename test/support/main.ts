// The Worker under test: the real one, but for a D1, a gate and a queue that tests can watch, delay and break
// (`test/support/faults.ts`).
import { env as outer } from 'cloudflare:workers';
import type { Env } from '../../src/env';
import { mirror } from '../../src/gate/journal/mirror';
import { journal } from '../../src/gate/journal/records';
import type { Ask } from '../../src/gate/request/call';
import worker from '../../src/index';
import { Gate as RealGate } from '../../src/objects/gate';
import { DeviceLogin as RealDeviceLogin } from '../../src/objects/terminal-login';
import { faults, faulty, faultyStorage } from './faults';

export { DomainOwner } from '../../src/objects/domain-owner';
export { IssuerKeys } from '../../src/objects/issuer-keys';
export { Metrics } from '../../src/objects/metrics';
export { Replica } from '../../src/objects/replica';
export { Throttle } from '../../src/objects/throttle';
export { Upstream, Vault } from '../../src/vault-binding';

const { DB } = outer as unknown as Env;

export class Gate extends RealGate {
  constructor(ctx: DurableObjectState, env: Env) {
    const abort = () => ctx.abort('reset by a test');
    Object.defineProperty(ctx, 'storage', { value: faultyStorage(ctx.storage, abort) });
    const abortDurably = () => ctx.storage.sync().then(abort);
    super(ctx, { ...faulty(env, DB, abortDurably), ...faults.variables });
    // Storage of a newer release is not opened.
    if (this.core) this.core.now = () => faults.clock ?? Date.now();
  }

  protected override catalogue() {
    return faults.catalogue ?? super.catalogue();
  }

  /**
   * D1 follows before the reply, so that tests find in it what was changed; `faults.lags` lets it be late.
   */
  override async call(ask: Ask) {
    const reply = await super.call(ask);
    const lag = this.core ? journal(this.core).last() - journal(this.core).position() : 0;
    if (!faults.lags && lag > 0) await mirror(this.core).follow();
    return reply;
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

/** Tests send requests as the internet does, so Cloudflare would say where they are from. */
const fromInternet = (request: Request) =>
  request.cf ? request : Object.defineProperty(request, 'cf', { value: {} });

export default {
  fetch: (request, env, ctx) => worker.fetch(fromInternet(request), once(env), ctx),
  queue: (batch, env, ctx) => worker.queue(batch as never, once(env), ctx),
  scheduled: (controller, env, ctx) => worker.scheduled(controller, once(env), ctx),
} satisfies ExportedHandler<Env>;
