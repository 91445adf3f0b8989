// The log line of a request. Invariant: it names what was asked by its route, never by its path, and contains
// no name, value or token.
import type { Trace } from './context';

interface Handled {
  /** When the request came, in milliseconds. */
  started: number;
  id: string;
  method: string;
  status: number;
}

export function logRequest(
  { started, id, method, status }: Handled,
  { route, org, credential, code, gate_ms, gate_calls, d1_calls, region }: Trace,
): void {
  console.log(
    JSON.stringify({
      level: status >= 500 ? 'error' : 'info',
      time: new Date(started).toISOString(),
      request_id: id,
      method,
      route,
      org,
      credential,
      status,
      ...(code && { code }),
      ms: Date.now() - started,
      gate_ms,
      gate_calls,
      d1_calls,
      ...(region && { region }),
    }),
  );
}
