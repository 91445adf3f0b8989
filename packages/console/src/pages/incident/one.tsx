// One incident: what was contained, what it did, which secrets still need a new value, and what was done.
// Invariant: everything comes from the service, so the page survives a reload.
import { useState } from 'preact/hooks';
import { Who } from '../../organisation/people';
import { summaryOf } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Late } from '../../ui/late';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Facts, Id, PageHead, Time } from '../../ui/parts';
import { type IncidentReport, useIncident } from './data';
import { IncidentStatus, titleOf } from './incident';
import { NoteDialog, openAgain } from './note';
import { Recent } from './panic';
import { Deeds, Part, Revoked, Rotation } from './report';
import './incident.css';

/** What a step of the timeline says. */
const STEPS: Record<string, string> = {
  'credential.create': 'The credential was created',
  'credential.contain': 'Contained',
  'org.panic': 'All credentials revoked',
  'incident.update': 'Incident changed',
  'secret.rotate': 'New value of',
};

const Timeline = ({ steps }: { steps: IncidentReport['timeline'] }) => (
  <Part
    title="Timeline"
    items={steps}
    none="Nothing is known."
    row={({ action, actor, time, status, secret_id, name }) => (
      <>
        <span class="grow truncate">
          {STEPS[action] ?? action} {secret_id && <span class="mono">{name ?? secret_id}</span>}
          {action === 'incident.update' && status && <span class="dim"> ({status})</span>}
          {actor && (
            <>
              {' '}
              by <Who id={actor.id ?? actor.kind} name={actor.name} />
            </>
          )}
        </span>
        <span class="dim">
          <Time at={time} />
        </span>
      </>
    )}
  />
);

const factsOf = (incident: IncidentReport): Parameters<typeof Facts>[0]['items'] => [
  ['Opened by', <Who id={incident.opened_by.id ?? incident.opened_by.kind} name={incident.opened_by.name} />],
  incident.reason ? ['Reason', incident.reason] : null,
  ['Note', incident.note ?? <span class="dim">None</span>],
  incident.since ? ['Report since', <Time at={incident.since} />] : null,
  incident.closed_at ? ['Closed', <Time at={incident.closed_at} />] : null,
  incident.credential && ['Credential', <Id id={incident.credential.id} />],
  ['ID', <Id id={incident.id} />],
];

export default function IncidentPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const { data: incident, error, isPending, refetch } = useIncident(id);
  const [asking, setAsking] = useState<IncidentReport['status'] | null>(null);
  if (error)
    return (
      <Missing what="incident" list={['/incident', 'Incident response']} error={error} onRetry={refetch} />
    );
  if (isPending || !incident) return <LoadingPage />;
  const { status, report, rotation, recent, timeline } = incident;
  return (
    <>
      <Crumbs places={[['/incident', 'Incident response']]} />
      <PageHead
        title={titleOf(incident)}
        lead={
          <>
            <IncidentStatus status={status} /> <Time at={incident.created_at} />
          </>
        }
      >
        {may('tokens:write') && (
          <>
            <Button onPress={() => setAsking(status)}>Edit note</Button>
            {status === 'open' ? (
              <Button onPress={() => setAsking('closed')}>Close incident…</Button>
            ) : (
              <Button onPress={() => openAgain(summaryOf(incident))}>Open again</Button>
            )}
          </>
        )}
      </PageHead>
      <div class="stack spaced">
        <Late answers={[incident]} />
        <Facts items={factsOf(incident)} />
        {rotation && <Rotation rotation={rotation} />}
        {recent && (
          <section class="card stack">
            <h2>Review items from the seven days before</h2>
            <Recent recent={recent} />
          </section>
        )}
        <div class="parts">
          {report && (
            <>
              <Revoked report={report} />
              <Deeds report={report} />
            </>
          )}
          <Timeline steps={timeline} />
        </div>
      </div>
      {asking && <NoteDialog incident={incident} status={asking} onClose={() => setAsking(null)} />}
    </>
  );
}
