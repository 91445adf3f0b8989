// The health of the deployment from the public /healthz, and links to its documentation.
import { useRead } from '../../requests/api';
import { reach } from '../../session/public-api';
import { Badge, ErrorNote, Facts, Skeleton } from '../../ui/parts';

interface Health {
  status: string;
  version: string;
  checks: { name: string; ok: boolean; message?: string }[];
}

const CHECKS: Record<string, string> = {
  database: 'Database (D1)',
  keys: 'Deployment key',
  organisations: 'Keys of organisations',
  gate: 'Durable Objects',
  gates: 'Gates of organisations',
  adoption: 'Restored database',
  schedule: 'Schedule',
  queue: 'Queue',
};
const TONES: Record<string, 'good' | 'warn' | 'bad'> = { ok: 'good', degraded: 'warn' };

export function Deployment() {
  const { data, error, isPending, refetch } = useRead(['health'], async (signal) => {
    // A 503 has the same format and says what fails.
    const answer = await reach('/healthz', { signal, headers: { Accept: 'application/json' } });
    return { data: (await answer.json()) as Health };
  });
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton rows={4} />;
  return (
    <div class="settings">
      <section class="card stack" aria-labelledby="health">
        <div class="row">
          <h2 id="health" class="grow">
            Health
          </h2>
          <Badge tone={TONES[data.status] ?? 'bad'}>{data.status === 'ok' ? 'healthy' : data.status}</Badge>
        </div>
        <Facts
          items={[
            ...data.checks.map(({ name, ok, message }): [string, preact.ComponentChildren] => [
              CHECKS[name] ?? name,
              <>
                <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'failing'}</Badge> {message}
              </>,
            ]),
            ['Version', data.version],
            ['Address', <code>{location.origin}</code>],
          ]}
        />
      </section>
      <section class="card stack" aria-labelledby="documents">
        <h2 id="documents">Documentation</h2>
        <ul class="stack">
          <li>
            <a href="/docs" target="_blank" rel="noreferrer">
              API reference
            </a>
          </li>
          <li>
            <a href="/docs/errors" target="_blank" rel="noreferrer">
              Error codes
            </a>
          </li>
          <li>
            <a href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
              OpenAPI document
            </a>
          </li>
        </ul>
      </section>
    </div>
  );
}
