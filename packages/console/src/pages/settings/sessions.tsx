// The member's own sessions in browsers and terminals: end one, or all.
import type { components } from '@secrets-vault/client';
import { Monitor, SquareTerminal } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { forget, useList, vault } from '../../requests/api';
import { signOut } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Listing } from '../../ui/lists/listing';
import { Badge, Empty, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';

type Session = components['schemas']['BrowserSession'];

const columns = [
  {
    label: 'Client',
    width: 'minmax(11rem, 2fr)',
    cell: ({ client, client_name, last_used_place, current }: Session) => (
      <span class="row-link">
        {client === 'terminal' ? (
          <SquareTerminal size={16} aria-hidden="true" />
        ) : (
          <Monitor size={16} aria-hidden="true" />
        )}
        <span class="truncate">
          {client_name ?? (client === 'terminal' ? 'Terminal' : 'Browser')}
          {last_used_place && <span class="dim">, {last_used_place}</span>}
        </span>
        {current && <Badge tone="good">current</Badge>}
      </span>
    ),
  },
  {
    label: 'Last used',
    width: '8rem',
    cell: ({ last_used_at }: Session) => <Time at={last_used_at} none="Not yet" />,
  },
  {
    label: 'Started',
    width: '8rem',
    wide: true,
    cell: ({ created_at }: Session) => <Time at={created_at} />,
  },
  {
    label: 'Expires',
    width: '8rem',
    wide: true,
    cell: ({ expires_at }: Session) => <Time at={expires_at} />,
  },
];

export function Sessions() {
  const [ending, setEnding] = useState<Session | 'all' | null>(null);
  const list = useList<Session>(['sessions'], (cursor, signal) =>
    vault().api.GET('/auth/sessions', { params: { query: { limit: 100, cursor } }, signal }),
  );
  const endOne = async ({ id, current }: Session) => {
    if (current) return signOut();
    await vault().api.DELETE('/auth/sessions/{id}', { params: { path: { id } } });
    await forget('sessions');
    tell('Session ended');
  };
  const endAll = async () => {
    await vault().api.DELETE('/auth/sessions', {});
    await signOut();
  };
  return (
    <section class="stack" aria-labelledby="sessions">
      <div class="section-head">
        <div class="grow">
          <h2 id="sessions">Your sessions</h2>
          <p class="dim">Browsers and terminals that are signed in as you.</p>
        </div>
        <Button onPress={() => setEnding('all')}>End all sessions</Button>
      </div>
      <Listing<Session>
        list={list}
        skeleton={3}
        label="Your sessions"
        columns={columns}
        keyOf={({ id }) => id}
        actions={(session) => (
          <Button
            small
            kind="quiet"
            onPress={() => setEnding(session)}
            aria-label={`End the session ${session.client_name ?? session.id}`}
          >
            End
          </Button>
        )}
        empty={<Empty title="No sessions" />}
      />
      {ending && (
        <Confirm
          title={ending === 'all' ? 'End all your sessions?' : 'End this session?'}
          action={ending === 'all' ? 'End all sessions' : 'End session'}
          onConfirm={() => (ending === 'all' ? endAll() : endOne(ending))}
          onClose={() => setEnding(null)}
        >
          <p>
            {ending === 'all'
              ? 'This signs you out of every browser and terminal immediately, including this one. Your passkeys are kept.'
              : ending.current
                ? 'This is your current session, so you will be signed out.'
                : `The ${ending.client} is signed out immediately.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}
