// The parts of a report on a credential: what it and everything below it did, and which secrets need a new
// value, which is given here.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { type Secret as Known, useSelected } from '../../organisation/inventory';
import { forget } from '../../requests/api';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Badge, Time } from '../../ui/parts';
import { Rotate } from '../secrets/change';
import { KINDS } from './credentials';
import type { Contained, IncidentReport, Report as ReportOf } from './data';
import { Incomplete } from './incomplete';

interface Secret {
  secret_id: string;
  name: string | null;
}

/** The current metadata of a secret. */
const useKnown = (id: string): Known | undefined =>
  useSelected({}).secrets.find((secret) => secret.id === id);

/** The same name can exist in several environments. */
function SecretLink({ secret_id, name }: Secret) {
  const known = useKnown(secret_id);
  return (
    <span class="grow truncate">
      <Link href={`/secrets/${secret_id}`} class="mono">
        {name ?? secret_id}
      </Link>{' '}
      {known && <span class="dim small">{known.environment}</span>}
    </span>
  );
}

/**
 * A secret that needs a new value from its issuer.
 * @param seen the newest version that the credential knows
 */
export function Due({ seen, ...secret }: Secret & { seen: number }) {
  const known = useKnown(secret.secret_id);
  const [rotating, setRotating] = useState(false);
  return (
    <>
      <SecretLink {...secret} />
      {known && known.version > seen ? (
        <Badge tone="good">rotated</Badge>
      ) : known?.status === 'active' && may('secrets:rotate') ? (
        <Button small onPress={() => setRotating(true)}>
          Rotate
        </Button>
      ) : (
        <Badge tone="warn">not rotated</Badge>
      )}
      {rotating && known && (
        <Rotate
          secret={known}
          onClose={() => {
            setRotating(false);
            void forget('incidents');
          }}
        />
      )}
    </>
  );
}

/** The newest version of a secret that the credential read, used or wrote. */
const newestOf = ({ read, used, written }: ReportOf, id: string): number =>
  Math.max(
    0,
    ...[...read, ...used, ...written]
      .filter(({ secret_id }) => secret_id === id)
      .map(({ version }) => version),
  );

/** One section of the report. An empty section is one line. */
export function Part<Item>({
  title,
  lead,
  count,
  items,
  none,
  row,
}: {
  title: string;
  lead?: string;
  /** If it is more than the items. */
  count?: number;
  items: Item[] | undefined;
  none: string;
  row: (item: Item) => ComponentChildren;
}) {
  return (
    <section class="card stack">
      <h2>
        {title} <span class="count">{(count ?? items?.length ?? 0).toLocaleString()}</span>
      </h2>
      {lead && items?.length ? <p class="dim">{lead}</p> : null}
      {items?.length ? (
        <ul class="timeline long">
          {items.map((item, index) => (
            <li key={index}>{row(item)}</li>
          ))}
        </ul>
      ) : (
        <p class="dim">{none}</p>
      )}
    </section>
  );
}

const Credential = ({ kind, id, name }: { kind: string; id: string; name: string | null }) => (
  <>
    <span class="grow truncate">{name || <span class="mono">{id}</span>}</span>
    <span class="dim">{KINDS[kind]}</span>
  </>
);

/** A version of a secret that the credential read or wrote, and when. */
const Touched = (secret: ReportOf['read'][number]) => (
  <>
    <SecretLink {...secret} />
    <span class="dim">
      version {secret.version}, <Time at={secret.time} />
    </span>
  </>
);

interface Made {
  id: string;
  name: string | null;
  action: string;
}

/** What it set up besides. */
const SET_UP = [
  ['Upstreams it created or changed', 'upstreams', 'It changed no upstreams.'],
  ['Log streams it created or changed', 'log_streams', 'It changed no log streams.'],
  ['Domains it added or verified', 'domains', 'It added no domains.'],
  ['Identity providers it connected', 'sso_connections', 'It connected no identity providers.'],
] as const;
const HOW: Record<string, string> = { create: 'created', update: 'changed', verify: 'verified' };

/** What a credential and everything below it did. */
export const Deeds = ({ report }: { report: ReportOf }) => (
  <>
    <Part
      title="Read"
      items={report.read}
      none="It read no values."
      row={(secret) => <Touched {...secret} />}
    />
    <Part
      title="Used through upstreams"
      lead="Calls show no value, except to whoever chose where the upstream sends. So uses by anybody count from when it created or changed the upstream."
      items={report.used}
      none="It used no secret through an upstream."
      row={(secret) => <Touched {...secret} />}
    />
    <Part
      title="Written"
      items={report.written}
      none="It changed no secrets."
      row={(secret) => <Touched {...secret} />}
    />
    <Part
      title="Shared"
      items={report.shared}
      none="It shared nothing."
      row={(secret) => (
        <>
          <SecretLink {...secret} />
          <span class="dim">
            {secret.version === null ? 'by grant' : `version ${secret.version} by link`}
          </span>
        </>
      )}
    />
    <Part
      title="Credentials it created"
      items={report.credentials}
      none="It created no credentials."
      row={(each) => <Credential {...each} />}
    />
    <Part
      title="Connections it created or changed"
      lead="They are kept. Remove those that nobody knows."
      items={report.connections}
      none="It changed no connections."
      row={({ id, name, platform, action }) => (
        <>
          <span class="grow truncate">{name || <span class="mono">{id}</span>}</span>
          <span class="dim">
            {platform} {action === 'integration.create' ? 'created' : 'changed'}
          </span>
        </>
      )}
    />
    <Part
      title="Syncs it started"
      items={report.syncs}
      none="It started no syncs."
      row={({ id, platform, environment, status }) => (
        <>
          <span class="grow truncate">
            {platform ? `${environment} to ${platform}` : <span class="mono">{id}</span>}
          </span>
          <span class="dim">{status}</span>
        </>
      )}
    />
    {SET_UP.map(([title, kind, none]) => (
      <Part
        key={kind}
        title={title}
        items={report[kind] as Made[]}
        none={none}
        row={({ id, name, action }) => (
          <>
            <span class="grow truncate">{name || <span class="mono">{id}</span>}</span>
            <span class="dim">{HOW[action.slice(action.indexOf('.') + 1)]}</span>
          </>
        )}
      />
    ))}
    <Incomplete report={report} />
  </>
);

export const Revoked = ({ report }: { report: ReportOf }) => (
  <Part
    title="Revoked"
    items={report.revoked}
    none="It was already revoked or expired."
    row={(each) => <Credential {...each} />}
  />
);

/** What a containment would rotate, and what it would leave to do. */
export const Planned = ({ result }: { result: Contained }) => (
  <>
    {result.rotated && (
      <Part
        title="Gets a new value"
        items={result.rotated}
        none="No secret would be rotated."
        row={(secret) => <SecretLink {...secret} />}
      />
    )}
    {result.rotation_due && (
      <Part
        title="To rotate yourself"
        items={result.rotation_due}
        none="Nothing is left to rotate."
        row={(secret) => <SecretLink {...secret} />}
      />
    )}
  </>
);

/** The secrets that still need a new value, and those that have one. */
export function Rotation({
  rotation: { total, rotated, secrets },
}: {
  rotation: NonNullable<IncidentReport['rotation']>;
}) {
  const due = secrets.filter(({ status }) => status === 'due');
  const done = secrets.filter(({ status }) => status === 'rotated');
  return (
    <>
      {total > 0 && (
        <p>
          <progress max={total} value={rotated} aria-label="Rotated secrets" /> {rotated.toLocaleString()} of{' '}
          {counted(total, 'secret')} have a new value.
        </p>
      )}
      {due.length > 0 && (
        <Part
          title="Rotate these yourself"
          lead="The credential read or wrote these secrets, or had them sent through its upstreams, and they have no new value yet. Get new values from their issuers and store them."
          items={due}
          none=""
          row={({ version, secret_id, name }) => <Due secret_id={secret_id} name={name} seen={version} />}
        />
      )}
      {done.length > 0 && (
        <Part
          title="Rotated"
          items={done}
          none=""
          row={(secret) => (
            <>
              <SecretLink {...secret} />
              <span class="dim">
                now version {secret.current_version}, <Time at={secret.rotated_at} />
              </span>
            </>
          )}
        />
      )}
    </>
  );
}

/**
 * The answer of a containment that is unfinished, or that no incident records.
 * @param again the control that continues it
 */
export function Report({ result, again }: { result: Contained; again: ComponentChildren }) {
  return (
    <div class="stack" role="status">
      <p class="note good">{counted(result.revoked.length, 'credential')} revoked.</p>
      {result.remaining ? (
        <p class="note warn">
          {result.remaining.toLocaleString()} related credentials are not revoked yet. Contain it again to
          continue.
        </p>
      ) : null}
      {result.incident_id === null ? (
        <p class="note warn">
          Nothing was recorded, because every incident is still open. Close some, and contain it again to keep
          this report.
        </p>
      ) : null}
      {again}
      {result.rotation_due?.length ? (
        <Part
          title="Rotate these yourself"
          items={result.rotation_due}
          none=""
          row={(secret) => <Due {...secret} seen={newestOf(result, secret.secret_id)} />}
        />
      ) : null}
      <div class="parts">
        <Part
          title="Rotated"
          items={result.rotated}
          none="No secrets were rotated."
          row={(secret) => (
            <>
              <SecretLink {...secret} />
              <span class="dim">now version {secret.version}</span>
            </>
          )}
        />
        <Revoked report={result} />
        <Deeds report={result} />
      </div>
    </div>
  );
}
