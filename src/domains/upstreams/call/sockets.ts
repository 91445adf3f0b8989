// A WebSocket between a caller and an upstream. Invariants: each message of the upstream is masked; the ends
// of one side, of the credential and of the bounds end both.

import type { Counts } from './bodies';
import { maskedBytes, maskedText } from './mask';
import type { UseEnd, UsePlan } from './use-plan';
import { endOfCut, type Watch } from './watch';

interface Relay {
  plan: Pick<UsePlan, 'max_request_bytes' | 'max_response_bytes'>;
  values: readonly string[];
  counts: Counts;
  watching: Watch;
  ended(how: UseEnd): void;
}

const sizeOf = (data: string | ArrayBuffer): number =>
  typeof data === 'string' ? new TextEncoder().encode(data).length : data.byteLength;

/** Codes that may be sent (RFC 6455 §7.4). */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);

function close(socket: WebSocket, code: number, reason: string): void {
  try {
    if (isSendable(code)) socket.close(code, reason.slice(0, 100));
    else socket.close(1011, 'broken off');
  } catch {
    // It is closed already.
  }
}

/** The connection ended without a close frame (RFC 6455 §7.4.1). */
const BROKEN_OFF = 1006;
const CODES: Partial<Record<UseEnd, number>> = { complete: 1000, too_large: 1009, credential_ended: 1008 };

/** Connects both; the answer's half for the caller. */
export function relayed(upstream: WebSocket, { plan, values, counts, watching, ended }: Relay): WebSocket {
  const { 0: caller, 1: here } = new WebSocketPair();
  let isOver = false;
  const over = (how: UseEnd) => {
    if (isOver) return;
    isOver = true;
    ended(how);
  };
  const cut = () => {
    const how = endOfCut(watching.cut());
    for (const socket of [upstream, here]) close(socket, CODES[how] ?? 1011, how);
    over(how);
  };
  watching.signal.addEventListener('abort', cut);
  /** Null for a message that takes too many steps. */
  const masked = (data: string | ArrayBuffer): string | Uint8Array | null => {
    try {
      return typeof data === 'string' ? maskedText(values, data) : maskedBytes(values, new Uint8Array(data));
    } catch {
      return null;
    }
  };
  const passed = (side: 'request' | 'response', to: WebSocket, most: number) => (event: MessageEvent) => {
    if (watching.signal.aborted) return;
    const data = event.data as string | ArrayBuffer;
    counts[side] += sizeOf(data);
    watching.heard();
    if (counts[side] > most) return watching.end(side === 'request' ? 'request_too_large' : 'too_large');
    const passing = side === 'response' ? masked(data) : data;
    if (passing === null) return watching.end('too_large');
    to.send(passing);
  };
  here.addEventListener('message', passed('request', upstream, plan.max_request_bytes));
  upstream.addEventListener('message', passed('response', here, plan.max_response_bytes));
  here.addEventListener('close', ({ code, reason }) => {
    close(upstream, code, reason);
    over(code === BROKEN_OFF ? 'caller_gone' : 'complete');
  });
  upstream.addEventListener('close', ({ code, reason }) => {
    close(here, code, maskedText(values, reason));
    over(code === BROKEN_OFF ? 'upstream_broke_off' : 'complete');
  });
  here.addEventListener('error', () => watching.end('caller_gone'));
  upstream.addEventListener('error', () => {
    close(here, 1011, 'broken off');
    over('upstream_broke_off');
  });
  upstream.accept();
  here.accept();
  watching.heard();
  return caller;
}
