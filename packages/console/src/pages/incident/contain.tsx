// Contains one credential: shows what the containment would end and what all of that did, then asks, then
// leads to the incident. Invariants: the preview is the service's own dry run of the same request; a
// credential that was contained is not offered again, but leads to its incident.
import { useRef, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { forget } from '../../requests/api';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Checkbox, TextField } from '../../ui/forms/field';
import { Crumbs } from '../../ui/page';
import { Badge, ErrorNote, Facts, Id, PageHead, Skeleton, Time } from '../../ui/parts';
import { KINDS } from './credentials';
import {
  type Choice,
  type Contained,
  contain,
  type Graph,
  type Incident,
  named,
  useGraph,
  useIncidentOf,
  usePreview,
} from './data';
import { Deeds, Part, Planned, Report } from './report';
import './incident.css';
import { counted } from '../../counted';

/** How many credentials a containment would end, the credential itself aside. */
const endingIn = ({ children, omitted }: Graph): number =>
  children.filter(({ ended_by_contain }) => ended_by_contain).length + (omitted ?? 0);

function About({ graph }: { graph: Graph }) {
  const { parent, reach } = graph;
  const secrets = reach.environments.reduce((sum, { secrets: each }) => sum + each, 0);
  return (
    <Facts
      items={[
        ['Kind', KINDS[graph.kind]],
        [
          'Status',
          <Badge tone={reach.alive ? 'warn' : 'plain'}>
            {reach.alive ? 'still valid' : 'no longer valid'}
          </Badge>,
        ],
        [
          'Scopes',
          reach.scopes.length ? (
            <span class="mono">{reach.scopes.join(', ')}</span>
          ) : (
            <span class="dim">None</span>
          ),
        ],
        [
          'Access to',
          reach.environments.length ? (
            `${counted(secrets, 'secret')} in ${reach.environments.map(({ environment }) => environment).join(', ')}`
          ) : (
            <span class="dim">No secrets</span>
          ),
        ],
        ['Created by', parent && <Who id={parent.id} name={parent.name} />],
        ['ID', <Id id={graph.id} />],
      ]}
    />
  );
}

/** Everything live below the credential, and whether it would end. */
const Below = ({ graph: { children, omitted } }: { graph: Graph }) => (
  <Part
    title="Credentials below it"
    count={children.length + (omitted ?? 0)}
    items={children}
    none="It created no credential that is still valid."
    row={(child) => (
      <>
        <span class="grow truncate" style={{ paddingInlineStart: `${Math.min(child.depth - 1, 8)}rem` }}>
          {named(child)}
        </span>
        <span class="dim">{KINDS[child.kind]}</span>
        <Badge tone={child.ended_by_contain ? 'bad' : 'plain'}>
          {child.ended_by_contain ? 'ends' : 'stays'}
        </Badge>
      </>
    )}
  />
);

/** What the credential and everything below it did, and what would be rotated. */
function Preview({ id, choice, graph }: { id: string; choice: Choice; graph: Graph }) {
  const { data, error, isPending, refetch } = usePreview(id, choice);
  return (
    <section class="stack wide" aria-labelledby="preview">
      <h2 id="preview">What a containment ends, and what that did</h2>
      {error ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : isPending || !data ? (
        <Skeleton rows={4} />
      ) : (
        <div class="parts">
          <Below graph={graph} />
          <Planned result={data} />
          <Deeds report={data} />
        </div>
      )}
    </section>
  );
}

interface ActProps {
  graph: Graph;
  choice: Choice;
  onChoice: (choice: Choice) => void;
  onDone: (result: Contained) => void;
}

function Act({ graph, choice, onChoice, onDone }: ActProps) {
  const [asking, setAsking] = useState(false);
  const section = useRef<HTMLElement>(null);
  const { rotate, since } = choice;
  const name = named(graph);
  const ending = endingIn(graph);
  const isValid = graph.reach.alive;
  const act = async () => {
    const { data } = await contain(graph.id, choice);
    await forget('credentials', 'secrets', 'audit', 'incidents');
    onDone(data);
  };
  // A time that is half filled in has no value: it must not count as none.
  const isFilled = () =>
    [...(section.current?.querySelectorAll('input') ?? [])].every((field) => field.reportValidity());
  return (
    <section ref={section} class="card stack" aria-labelledby="choose">
      <h2 id="choose">Contain</h2>
      {may('secrets:rotate') && (
        <Checkbox
          label="Rotate generated secrets"
          hint="Generated secrets that it read, wrote or sent through its upstreams get a new value. The report lists the others, which you must rotate yourself."
          checked={rotate}
          onChecked={(checked) => onChoice({ rotate: checked, since })}
        />
      )}
      <TextField
        label="Report activity since"
        optional
        type="datetime-local"
        value={since}
        onValue={(value) => onChoice({ rotate, since: value })}
        hint="Default: since the credential was created"
      />
      <div>
        <Button kind="danger" onPress={() => isFilled() && setAsking(true)}>
          Contain this credential…
        </Button>
      </div>
      {asking && (
        <Confirm
          title={`Contain ${name}?`}
          action="Contain credential"
          onConfirm={act}
          onClose={() => setAsking(false)}
        >
          <ul class="bullets">
            <li>
              {KINDS[graph.kind]} <strong>{name}</strong>{' '}
              {isValid
                ? 'is revoked immediately and cannot be restored. Programs that use it will fail.'
                : 'is no longer valid, so nothing changes for it. The incident records what it did.'}
            </li>
            <li>
              {ending
                ? `This ${isValid ? 'also ' : ''}revokes ${counted(ending, 'credential')} that it created, directly or indirectly.`
                : isValid
                  ? 'This also revokes credentials that it creates before you confirm.'
                  : 'No credential that it created is still valid.'}
            </li>
            <li>
              {rotate
                ? 'Generated secrets that it read, wrote or sent through its upstreams get a new version.'
                : 'No secrets are changed.'}
            </li>
            <li>
              Share links that it created are revoked. Members that it invited and grants that it created are
              kept.
            </li>
          </ul>
        </Confirm>
      )}
    </section>
  );
}

const Done = ({ incident }: { incident: Incident }) => (
  <section class="card stack" aria-labelledby="done">
    <h2 id="done">Already contained</h2>
    <p>
      It was contained <Time at={incident.created_at} />, and nothing of it is still valid.
    </p>
    <p>
      <Link href={`/incident/report/${incident.id}`}>Show the incident</Link>
    </p>
  </section>
);

export default function Contain({ params: { id = '' } }: { params: Record<string, string> }) {
  const { data: graph, error, isPending, refetch } = useGraph(id);
  const incident = useIncidentOf(id);
  const [choice, setChoice] = useState<Choice>({ rotate: may('secrets:rotate'), since: '' });
  /** A containment that is unfinished, or that no incident records. */
  const [result, setResult] = useState<Contained | null>(null);
  const [, go] = useLocation();
  const onDone = (done: Contained) => {
    if (done.incident_id && !done.remaining) go(`/incident/report/${done.incident_id}`, { replace: true });
    else setResult(done);
  };
  const isOver = incident && graph && !graph.reach.alive && endingIn(graph) === 0;
  const act = graph && <Act graph={graph} choice={choice} onChoice={setChoice} onDone={onDone} />;
  return (
    <>
      <Crumbs places={[['/incident', 'Incident response']]} />
      <PageHead
        title={
          result
            ? `${graph ? named(graph) : id} contained`
            : graph
              ? `Contain ${named(graph)}`
              : 'Contain a credential'
        }
        lead={
          result || isOver ? undefined : 'Review its access and activity. Nothing changes until you confirm.'
        }
      />
      {error && !incident && <ErrorNote error={error} onRetry={refetch} />}
      {error && incident ? <Done incident={incident} /> : null}
      {isPending && <Skeleton rows={5} />}
      {result && <Report result={result} again={result.remaining ? act : null} />}
      {graph && !result && (
        <div class="incident">
          <About graph={graph} />
          {isOver ? <Done incident={incident} /> : act}
          {!isOver && <Preview id={id} choice={choice} graph={graph} />}
        </div>
      )}
    </>
  );
}
