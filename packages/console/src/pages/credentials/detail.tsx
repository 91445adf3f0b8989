// One credential: its permissions, use, origin and access.
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Crumbs, LoadingPage, Missing, type Place } from '../../ui/page';
import { Badge, Empty, ErrorNote, Facts, Id, PageHead, Time } from '../../ui/parts';
import { EditCredential, RevokeCredential, RotateKey } from './change';
import { type Graph, GraphView } from './graph';
import { type Credential, kindOf, kinds, readOne, statusOf } from './kinds';
import { CredentialStatus } from './list';
import { TrustForm } from './trust';
import { TrustUse, trustFacts } from './trust-facts';
import { nameOfKind } from './words';
import '../../styles/access.css';
import { may } from '../../session/may';

const useGraph = (id: string) =>
  useRead(['credentials', 'graph', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/credentials/{id}/graph', { params: { path: { ...here(), id } }, signal }),
  );

const Chips = ({ items, none }: { items: readonly string[] | null; none: string }) =>
  items ? (
    <span class="chips">
      {items.map((item) => (
        <code key={item} class="chip">
          {item}
        </code>
      ))}
    </span>
  ) : (
    <span>{none}</span>
  );

const factsOf = (row: Credential): ([string, preact.ComponentChildren] | null)[] => [
  ['Scopes', <Chips items={row.scopes} none="Nothing" />],
  [
    'Environments',
    <Chips
      items={row.environments}
      none={row.kind === 'session' ? 'Same as parent' : 'All, including future ones'}
    />,
  ],
  ['Names', <Chips items={row.secrets} none={row.kind === 'session' ? 'Same as parent' : 'All'} />],
  ['IP addresses', <Chips items={row.addresses} none="Any" />],
  row.mcp ? ['Options of svc mcp', <Chips items={row.mcp.length ? row.mcp : null} none="None" />] : null,
  row.rate === null ? null : ['Requests per minute', row.rate.toLocaleString()],
  [
    'Last used',
    <>
      <Time at={row.lastUsed} /> {row.place && <span class="dim">from {row.place}</span>}
    </>,
  ],
  ['Requests', row.uses.toLocaleString()],
  [row.revoked ? 'Revoked' : 'Expires', <Time at={row.revoked ?? row.ends} />],
  row.device ? ['Device', <Link href={`/devices?id=${row.device}`}>{row.device}</Link>] : null,
  row.successor ? ['Successor', <Link href={`/credentials/${row.successor}`}>{row.successor}</Link>] : null,
  [
    'Created',
    <>
      <Time at={row.created} /> by <Who id={row.madeBy} />
    </>,
  ],
  ['ID', <Id id={row.id} />],
];

/** Other sources of access, beyond its own scopes. */
function Sources({ graph }: { graph: Graph }) {
  const more = graph.grants.filter(({ source }) => source !== 'credential');
  if (!more.length) return null;
  return (
    <section class="stack">
      <h2>Also has access through</h2>
      <ul class="timeline">
        {more.map(({ source, role, grant_id, grantee, scopes, environments, expires_at }) => (
          <li key={grant_id ?? role}>
            <Badge tone="accent">{source === 'role' ? `Role ${role}` : 'Grant'}</Badge>
            {grantee && <Who id={grantee.id} />}
            <span class="mono small">{scopes.join(', ')}</span>
            <span class="dim">in {environments?.join(', ') ?? 'all environments'}</span>
            {expires_at && (
              <span class="dim">
                ends <Time at={expires_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

type Doing = 'edit' | 'rotate' | 'revoke' | null;

function Head({
  name,
  credential,
  onDo,
}: {
  name: string;
  credential: Credential | null;
  onDo: (doing: Doing) => void;
}) {
  const [, go] = useLocation();
  const isLive = credential !== null && statusOf(credential) === 'active' && may('tokens:write');
  const kind = credential?.kind;
  return (
    <PageHead title={name} lead={credential && <CredentialStatus credential={credential} />}>
      {isLive && kind === 'api_key' && !credential.successor && (
        <Button onPress={() => onDo('rotate')}>Rotate</Button>
      )}
      {isLive && <Button onPress={() => onDo('revoke')}>Revoke</Button>}
      <Menu
        label="More actions"
        actions={[
          isLive &&
            (kind === 'api_key' || kind === 'agent' || kind === 'trust') && {
              label: 'Edit',
              onSelect: () => onDo('edit'),
            },
          credential && { label: 'Blast radius', onSelect: () => go(`/blast/${credential.id}`) },
          credential &&
            may('tokens:write') && { label: 'Contain', onSelect: () => go(`/incident/${credential.id}`) },
        ]}
      />
    </PageHead>
  );
}

const placesOf = (kind: ReturnType<typeof kindOf>): Place[] => [
  ['/credentials', 'Credentials'],
  ...(kind ? [[`/credentials${kind === 'api_key' ? '' : `?tab=${kind}`}`, kinds[kind].plural] as const] : []),
];

export default function CredentialPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: credential,
    error,
    isPending,
    refetch,
  } = useRead(['credentials', 'one', id], (signal) => readOne(id, signal), true);
  const graph = useGraph(id);
  const [doing, setDoing] = useState<Doing>(null);
  if (isPending || (graph.isPending && !graph.error)) return <LoadingPage />;
  if (error && graph.error)
    return (
      <Missing
        what="credential"
        list={['/credentials', 'Credentials']}
        error={graph.error}
        onRetry={refetch}
      />
    );
  const kind = kindOf(id);
  const name =
    credential?.name ?? graph.data?.name ?? (graph.data ? nameOfKind(graph.data.kind) : 'Credential');
  const end = () => setDoing(null);
  return (
    <>
      <Crumbs places={placesOf(kind)} />
      <Head name={name} credential={credential ?? null} onDo={setDoing} />
      {error ? <ErrorNote error={error} onRetry={refetch} /> : null}
      {graph.error ? (
        <ErrorNote error={graph.error} onRetry={graph.refetch} />
      ) : graph.data ? (
        <section class="stack spaced">
          <h2 class="unseen">Origin and access</h2>
          {graph.data.reach.alive ? null : (
            <p class="note warn">It is no longer valid, so it has no access.</p>
          )}
          <GraphView graph={graph.data} name={name} />
          <Sources graph={graph.data} />
        </section>
      ) : null}
      {credential ? (
        <div class="sections">
          {credential.trust && <TrustUse trust={credential.trust} />}
          <Facts items={[...trustFacts(credential.trust), ...factsOf(credential)]} />
        </div>
      ) : graph.data ? (
        <Empty title="No details available">
          The credential is no longer valid, or it is a member's browser session.
        </Empty>
      ) : null}
      {credential &&
        doing === 'edit' &&
        (credential.trust ? (
          <TrustForm trust={credential.trust} onClose={end} />
        ) : (
          <EditCredential credential={credential} onClose={end} />
        ))}
      {credential && doing === 'rotate' && <RotateKey credential={credential} onClose={end} />}
      {credential && doing === 'revoke' && (
        <RevokeCredential credential={credential} graph={graph.data} onClose={end} />
      )}
    </>
  );
}
