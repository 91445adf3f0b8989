// One policy: its rule, the secrets it applies to, and its violations.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { at, forget, forgetGone, here, useList, useRead, vault } from '../../requests/api';
import { change, useChange } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Listing } from '../../ui/lists/listing';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Empty, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { draftOf } from './draft';
import { PolicyForm } from './form';
import { KindBadge } from './list';
import { Preview } from './preview';
import { appliesWhere, isApproving, isNaming, kindLeads, operationWords, type Policy } from './words';
import '../../styles/access.css';
import { counted } from '../../counted';

async function enable(policy: Policy): Promise<void> {
  await change(policy, (header) =>
    vault().api.PATCH('/orgs/{org_id}/policies/{id}', { ...at(policy.id, header), body: { enabled: true } }),
  );
  await forget('policies');
  tell(`${policy.name} enabled`);
}

type Violation = components['schemas']['PolicyViolation'];

function Violations({ policy }: { policy: Policy }) {
  const list = useList<Violation>(['policies', 'violations', policy.id], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/policies/{id}/violations', {
      params: { path: { ...here(), id: policy.id }, query: { limit: 100, cursor } },
      signal,
    }),
  );
  return (
    <section>
      <h2 class="spaced">Violations</h2>
      <Listing
        list={list}
        skeleton={3}
        label="Violations"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/secrets/${id}`}
        columns={[
          {
            label: 'Name',
            width: 'minmax(10rem, 2fr)',
            cell: ({ name }) => <span class="mono truncate">{name}</span>,
          },
          { label: 'Environment', width: '9rem', cell: ({ environment }) => environment },
          { label: 'Type', width: '8rem', wide: true, cell: ({ type }) => <span class="dim">{type}</span> },
        ]}
        empty={
          <Empty title="No violations">Every name that the policy applies to matches its pattern.</Empty>
        }
      />
    </section>
  );
}

function rulesOf({ config, next_times = [] }: Policy): [string, preact.ComponentChildren][] {
  if (isNaming(config)) return [['Pattern', <code>{config.pattern}</code>]];
  if (isApproving(config))
    return [
      ['Requires approval', config.operations.map((operation) => operationWords[operation]).join(', ')],
      ['Approvals required', config.required],
      [
        'Approvers',
        'accountable' in config.approvers ? (
          'The members accountable for the agent. Other callers are not held'
        ) : 'team_id' in config.approvers ? (
          <>
            Team <Who id={config.approvers.team_id} />
          </>
        ) : (
          `Members with the role ${config.approvers.role}`
        ),
      ],
      [
        'Approved reads',
        config.max_valid_seconds
          ? `Can be repeated for up to ${counted(config.max_valid_seconds, 'second')}`
          : 'Can be made once',
      ],
      ['Break-glass tokens', config.allow_break_glass ? 'Exempt from approval' : 'Require approval too'],
    ];
  return [
    [
      'Rotation due',
      config.cron ? (
        <code>{config.cron} (UTC)</code>
      ) : (
        `${counted(config.max_age_days ?? 0, 'day')} after a value was stored`
      ),
    ],
    ...(next_times.length
      ? [['Next', next_times.map((time) => new Date(time).toUTCString()).join('; ')] as [string, string]]
      : []),
    [
      'Automatic rotation',
      config.auto_rotate ? 'For secrets that allow it' : 'No, only reports due rotations',
    ],
  ];
}

function Asking({
  policy,
  asking,
  onClose,
}: {
  policy: Policy;
  asking: 'off' | 'delete';
  onClose: () => void;
}) {
  const [, go] = useLocation();
  const changing = useChange(policy);
  const act = async () => {
    const { api } = vault();
    if (asking === 'off') {
      const { data } = await changing((header) =>
        api.PATCH('/orgs/{org_id}/policies/{id}', { ...at(policy.id, header), body: { enabled: false } }),
      );
      tell(`${policy.name} disabled`, undefined, () => enable(data));
    } else {
      await changing((header) => api.DELETE('/orgs/{org_id}/policies/{id}', at(policy.id, header)));
      tell(`${policy.name} deleted`);
    }
    if (asking === 'delete') go('/policies');
    forgetGone('policies', 'approvals');
  };
  const verb = asking === 'off' ? 'Disable' : 'Delete';
  return (
    <Confirm
      title={`${verb} the policy “${policy.name}”?`}
      action={`${verb} policy`}
      onConfirm={act}
      onClose={onClose}
    >
      <p>
        From the next request, <strong>{policy.name}</strong>{' '}
        {policy.kind === 'approval'
          ? 'no longer holds requests for approval.'
          : policy.kind === 'naming'
            ? 'no longer refuses names.'
            : 'no longer makes rotations due.'}
      </p>
      {policy.kind === 'approval' && policy.enabled && (
        <p>This change may itself require approval by the approvers of the policy.</p>
      )}
    </Confirm>
  );
}

export default function PolicyPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: policy,
    error,
    isPending,
    refetch,
  } = useRead(['policies', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/policies/{id}', { ...at(id), signal }),
  );
  const [doing, setDoing] = useState<'edit' | 'off' | 'delete' | null>(null);
  if (error)
    return <Missing what="policy" list={['/policies', 'Policies']} error={error} onRetry={refetch} />;
  if (isPending || !policy) return <LoadingPage />;
  const end = () => setDoing(null);
  return (
    <>
      <Crumbs places={[['/policies', 'Policies']]} />
      <PageHead
        title={policy.name}
        lead={
          <>
            <KindBadge kind={policy.kind} />{' '}
            {policy.enabled ? <Badge tone="good">enabled</Badge> : <Badge>disabled</Badge>}{' '}
            {kindLeads[policy.kind]}
          </>
        }
      >
        {may('policies:write') && (
          <>
            {policy.enabled ? (
              <Button onPress={() => setDoing('off')}>Disable</Button>
            ) : (
              <Button kind="primary" onPress={() => enable(policy)}>
                Enable
              </Button>
            )}
            <Button onPress={() => setDoing('edit')}>Edit</Button>
            <Menu
              label="More actions"
              actions={[{ label: 'Delete policy', danger: true, onSelect: () => setDoing('delete') }]}
            />
          </>
        )}
      </PageHead>
      <div class="sections">
        <Facts
          items={[
            ...rulesOf(policy),
            ['Applies to', appliesWhere(policy)],
            [
              'Created',
              <>
                <Time at={policy.created_at} /> by <Who id={policy.created_by} />
              </>,
            ],
            ['ID', <Id id={policy.id} />],
          ]}
        />
        {policy.kind === 'naming' ? <Violations policy={policy} /> : <Preview draft={draftOf(policy)} />}
      </div>
      {doing === 'edit' && <PolicyForm policy={policy} onClose={end} />}
      {(doing === 'off' || doing === 'delete') && <Asking policy={policy} asking={doing} onClose={end} />}
    </>
  );
}
