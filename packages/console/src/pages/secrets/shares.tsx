// The links and grants that give others access to a secret.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Who } from '../../organisation/people';
import { forget, here, useList, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Table } from '../../ui/lists/table';
import { Empty, ErrorNote, Skeleton, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';
import { GrantSecret } from './grant';
import type { Secret } from './secret';

type Share = components['schemas']['Share'];

const LIFETIMES = [
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '259200', label: '3 days' },
  { value: '604800', label: '7 days' },
];

export function NewLink({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const [lifetime, setLifetime] = useState('3600');
  const [views, setViews] = useState('1');
  const [passphrase, setPassphrase] = useState('');
  const [url, setUrl] = useState<string | null>(null);
  const problems = useProblems();
  const create = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/secrets/{id}/share', {
      params: { path: { ...here(), id: secret.id } },
      body: {
        kind: 'link',
        expires_in: Number(lifetime),
        max_views: Number(views),
        ...(passphrase && { passphrase }),
      },
    });
    await forget('secrets');
    if ('url' in data && data.url) setUrl(data.url);
    else onClose();
  };
  if (url)
    return (
      <OneTime
        title="Link created"
        lead={`Send it to the person who needs ${secret.name}. They can open it in a browser without an account.`}
        text={url}
        warning={`This link is shown only once. It ${views === '1' ? 'works once' : `works ${views} times`}, and you can revoke it in the list of shares.`}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title={`Share ${secret.name} with a link`}
      lead={`Anyone who opens the link can see version ${secret.version}.`}
      onClose={onClose}
      dirty={passphrase !== ''}
    >
      <Form action="Create link" onSubmit={create} onCancel={onClose} problems={problems}>
        <div class="columns">
          <SelectField
            label="Valid for"
            value={lifetime}
            onValue={setLifetime}
            choices={LIFETIMES}
            error={problems.of('expires_in')}
          />
          <TextField
            label="Views"
            type="number"
            min={1}
            max={100}
            value={views}
            onValue={setViews}
            error={problems.of('max_views')}
            required
          />
        </div>
        <TextField
          label="Passphrase"
          secret
          optional
          type="password"
          autocomplete="new-password"
          value={passphrase}
          onValue={setPassphrase}
          error={problems.of('passphrase')}
          hint="Send it through a different channel than the link."
        />
      </Form>
    </Dialog>
  );
}

export function Shares({ secret }: { secret: Secret }) {
  const [creating, setCreating] = useState<'link' | 'grant' | null>(null);
  const [ending, setEnding] = useState<Share | null>(null);
  const { rows, error, isPending, refetch, more } = useList<Share>(
    ['secrets', 'shares', secret.id],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/secrets/{id}/shares', {
        params: { path: { ...here(), id: secret.id }, query: { limit: 100, cursor } },
        signal,
      }),
  );
  const revoke = async ({ id }: Share) => {
    await vault().api.DELETE('/orgs/{org_id}/secrets/{id}/shares/{share_id}', {
      params: { path: { ...here(), id: secret.id, share_id: id } },
    });
    await forget('secrets');
    tell('Access revoked');
  };
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  return (
    <div class="stack">
      <div class="section-head">
        <p class="dim grow">
          A link shows one version to anyone who opens it. A grant gives access to a member, a team or an
          agent.
        </p>
        <div class="row">
          <Button onPress={() => setCreating('link')} disabled={secret.status !== 'active'}>
            Create link
          </Button>
          <Button kind="primary" onPress={() => setCreating('grant')} disabled={secret.status !== 'active'}>
            Share with people
          </Button>
        </div>
      </div>
      {isPending ? (
        <Skeleton of="table" rows={3} />
      ) : (
        <Table
          label="Links and grants"
          rows={rows}
          keyOf={({ id }) => id}
          onEnd={more}
          columns={[
            {
              label: 'Kind',
              width: 'minmax(9rem, 2fr)',
              cell: (share) =>
                share.kind === 'link' ? (
                  `Link to version ${share.version}`
                ) : (
                  <span class="truncate block">
                    Grant to {share.grantee.type} <Who id={share.grantee.id} />
                  </span>
                ),
            },
            {
              label: 'Use',
              width: '9rem',
              cell: (share) =>
                share.kind === 'link' ? `${share.views} of ${share.max_views} views` : share.permission,
            },
            {
              label: 'Passphrase',
              width: '7rem',
              wide: true,
              cell: (share) =>
                share.kind !== 'link' ? null : share.passphrase ? 'Yes' : <span class="dim">No</span>,
            },
            { label: 'Expires', width: '9rem', cell: ({ expires_at }) => <Time at={expires_at} /> },
          ]}
          actions={(share) => (
            <Button small kind="quiet" onPress={() => setEnding(share)}>
              Revoke
            </Button>
          )}
          empty={
            <Empty title="Not shared">
              There are no links or grants for this secret. Members and credentials can read it only with
              their own permissions.
            </Empty>
          }
        />
      )}
      {creating === 'link' && <NewLink secret={secret} onClose={() => setCreating(null)} />}
      {creating === 'grant' && <GrantSecret secret={secret} onClose={() => setCreating(null)} />}
      {ending && (
        <Confirm
          title={`Revoke this ${ending.kind}?`}
          action={`Revoke ${ending.kind}`}
          onConfirm={() => revoke(ending)}
          onClose={() => setEnding(null)}
        >
          <p>
            {ending.kind === 'link'
              ? 'The link stops working immediately. Anyone who opened it may have kept the value: rotate the secret if that matters.'
              : 'It gives no more access from the next request.'}
          </p>
        </Confirm>
      )}
    </div>
  );
}
