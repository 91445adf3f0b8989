// The health of the deployment from the public /healthz, and links to its documentation.
import { useRead } from '../../api';
import { reach } from '../../public-api';
import { Badge, ErrorNote, Facts, Skeleton } from '../../ui/parts';

interface Health {
  status: string;
  version: string;
  checks: Record<string, string>;
}

const CHECKS: Record<string, string> = { database: 'Database (D1)', gate: 'Gate (Durable Objects)', queue: 'Queue' };

export function Deployment() {
  const { data, error, isPending, refetch } = useRead(['health'], async (signal) => {
    // A 503 has the same format and says what fails.
    const answer = await reach('/healthz', { signal, headers: { Accept: 'application/json' } });
    return { data: (await answer.json()) as Health };
  });
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton rows={4} />;
  const isWell = data.status === 'ok';
  return (
    <div class="settings">
      <section class="card stack" aria-labelledby="health">
        <div class="row">
          <h2 id="health" class="grow">
            Health
          </h2>
          <Badge tone={isWell ? 'good' : 'bad'}>{isWell ? 'healthy' : 'failing'}</Badge>
        </div>
        <Facts
          items={[
            ...Object.entries(data.checks).map(([name, status]): [string, preact.ComponentChildren] => [
              CHECKS[name] ?? name,
              <Badge tone={status === 'ok' ? 'good' : 'bad'}>{status}</Badge>,
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
