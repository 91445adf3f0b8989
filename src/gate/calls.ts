// What a gate answers over RPC: see the class in `gate.ts`. Apart from it, so that nothing that names a gate depends on all that is in one.
import type { Ask, Reply } from './types';

export interface GateCalls extends Rpc.DurableObjectBranded {
  call(ask: Ask): Promise<Reply>;
  pulse(event?: 'sent' | 'came', at?: number): Promise<{ sent: number | null; came: number | null }>;
  reserve(key: string, proposed: string, now?: number): Promise<string>;
}
