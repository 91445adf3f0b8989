// Contains one credential: shows its details, access and activity, then asks, then shows the report. Invariant: the report is
// kept until the member signs out, and repeating the containment only completes what was not done.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { forget, here, useRead, vault } from '../../api';
import { Who } from '../../people';
import { me } from '../../session';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Checkbox, TextField } from '../../ui/field';
import { Crumbs } from '../../ui/page';
import { Badge, Empty, ErrorNote, Facts, Id, PageHead, Skeleton, Time } from '../../ui/parts';
import { Lines, Table } from '../../ui/table';
import { Outcome } from '../audit/entry';
import { KINDS } from './credentials';
import { Report } from './report';
import './incident.css';

type Graph = components['schemas']['CredentialGraph'];
type Contained = components['schemas']['Contained'];
type Entry = components['schemas']['AuditEntry'];

const useGraph = (id: string) =>
  useRead(['credentials', 'graph', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/credentials/{id}/graph', { params: { path: { ...here(), id } }, signal }),
  );

const useDoings = (id: string) =>
  useRead(['audit', 'actor', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/audit-log', { params: { path: here(), query: { actor: id, limit: 50 } }, signal }),
  );

/** The reports of this session, by the credential: opening a secret and coming back must not lose one. They hold no values. */
const reports = new Map<string, Contained>();
me.subscribe((member) => {
  if (!member) reports.clear();
});

const many = (count: number, one: string): string => `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;
const named = ({ name, id }: { name: string | null; id: string }): string => name || id;

function About({ graph }: { graph: Graph }) {
  const { parent, children, reach } = graph;
  const secrets = reach.environments.reduce((sum, { secrets: each }) => sum + each, 0);
  const ending = children.filter(({ relation }) => relation === 'dies_with');
  return (
    <Facts
      items={[
        ['Kind', KINDS[graph.kind]],
        ['Status', <Badge tone={reach.alive ? 'warn' : 'plain'}>{reach.alive ? 'still valid' : 'no longer valid'}</Badge>],
        ['Scopes', reach.scopes.length ? <span class="mono">{reach.scopes.join(', ')}</span> : <span class="dim">None</span>],
        [
          'Access to',
          reach.environments.length ? (
            `${many(secrets, 'secret')} in ${reach.environments.map(({ environment }) => environment).join(', ')}`
          ) : (
            <span class="dim">No secrets</span>
          ),
        ],
        ['Created by', parent && <Who id={parent.id} name={parent.name} />],
        ['Revoked with it', ending.length ? ending.map((child) => named(child)).join(', ') : <span class="dim">Nothing else</span>],
        ['ID', <Id id={graph.id} />],
      ]}
    />
  );
}

/** Its latest activity, from the audit log. */
function Doings({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useDoings(id);
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton rows={3} />;
  return (
    <Table<Entry>
      label="Latest activity"
      rows={(data as { data: Entry[] }).data}
      keyOf={(entry) => entry.id}
      columns={[
        {
          label: 'Resource',
          width: 'minmax(9rem, 2fr)',
          cell: (entry) => (
            <Lines
              sub={
                <>
                  {entry.action}, <Time at={entry.time} />
                </>
              }
            >
              {entry.resource_name ?? (entry.environment ? 'all secrets' : (entry.resource ?? ''))}{' '}
              {entry.environment && <span class="dim small">{entry.environment}</span>}
            </Lines>
          ),
        },
        { label: 'Outcome', width: '6.5rem', cell: Outcome },
        { label: 'Action', width: '9rem', wide: true, cell: ({ action }) => <span class="mono truncate">{action}</span> },
        { label: 'From', width: '9rem', wide: true, cell: ({ ip }) => <span class="dim mono truncate">{ip}</span> },
        { label: 'Time', width: '8rem', wide: true, cell: ({ time }) => <Time at={time} /> },
      ]}
      empty={<Empty title="No activity">The audit log contains no request with this credential.</Empty>}
    />
  );
}

function Act({ graph, onDone }: { graph: Graph; onDone: (result: Contained) => void }) {
  const [rotate, setRotate] = useState(true);
  const [since, setSince] = useState('');
  const [asking, setAsking] = useState(false);
  const name = named(graph);
  const ending = graph.children.filter(({ relation }) => relation === 'dies_with').length;
  const contain = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/credentials/{id}/contain', {
      params: { path: { ...here(), id: graph.id } },
      body: { ...(rotate && { rotate: 'generated' as const }), ...(since && { since: new Date(since).toISOString() }) },
    });
    onDone(data);
    await forget('credentials', 'secrets', 'audit');
  };
  return (
    <section class="card stack" aria-labelledby="choose">
      <h2 id="choose">Contain</h2>
      <Checkbox
        label="Rotate generated secrets"
        hint="Generated secrets that it read or wrote get a new value. The report lists the others, which you must rotate yourself."
        checked={rotate}
        onChecked={setRotate}
      />
      <TextField
        label="Report activity since"
        optional
        type="datetime-local"
        value={since}
        onValue={setSince}
        hint="Default: since the credential was created"
      />
      <div>
        <Button kind="danger" onPress={() => setAsking(true)}>
          Contain this credential…
        </Button>
      </div>
      {asking && (
        <Confirm title={`Contain ${name}?`} action="Contain credential" onConfirm={contain} onClose={() => setAsking(false)}>
          <ul class="bullets">
            <li>
              {KINDS[graph.kind]} <strong>{name}</strong> is revoked immediately and cannot be restored. Programs that use it will fail.
            </li>
            <li>
              {ending
                ? `This also revokes ${many(ending, 'credential')} that it created, and all of their descendants.`
                : 'This also revokes credentials that it creates before you confirm.'}
            </li>
            <li>{rotate ? 'Generated secrets that it read or wrote get a new version.' : 'No secrets are changed.'}</li>
            <li>Share links that it created are revoked. Members that it invited and grants that it created are kept.</li>
          </ul>
        </Confirm>
      )}
    </section>
  );
}

export default function Contain({ params: { id = '' } }: { params: Record<string, string> }) {
  const { data: graph, error, isPending, refetch } = useGraph(id);
  const [result, setResult] = useState<Contained | null>(() => reports.get(id) ?? null);
  const keep = (report: Contained) => {
    reports.set(id, report);
    setResult(report);
  };
  return (
    <>
      <Crumbs places={[['/incident', 'Incident response']]} />
      <PageHead
        title={result ? `${graph ? named(graph) : id} contained` : graph ? `Contain ${named(graph)}` : 'Contain a credential'}
        lead={result ? undefined : 'Review its access and activity. Nothing changes until you confirm.'}
      />
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {isPending && <Skeleton rows={5} />}
      {result && <Report result={result} again={graph && result.remaining ? <Act graph={graph} onDone={keep} /> : null} />}
      {graph && !result && (
        <div class="incident">
          <About graph={graph} />
          <Act graph={graph} onDone={keep} />
          <section class="stack wide">
            <h2>Latest activity</h2>
            <Doings id={id} />
          </section>
        </div>
      )}
    </>
  );
}
