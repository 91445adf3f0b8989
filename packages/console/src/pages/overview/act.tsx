// The dialogs of the overview's rows. Each reads what it changes first. Invariant: a change names what its
// member was shown; an approval is given only under the text of its request, and a sync runs only after its
// preview.
import type { components } from '@secrets-vault/client';
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { counted } from '../../counted';
import { at, forget, here, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { Refusal } from '../../ui/dialogs/refusal';
import { ErrorNote, Facts, Skeleton, Time } from '../../ui/parts';
import { asked } from '../approvals/asked';
import { decide } from '../approvals/decide';
import { Shown } from '../approvals/shown';
import { RevokeCredential } from '../credentials/change';
import { readOne } from '../credentials/kinds';
import { useGraph, useIncident } from '../incident/data';
import { NoteDialog } from '../incident/note';
import { changesIn, Plan } from '../integrations/plan';
import { platformName } from '../integrations/platforms';
import type { Sync } from '../integrations/runs';
import { Rotate } from '../secrets/change';
import { useSecret } from '../secrets/secret';
import type { Item } from './data';
import type { Deed } from './parts';

interface Props {
  item: Item;
  onClose: () => void;
}

/** In place of a dialog whose resource is being read, could not be read, or is gone. */
function NotYet({ title, error, onClose }: { title: string; error: unknown; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      {error ? <ErrorNote error={error} /> : <Skeleton rows={3} />}
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
      </footer>
    </Dialog>
  );
}

function Decide({ item: { id }, onClose }: Props) {
  const { data: approval, error } = useRead(['approvals', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/approvals/{id}', { ...at(id), signal }),
  );
  const [refused, setRefused] = useState<unknown>(null);
  if (!approval) return <NotYet title="Decide" error={error} onClose={onClose} />;
  const press = async (verb: 'approve' | 'reject') => {
    setRefused(null);
    await decide(approval, verb).then(onClose, setRefused);
  };
  return (
    <Dialog title={approval.summary} onClose={onClose}>
      <div class="stack">
        <Facts items={[...asked(approval), ['Expires', <Time at={approval.expires_at} />]]} />
        <Shown shown={approval.shown} />
        <p class="small dim">
          You confirm an approval with your passkey, unless you have in the last five minutes. A single
          rejection closes the request. <Link href={`/approvals/${id}`}>Open the request</Link>
        </p>
        <Refusal error={refused} />
      </div>
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
        <Button onPress={() => press('reject')} decides>
          Reject
        </Button>
        <Button kind="primary" decides onPress={() => press('approve')}>
          Approve
        </Button>
      </footer>
    </Dialog>
  );
}

type DryRun = components['schemas']['SyncDryRun'];

/** What to run again: the names that failed, on the same connection and environment. */
const bodyOf = ({ integrationId, environmentId, results }: Sync) => ({
  integrationId: integrationId ?? '',
  environmentId,
  names: results.filter(({ action }) => action === 'failed').map(({ name }) => name),
});

function RunAgain({ sync, title, onClose }: { sync: Sync; title: string; onClose: () => void }) {
  const [plan, setPlan] = useState<DryRun | null>(null);
  const [refused, setRefused] = useState<unknown>(null);
  const [, go] = useLocation();
  const ask = async (dryRun: boolean) => {
    setRefused(null);
    try {
      const { names, ...body } = bodyOf(sync);
      const { data } = await vault().api.POST('/orgs/{org_id}/integrations/sync', {
        params: { path: here() },
        body: { ...body, ...(names.length && { names }), dryRun },
      });
      if ('dryRun' in data) return setPlan(data);
      await forget('syncs');
      go(`/syncs/${data.syncId}`);
    } catch (error) {
      setRefused(error);
    }
  };
  useEffect(() => void ask(true), []);
  const count = plan ? changesIn(plan.results) : 0;
  const works = plan?.results.some(({ action }) => action !== 'failed' && action !== 'skipped');
  return (
    <Dialog title={title} onClose={onClose} wide>
      <div class="stack">
        {!plan && !refused && <Skeleton rows={3} />}
        {plan && <Plan results={plan.results} isPlan />}
        <Refusal error={refused} />
      </div>
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
        <Button onPress={() => ask(true)}>Preview again</Button>
        <Button kind="primary" disabled={!works} onPress={() => ask(false)}>
          {count ? `Sync ${counted(count, 'change')} to ${platformName(sync.platform)}` : 'Sync again'}
        </Button>
      </footer>
    </Dialog>
  );
}

function Retry({ item: { id, name }, onClose }: Props) {
  const { data, error } = useRead(['syncs', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/integrations/syncs/{id}', { ...at(id), signal }),
  );
  const title = `Retry the sync to ${name}`;
  if (!data) return <NotYet title={title} error={error} onClose={onClose} />;
  return <RunAgain sync={data} title={title} onClose={onClose} />;
}

function RotateOverdue({ item: { id, name }, onClose }: Props) {
  const { data, error } = useSecret(id);
  return data?.secret ? (
    <Rotate secret={data.secret} onClose={onClose} />
  ) : (
    <NotYet title={`Rotate ${name}`} error={error} onClose={onClose} />
  );
}

function CloseIncident({ item: { id }, onClose }: Props) {
  const { data, error } = useIncident(id);
  return data ? (
    <NoteDialog incident={data} status="closed" onClose={onClose} />
  ) : (
    <NotYet title="Close the incident" error={error} onClose={onClose} />
  );
}

function RevokeToken({ item: { id }, onClose }: Props) {
  const { data, error } = useRead(['credentials', 'one', id], (signal) => readOne(id, signal));
  const graph = useGraph(id);
  return data ? (
    <RevokeCredential credential={data} graph={graph.data} onClose={onClose} />
  ) : (
    <NotYet title="Revoke the token" error={error} onClose={onClose} />
  );
}

const dialogs = {
  decide: Decide,
  retry: Retry,
  rotate: RotateOverdue,
  close: CloseIncident,
  revoke: RevokeToken,
} satisfies Record<Deed, unknown>;

export default function Act({ deed, ...props }: Props & { deed: Deed }) {
  const Doing = dialogs[deed];
  return <Doing {...props} />;
}
