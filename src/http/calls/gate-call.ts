// Calls a gate over a fresh stub, and repeats once if the platform says that this may help. A repeat is
// harmless: a change is recognised by its request id.
import type { Env } from '../../env';
import { ApiError, changeInDoubt, refuse } from '../../errors';
import type { Ask, Reply } from '../../gate/request/call';
import { readReply, writeAsk } from '../../gate/request/rollout';
import type { Trace } from '../context';

export async function callGate(
  env: Env,
  ask: Ask,
  trace: Trace,
  changes: boolean,
  defer: (work: Promise<unknown>) => void,
  locationHint?: DurableObjectLocationHint,
): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    const started = Date.now();
    try {
      trace.gate_calls++;
      const stub = env.GATE.getByName(ask.org, locationHint ? { locationHint } : {});
      const answer = stub.call(
        writeAsk(attempt ? { ...ask, repeated: true } : ask),
      ) as unknown as Promise<Reply>;
      // If the client of a change disconnects, the gate's result is still awaited.
      if (changes) defer(answer.catch(() => {}));
      const reply = readReply(await answer);
      trace.d1_calls += reply.d1_calls;
      return reply;
    } catch (error) {
      const { overloaded, retryable } = error as { overloaded?: boolean; retryable?: boolean };
      if (overloaded) throw new ApiError(refuse('OVERLOADED', { retry_after: 2 }));
      if (!retryable || attempt > 0) {
        console.error(
          JSON.stringify({
            level: 'error',
            event: 'gate_unreachable',
            org: ask.org,
            request_id: ask.request.id,
            why: error instanceof Error ? error.message.slice(0, 200) : 'unknown',
          }),
        );
        throw new ApiError(changes ? changeInDoubt(1) : refuse('UNAVAILABLE', { retry_after: 1 }));
      }
    } finally {
      trace.gate_ms += Date.now() - started;
    }
  }
}
