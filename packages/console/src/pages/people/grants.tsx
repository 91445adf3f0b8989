// Grants: access to secrets that is added to roles, for a member or a team.
import type { components } from '@secrets-vault/client';
import { Plus, Trash2 } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { forget, here, useList, vault } from '../../api';
import { Who } from '../../people';
import { useParameter } from '../../router';
import { Button, IconButton } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Listing } from '../../ui/listing';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { NewGrant } from './new-grant';
import '../../styles/access.css';

type Grant = components['schemas']['Grant'];

const placeOf = ({ environments, secrets }: Grant): string =>
  [environments?.join(', ') ?? 'all environments', secrets ? secrets.join(', ') : 'every name'].join(' · ');

function EndGrant({ grant, onClose }: { grant: Grant; onClose: () => void }) {
  const end = async () => {
    await vault().api.DELETE('/orgs/{org_id}/grants/{id}', { params: { path: { ...here(), id: grant.id } } });
    await forget('grants', 'members', 'teams');
    tell('The grant is removed');
  };
  return (
    <Confirm title="Remove this grant?" action="Remove grant" onConfirm={end} onClose={onClose}>
      <p>
        <Who id={grant.grantee.id} /> can no longer {grant.permission} secrets in <strong>{placeOf(grant)}</strong> through it, from the
        next request on. What their role or other grants give stays.
      </p>
    </Confirm>
  );
}

/** The grants of a member or team, or all of them. */
export function Grants({ grantee }: { grantee?: { type: 'member' | 'team'; id: string } }) {
  const [creating, setCreating] = useState(false);
  const [ending, setEnding] = useState<Grant | null>(null);
  const [only] = useParameter('id');
  const list = useList<Grant>(['grants', 'list', grantee?.id], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/grants', { params: { path: here(), query: { limit: 100, cursor, grantee: grantee?.id } }, signal }),
  );
  const add = (
    <Button kind={grantee ? 'plain' : 'primary'} onPress={() => setCreating(true)}>
      <Plus size={16} aria-hidden="true" /> New grant
    </Button>
  );
  return (
    <>
      {grantee ? (
        <div class="row spaced">
          <h2 class="grow">Grants</h2>
          {add}
        </div>
      ) : (
        <PageHead title="Grants" lead="Access to secrets that is added to a role, for a member or a team. Never delete or share.">
          {add}
        </PageHead>
      )}
      <Listing
        list={list}
        rows={only && !grantee ? list.rows.filter(({ id }) => id === only) : undefined}
        skeleton={3}
        label="Grants"
        keyOf={({ id }) => id}
        columns={[
          { label: 'To', width: 'minmax(8rem, 1fr)', cell: ({ grantee: { id } }) => <Who id={id} /> },
          {
            label: 'May',
            width: '5.5rem',
            cell: ({ permission }) => <Badge tone={permission === 'write' ? 'warn' : 'accent'}>{permission}</Badge>,
          },
          {
            label: 'Where',
            width: 'minmax(10rem, 2fr)',
            wide: true,
            cell: (grant) => (
              <span class="truncate block" title={placeOf(grant)}>
                {placeOf(grant)}
              </span>
            ),
          },
          { label: 'Ends', width: '8rem', wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
          { label: 'Made by', width: '8rem', wide: true, cell: ({ created_by }) => <Who id={created_by} /> },
        ]}
        actions={(grant) => (
          <IconButton label="Remove grant" small onPress={() => setEnding(grant)}>
            <Trash2 size={15} />
          </IconButton>
        )}
        empty={<Empty title="No grants">{grantee ? 'Only the role gives access.' : 'Only roles give access to secrets.'}</Empty>}
      />
      {creating && <NewGrant grantee={grantee} onClose={() => setCreating(false)} />}
      {ending && <EndGrant grant={ending} onClose={() => setEnding(null)} />}
    </>
  );
}

export default () => <Grants />;
