// Policies for tests.
import type { Caller } from '../world';

/** A new policy; answers what the service said. */
export async function newPolicy(
  o: Caller,
  kind: 'naming' | 'rotation' | 'approval',
  config: object,
  fields: Record<string, unknown> = {},
) {
  const { json, status, text } = await o.post('/policies', {
    name: `${kind} policy`,
    kind,
    config,
    ...fields,
  });
  if (status !== 201) throw new Error(`no policy: ${status} ${text}`);
  return json as { id: string; name: string; [field: string]: unknown };
}
