// The RPC methods of a gate: see the class in `gate.ts`. Separate, so that code that refers to a gate does not depend on its
// implementation.
import type { Ask, Reply } from './types';

/** What a gate says as it ends for a reset. */
export const RESET = 'this gate was reset';

export interface GateCalls extends Rpc.DurableObjectBranded {
  call(ask: Ask): Promise<Reply>;
  pulse(event?: 'sent' | 'came', at?: number): Promise<{ sent: number | null; came: number | null }>;
  reset(): Promise<void>;
  reserve(key: string, proposed: string, now?: number): Promise<string>;
}
