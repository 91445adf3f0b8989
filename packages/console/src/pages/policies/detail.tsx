// One policy: its rule, what it applies to, and what breaks it.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { forget, forgetGone, here, useList, useRead, vault } from '../../api';
import { Who } from '../../people';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Listing } from '../../ui/listing';
import { Menu } from '../../ui/menu';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Empty, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { draftOf } from './draft';
import { PolicyForm } from './form';
import { KindBadge } from './list';
import { Preview } from './preview';
import { appliesWhere, isApproving, isNaming, kindLeads, operationWords, type Policy } from './words';
import '../../styles/access.css';

type Violation = components['schemas']['PolicyViolation'];
const at = (id: string) => ({ params: { path: { ...here(), id } } });

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
          { label: 'Name', width: 'minmax(10rem, 2fr)', cell: ({ name }) => <span class="mono truncate">{name}</span> },
          { label: 'Environment', width: '9rem', cell: ({ environment }) => environment },
          { label: 'Type', width: '8rem', wide: true, cell: ({ type }) => <span class="dim">{type}</span> },
        ]}
        empty={<Empty title="No violations">Every name that the policy applies to fits its pattern.</Empty>}
      />
    </section>
  );
}

function rulesOf({ config, next_times = [] }: Policy): [string, preact.ComponentChildren][] {
  if (isNaming(config)) return [['Pattern', <code>{config.pattern}</code>]];
  if (isApproving(config))
    return [
      ['Held until approved', config.operations.map((operation) => operationWords[operation]).join(', ')],
      ['Approvals needed', config.required],
      [
        'Approvers',
        'team_id' in config.approvers ? (
          <>
            Team <Who id={config.approvers.team_id} />
          </>
        ) : (
          `Members with the role ${config.approvers.role}`
        ),
      ],
      ['Break-glass tokens', config.allow_break_glass ? 'Need no approval' : 'Need approval too'],
    ];
  return [
    ['Values are due', config.cron ? <code>{config.cron} (UTC)</code> : `${config.max_age_days} days after each was stored`],
    ...(next_times.length ? [['Next', next_times.map((time) => new Date(time).toUTCString()).join('; ')] as [string, string]] : []),
    ['Rotates by itself', config.auto_rotate ? 'Where secrets allow it' : 'No: it only says what is due'],
  ];
}

function Asking({ policy, asking, onClose }: { policy: Policy; asking: 'off' | 'delete'; onClose: () => void }) {
  const [, go] = useLocation();
  const act = async () => {
    if (asking === 'off') await vault().api.PATCH('/orgs/{org_id}/policies/{id}', { ...at(policy.id), body: { enabled: false } });
    else await vault().api.DELETE('/orgs/{org_id}/policies/{id}', at(policy.id));
    tell(asking === 'off' ? `${policy.name} is off` : `${policy.name} is deleted`);
    if (asking === 'delete') go('/policies');
    forgetGone('policies', 'approvals');
  };
  const verb = asking === 'off' ? 'Switch off' : 'Delete';
  return (
    <Confirm title={`${verb} ${policy.name}?`} action={`${verb} policy`} onConfirm={act} onClose={onClose}>
      <p>
        From the next request on, nothing that only <strong>{policy.name}</strong>{' '}
        {policy.kind === 'approval'
          ? 'holds needs approval any more.'
          : policy.kind === 'naming'
            ? 'refuses is refused any more.'
            : 'asks for is due any more.'}
      </p>
      {policy.kind === 'approval' && policy.enabled && <p>This change may itself need the approval of its approvers.</p>}
    </Confirm>
  );
}

export default function PolicyPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: policy,
    error,
    isPending,
    refetch,
  } = useRead(['policies', 'one', id], (signal) => vault().api.GET('/orgs/{org_id}/policies/{id}', { ...at(id), signal }));
  const [doing, setDoing] = useState<'edit' | 'off' | 'delete' | null>(null);
  if (error) return <Missing what="policy" list={['/policies', 'Policies']} error={error} onRetry={refetch} />;
  if (isPending || !policy) return <LoadingPage />;
  const end = () => setDoing(null);
  const switchOn = async () => {
    await vault().api.PATCH('/orgs/{org_id}/policies/{id}', { ...at(id), body: { enabled: true } });
    await forget('policies');
    tell(`${policy.name} is in force`);
  };
  return (
    <>
      <Crumbs places={[['/policies', 'Policies']]} />
      <PageHead
        title={policy.name}
        lead={
          <>
            <KindBadge kind={policy.kind} /> {policy.enabled ? <Badge tone="good">on</Badge> : <Badge>off</Badge>} {kindLeads[policy.kind]}
          </>
        }
      >
        {policy.enabled ? (
          <Button onPress={() => setDoing('off')}>Switch off</Button>
        ) : (
          <Button kind="primary" onPress={switchOn}>
            Switch on
          </Button>
        )}
        <Button onPress={() => setDoing('edit')}>Edit</Button>
        <Menu label="More actions" actions={[{ label: 'Delete policy', danger: true, onSelect: () => setDoing('delete') }]} />
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
            ['Id', <Id id={policy.id} />],
          ]}
        />
        {policy.kind === 'naming' ? <Violations policy={policy} /> : <Preview draft={draftOf(policy)} />}
      </div>
      {doing === 'edit' && <PolicyForm policy={policy} onClose={end} />}
      {(doing === 'off' || doing === 'delete') && <Asking policy={policy} asking={doing} onClose={end} />}
    </>
  );
}
