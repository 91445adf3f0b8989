// Notifications: where messages about events are sent.
import { Plus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { here, vault } from '../../requests/api';
import { mayEverywhere } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextArea } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Empty, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { useConnections } from './connections';
import { EditConnection, RemoveConnection } from './edit';
import { eventsInWords } from './events';
import { PlatformMark } from './gallery';
import { type Integration, platformName } from './platforms';

const SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
type Severity = (typeof SEVERITIES)[number];

/** Sends a message to a connection, with one attempt. Without a text the service sends a test message. */
async function send(connection: Integration, severity?: Severity, message?: string): Promise<void> {
  const { data } = await vault().api.POST('/orgs/{org_id}/integrations/notify', {
    params: { path: here() },
    body: { integrationId: connection.id, ...(severity && { severity }), ...(message && { message }) },
  });
  tell(
    `${platformName(connection.platform)} accepted the message`,
    `Response status ${data.status}. Check that it arrived.`,
  );
}

function SendMessage({ connection, onClose }: { connection: Integration; onClose: () => void }) {
  const [severity, setSeverity] = useState<Severity>('info');
  const [message, setMessage] = useState('');
  const problems = useProblems();
  const submit = async () => {
    await send(connection, severity, message);
    onClose();
  };
  return (
    <Dialog
      title={`Send a message to ${connection.name}`}
      lead="The message is sent once, as plain text: mentions, links and formatting have no effect."
      onClose={onClose}
      dirty={message !== ''}
    >
      <Form action="Send message" onSubmit={submit} onCancel={onClose} problems={problems}>
        <SelectField
          label="Severity"
          value={severity}
          onValue={(value) => setSeverity(value as Severity)}
          choices={SEVERITIES.map((value) => ({ value, label: value }))}
        />
        <TextArea
          label="Message"
          value={message}
          onValue={setMessage}
          error={problems.of('message')}
          hint="Do not include secret values: other people can read the message."
          required
        />
      </Form>
    </Dialog>
  );
}

type Doing = { what: 'edit' | 'remove' | 'message'; connection: Integration } | null;

function Doings({ doing, end }: { doing: Doing; end: () => void }) {
  if (!doing) return null;
  const { what, connection } = doing;
  if (what === 'edit') return <EditConnection stored={connection} onClose={end} />;
  if (what === 'message') return <SendMessage connection={connection} onClose={end} />;
  return <RemoveConnection stored={connection} onClose={end} />;
}

const hostOf = ({ config }: Integration): string =>
  [config.webhookUrl, config.url, config.chatId, config.to].flat().filter(Boolean).map(String).join(', ');

const columns = [
  {
    label: 'Name',
    width: 'minmax(11rem, 1.6fr)',
    cell: ({ platform, name, events }: Integration) => (
      <span class="row-link">
        <PlatformMark platform={platform} />
        <Lines sub={eventsInWords(events)}>{name}</Lines>
      </span>
    ),
  },
  {
    label: 'Events',
    width: 'minmax(10rem, 1.5fr)',
    wide: true,
    cell: ({ events }: Integration) => <span class="dim truncate">{eventsInWords(events)}</span>,
  },
  {
    label: 'To',
    width: 'minmax(9rem, 1fr)',
    wide: true,
    cell: (one: Integration) => <span class="dim truncate">{hostOf(one) || platformName(one.platform)}</span>,
  },
  {
    label: 'Changed',
    width: '8rem',
    wide: true,
    cell: ({ updatedAt }: Integration) => <Time at={updatedAt} />,
  },
  {
    label: 'Test',
    width: '6.5rem',
    cell: (connection: Integration) => (
      <Button small onPress={() => send(connection)} aria-label={`Send test to ${connection.name}`}>
        Send test
      </Button>
    ),
  },
];

export default function Notifications() {
  const list = useConnections('notify');
  const [doing, setDoing] = useState<Doing>(null);
  return (
    <>
      <PageHead
        title="Notifications"
        lead="Messages about events, to chat, paging services and e-mail. They never contain values."
      >
        {mayEverywhere('integrations:write') && (
          <Link href="/notifications/new" class="button primary">
            <Plus size={16} aria-hidden="true" /> New notification
          </Link>
        )}
      </PageHead>
      <div class="stack">
        {list.rows.length > 0 && (
          <p class="note small">
            Every connection is also notified of break-glass tokens, recovery and new enrolment links,
            regardless of its events, so that owners know when someone gains access that way.
          </p>
        )}
        <Listing<Integration>
          list={list}
          label="Notifications"
          keyOf={({ id }) => id}
          columns={columns}
          actions={(connection) => (
            <Menu
              label={`Actions for ${connection.name}`}
              actions={[
                { label: 'Send test', onSelect: () => send(connection) },
                { label: 'Send a message', onSelect: () => setDoing({ what: 'message', connection }) },
                { label: 'Edit', onSelect: () => setDoing({ what: 'edit', connection }) },
                { label: 'Remove', danger: true, onSelect: () => setDoing({ what: 'remove', connection }) },
              ]}
            />
          )}
          empty={
            <Empty
              title="No notifications yet"
              action={
                mayEverywhere('integrations:write') && (
                  <Link href="/notifications/new" class="button plain">
                    Choose where messages go
                  </Link>
                )
              }
            >
              Without a connection, a leaked secret or a used break-glass token appears only in the events and
              the audit log.
            </Empty>
          }
        />
      </div>
      <Doings doing={doing} end={() => setDoing(null)} />
    </>
  );
}
