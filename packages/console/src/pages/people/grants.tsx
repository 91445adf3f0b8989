// Grants: access to secrets for a member or a team, in addition to their roles.
import type { components } from '@secrets-vault/client';
import { Trash2 } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import { useNames, Who } from '../../organisation/people';
import { forgetGone, here, useList, useRead, vault } from '../../requests/api';
import { IconButton } from '../../ui/controls/button';
import { MakeButton } from '../../ui/controls/make-button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { NewGrant } from './new-grant';
import '../../styles/access.css';
import { may } from '../../session/may';

type Grant = components['schemas']['Grant'];

const nameIn = (names: ReadonlyMap<string, string>, { grantee }: Grant): string =>
  names.get(grantee.id) ?? grantee.id;

const placeOf = ({ environments, secrets }: Grant): string =>
  [environments?.join(', ') ?? 'all environments', secrets ? secrets.join(', ') : 'every name'].join(' · ');

function EndGrant({ grant, onEnd, onClose }: { grant: Grant; onEnd: () => void; onClose: () => void }) {
  const name = nameIn(useNames(), grant);
  const end = async () => {
    await vault().api.DELETE('/orgs/{org_id}/grants/{id}', { params: { path: { ...here(), id: grant.id } } });
    onEnd();
    tell('Grant removed');
    forgetGone('grants', 'members', 'teams');
  };
  return (
    <Confirm
      title={`Remove the grant of ${name} to ${grant.permission} in ${placeOf(grant)}?`}
      action="Remove grant"
      onConfirm={end}
      onClose={onClose}
    >
      <p>
        <Who id={grant.grantee.id} /> can no longer {grant.permission} secrets in{' '}
        <strong>{placeOf(grant)}</strong> through this grant, from the next request. Access from their role or
        other grants is unchanged.
      </p>
    </Confirm>
  );
}

/** A list with one grant, for links from other pages. */
function useGrant(id: string, enabled: boolean) {
  const { data, error, isPending, refetch } = useRead(
    ['grants', 'one', id],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/grants/{id}', { params: { path: { ...here(), id } }, signal }),
    enabled,
  );
  return { rows: data ? [data] : [], error, isPending, refetch };
}

const columns: Column<Grant>[] = [
  {
    label: 'To',
    width: 'minmax(8rem, 1fr)',
    cell: (grant) => (
      <span class="grow">
        <Who id={grant.grantee.id} />
        <span class="sub truncate">{placeOf(grant)}</span>
      </span>
    ),
  },
  {
    label: 'Permission',
    width: '5.5rem',
    cell: ({ permission }) => <Badge tone={permission === 'write' ? 'warn' : 'accent'}>{permission}</Badge>,
  },
  {
    label: 'Access to',
    width: 'minmax(10rem, 2fr)',
    wide: true,
    cell: (grant) => (
      <span class="truncate block" title={placeOf(grant)}>
        {placeOf(grant)}
      </span>
    ),
  },
  { label: 'Expires', width: '8rem', wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { label: 'Created by', width: '9.5rem', wide: true, cell: ({ created_by }) => <Who id={created_by} /> },
];

/** The grants of a member or team, or all of them. */
export function Grants({ grantee }: { grantee?: { type: 'member' | 'team'; id: string } }) {
  const [creating, setCreating] = useState(false);
  const [ending, setEnding] = useState<Grant | null>(null);
  const [only, show] = useParameter('id');
  const names = useNames();
  const isOne = only !== '' && !grantee;
  const one = useGrant(only, isOne);
  const list = useList<Grant>(['grants', 'list', grantee?.id], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/grants', {
      params: { path: here(), query: { limit: 100, cursor, grantee: grantee?.id } },
      signal,
    }),
  );
  const add = may('members:write') && (
    <MakeButton kind={grantee ? 'plain' : 'primary'} onMake={() => setCreating(true)}>
      New grant
    </MakeButton>
  );
  return (
    <>
      {grantee ? (
        <div class="row spaced">
          <h2 class="grow">Grants</h2>
          {add}
        </div>
      ) : (
        <PageHead
          title="Grants"
          lead="Access to secrets for a member or a team, in addition to their role. Grants never allow deleting or sharing."
        >
          {add}
        </PageHead>
      )}
      {isOne && (
        <p class="row spaced">
          <span class="dim">Showing one grant.</span>
          <button type="button" class="link" onClick={() => show('')}>
            Show all grants
          </button>
        </p>
      )}
      <Listing
        list={isOne ? { ...one, more: list.more } : list}
        skeleton={3}
        label="Grants"
        keyOf={({ id }) => id}
        columns={columns}
        actions={(grant) => (
          <IconButton
            label={`Remove grant of ${nameIn(names, grant)}`}
            small
            onPress={() => setEnding(grant)}
          >
            <Trash2 size={15} />
          </IconButton>
        )}
        empty={
          <Empty title="No grants">
            {grantee ? 'Access comes only from the role.' : 'Access to secrets comes only from roles.'}
          </Empty>
        }
      />
      {creating && <NewGrant grantee={grantee} onClose={() => setCreating(false)} />}
      {ending && <EndGrant grant={ending} onEnd={() => isOne && show('')} onClose={() => setEnding(null)} />}
    </>
  );
}

export default () => <Grants />;
