// All fields of an audit log entry, with links to related entries.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { BASE } from '../../navigation/router';
import { kindOfId } from '../../organisation/people';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { Badge, CopyButton, Facts, Id, type Tone } from '../../ui/parts';
import { tell } from '../../ui/toast';
import type { Entry, Filters } from './filters';

const tones: Record<Entry['outcome'], Tone> = { success: 'good', denied: 'bad', failed: 'warn' };

export const Outcome = ({ outcome }: Pick<Entry, 'outcome'>) => (
  <Badge tone={tones[outcome]}>{outcome}</Badge>
);

/** The name of the actor. */
export const actorName = ({ actor }: Pick<Entry, 'actor'>): string =>
  actor.name ?? actor.id ?? actor.kind.replaceAll('_', ' ');

/** The name of the resource, or its id. */
export const subjectOf = (entry: Entry): string | null => entry.resource_name ?? entry.resource;

/** Fields that are shown separately below; all others are shown unchanged. */
const PLACED = new Set([
  ...[
    'id',
    'sequence',
    'format',
    'time',
    'actor',
    'action',
    'resource',
    'resource_name',
    'environment',
    'version',
    'reason',
  ],
  ...[
    'request_id',
    'ip',
    'user_agent',
    'outcome',
    'status',
    'count',
    'emergency',
    'prev_hash',
    'hash',
    'approval',
  ],
]);

const None = () => <span class="dim">None</span>;
const exactly = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'medium' });
const wordsOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
const shownAs = (value: unknown): string =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);

function factsOf(entry: Entry): [string, ComponentChildren][] {
  const { actor } = entry;
  const rest = Object.entries(entry).filter(([name, value]) => !PLACED.has(name) && value !== null);
  return [
    ['Time', <time dateTime={entry.time}>{exactly.format(new Date(entry.time))}</time>],
    ['Actor', `${actorName(entry)} (${actor.kind.replaceAll('_', ' ')})`],
    ['Actor ID', actor.id ? <Id id={actor.id} /> : <None />],
    ...(actor.parent_id
      ? [[kindOfId(actor.parent_id), <Id id={actor.parent_id} />] as [string, ComponentChildren]]
      : []),
    ['Resource', entry.resource_name ? <span class="mono">{entry.resource_name}</span> : <None />],
    ['Resource ID', entry.resource ? <Id id={entry.resource} /> : <None />],
    ['Environment', entry.environment ?? <None />],
    ['Version', entry.version ?? <None />],
    ['Reason', entry.reason ?? <None />],
    ...(entry.approval
      ? [
          ['Approval', <Link href={`/approvals/${entry.approval}`}>{entry.approval}</Link>] as [
            string,
            ComponentChildren,
          ],
        ]
      : []),
    ...rest.map(([name, value]): [string, ComponentChildren] => [wordsOf(name), shownAs(value)]),
    ['Status', entry.status],
    ...(entry.count > 1 ? [['Requests', entry.count] as [string, ComponentChildren]] : []),
    ['IP address', <span class="mono">{entry.ip ?? 'none'}</span>],
    ['User agent', entry.user_agent ?? <None />],
    ['Request ID', <Id id={entry.request_id} />],
    ['Sequence', entry.sequence.toLocaleString()],
    ['Hash', <code>{entry.hash}</code>],
    ['Previous hash', <code>{entry.prev_hash}</code>],
  ];
}

const AROUND = 5 * 60_000;

async function copyLink({ id }: Entry): Promise<void> {
  await navigator.clipboard.writeText(`${location.origin}${BASE}/audit?entry=${id}`);
  tell('Link copied', 'Members who can read the audit log can open it.');
}

interface EntryProps {
  entry: Entry;
  change: (part: Partial<Filters>) => void;
  onClose: () => void;
}

export function EntryDialog({ entry, change, onClose }: EntryProps) {
  const time = Date.parse(entry.time);
  const raw = JSON.stringify(entry, null, 2);
  const around = { from: new Date(time - AROUND).toISOString(), to: new Date(time + AROUND).toISOString() };
  return (
    <Dialog
      side
      title={entry.action}
      lead={
        <>
          <Outcome outcome={entry.outcome} /> {entry.emergency && <Badge tone="bad">break-glass</Badge>}
        </>
      }
      onClose={onClose}
    >
      <div class="row">
        {entry.actor.id && (
          <Button small onPress={() => change({ actor: entry.actor.id ?? '' })}>
            Only this actor
          </Button>
        )}
        {entry.resource && (
          <Button small onPress={() => change({ resource: entry.resource ?? '' })}>
            Only this resource
          </Button>
        )}
        <Button small onPress={() => change({ action: entry.action })}>
          Only this action
        </Button>
        <Button small onPress={() => change({ ...around, action: '', outcome: '', actor: '', resource: '' })}>
          Entries around this time
        </Button>
        <Button small onPress={() => copyLink(entry)}>
          Copy link
        </Button>
      </div>
      <Facts items={factsOf(entry)} />
      {entry.resource?.startsWith('sec_') && entry.outcome === 'success' && (
        <Link href={`/secrets/${entry.resource}`}>View secret</Link>
      )}
      <details>
        <summary>JSON</summary>
        <pre class="value-shown raw" tabIndex={0} aria-label="The entry as JSON">
          <code>{raw}</code>
        </pre>
        <CopyButton text={raw} label="Copy entry" />
      </details>
    </Dialog>
  );
}
