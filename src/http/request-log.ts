// The log line of a request, and what `GET /metrics` counts of it. Invariant: both name what was asked by its
// route, never by its path, and contain no name, value or token.
import { type MetricsEnv, measure, sendSoon } from '../metrics/collect';
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

/** Methods that are counted by name; of any other text there is no end. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'LIST'];

export function measureRequest(
  env: MetricsEnv,
  { started, method: sent, status }: Handled,
  { route, code, gate_ms, gate_calls }: Trace,
  defer: (work: Promise<unknown>) => void,
): void {
  if (!env.METRICS_TOKEN) return;
  const method = METHODS.includes(sent) ? sent : 'other';
  measure(env, 'svc_requests_total', [route, method, String(status)], 1);
  measure(env, 'svc_request_duration_seconds', [route, method], (Date.now() - started) / 1000);
  if (gate_calls > 0) measure(env, 'svc_gate_duration_seconds', [], gate_ms / 1000);
  if (code) measure(env, 'svc_refusals_total', [code], 1);
  sendSoon(env, defer);
}
