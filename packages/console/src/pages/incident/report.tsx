// The report on a contained credential: its activity, and the remaining steps, which are taken here.
import type { components } from '@secrets-vault/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Secret as Known, useSelected } from '../../inventory';
import { may } from '../../may';
import { Button } from '../../ui/button';
import { Badge, Time } from '../../ui/parts';
import { Rotate } from '../secrets/change';
import { KINDS } from './credentials';

type Contained = components['schemas']['Contained'];

interface Secret {
  secret_id: string;
  name: string | null;
}

/** The current metadata of a secret. */
const useKnown = (id: string): Known | undefined => useSelected({}).secrets.find((secret) => secret.id === id);

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

/** A secret that needs a new value from its issuer. @param seen the newest version that the credential knows */
function Due({ seen, ...secret }: Secret & { seen: number }) {
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
      {rotating && known && <Rotate secret={known} onClose={() => setRotating(false)} />}
    </>
  );
}

/** The newest version of a secret that the credential read or wrote. */
const newestOf = ({ read, written }: Contained, id: string): number =>
  Math.max(0, ...[...read, ...written].filter(({ secret_id }) => secret_id === id).map(({ version }) => version));

/** One section of the report. An empty section is one line. */
function Part<Item>({
  title,
  lead,
  items,
  none,
  row,
}: {
  title: string;
  lead?: string;
  items: Item[] | undefined;
  none: string;
  row: (item: Item) => ComponentChildren;
}) {
  return (
    <section class="card stack">
      <h2>
        {title} <span class="count">{items?.length ?? 0}</span>
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
const Touched = (secret: Contained['read'][number]) => (
  <>
    <SecretLink {...secret} />
    <span class="dim">
      version {secret.version}, <Time at={secret.time} />
    </span>
  </>
);

/** @param again the control that continues an unfinished containment */
export function Report({ result, again }: { result: Contained; again: ComponentChildren }) {
  const due = result.rotation_due ?? [];
  return (
    <div class="stack" role="status">
      <p class="note good">
        {result.revoked.length === 1 ? 'The credential is' : `${result.revoked.length.toLocaleString()} credentials are`} revoked.
      </p>
      {result.remaining ? (
        <div class="note warn">
          <p>{result.remaining.toLocaleString()} related credentials are not revoked yet. Contain it again to continue.</p>
        </div>
      ) : null}
      {again}
      {due.length > 0 && (
        <Part
          title="Rotate these yourself"
          lead="The credential read or wrote these secrets, and their values were not generated here. Get new values from their issuers and store them."
          items={due}
          none=""
          row={(secret) => <Due {...secret} seen={newestOf(result, secret.secret_id)} />}
        />
      )}
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
        <Part title="Revoked" items={result.revoked} none="It was already revoked or expired." row={(each) => <Credential {...each} />} />
        <Part title="Read" items={result.read} none="It read no values." row={(secret) => <Touched {...secret} />} />
        <Part title="Written" items={result.written} none="It changed no secrets." row={(secret) => <Touched {...secret} />} />
        <Part
          title="Shared"
          items={result.shared}
          none="It shared nothing."
          row={(secret) => (
            <>
              <SecretLink {...secret} />
              <span class="dim">{secret.version === null ? 'by grant' : `version ${secret.version} by link`}</span>
            </>
          )}
        />
        <Part
          title="Credentials it created"
          items={result.credentials}
          none="It created no credentials."
          row={(each) => <Credential {...each} />}
        />
      </div>
      {result.gaps?.length ? (
        <p class="note warn">Parts of the audit log are missing or unreadable, so this report may be incomplete.</p>
      ) : null}
    </div>
  );
}
