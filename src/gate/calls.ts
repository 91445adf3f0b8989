// The RPC methods of a gate: see the class in `gate.ts`. Separate, so that code that refers to a gate does not depend on its
// implementation.
import type { Ask, Reply } from './types';
import type { Vitals } from './vitals';

/** What the gate of the health check holds: when a probe was last sent and came, and the last survey. */
export interface Pulse {
  sent: number | null;
  came: number | null;
  survey: string | null;
}

export interface GateCalls extends Rpc.DurableObjectBranded {
  call(ask: Ask): Promise<Reply>;
  pulse(event?: 'sent' | 'came', at?: number): Promise<Pulse>;
  vitals(): Promise<Vitals>;
  surveyed(survey: string): Promise<void>;
  reserve(key: string, proposed: string, now?: number): Promise<string>;
}
