// One upstream: where it sends, what it places and lets through, its last call, and what one can do with it.
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { at, forgetGone, here, useRead, vault } from '../../requests/api';
import type { Changing } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { ChangeUpstream } from './form';
import type { Shown, Upstream } from './kinds';
import { UpstreamStatus } from './list';

const isWhole = (upstream: Shown): upstream is Upstream => upstream.auth !== undefined;

/** The last call, from the audit log. */
function LastUsed({ id }: { id: string }) {
  const { data } = useRead(['upstreams', 'used', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/audit-log', {
      params: { path: here(), query: { resource: id, action: 'secret.use', limit: 1 } },
      signal,
    }),
  );
  const entries = (data as { data: { time: string }[] } | undefined)?.data;
  return entries ? <Time at={entries[0]?.time} /> : null;
}

const Allowed = ({ allow }: Pick<Shown, 'allow'>) => (
  <ul class="plain mono">
    {allow.map(({ methods, paths, headers }) => (
      <li key={methods.join() + paths.join()}>
        {methods.join(', ')} {paths.join(' ')}
        {headers &&
          ` (${Object.entries(headers)
            .map((pair) => pair.join(': '))
            .join(', ')})`}
      </li>
    ))}
  </ul>
);

const Config = ({ upstream }: { upstream: Shown }) => (
  <Facts
    items={[
      ['Base URL', <span class="mono">{upstream.base_url}</span>],
      ['Lets through', <Allowed allow={upstream.allow} />],
      ...(isWhole(upstream)
        ? ([
            ['Environment', upstream.environment],
            ['Places', <span class="mono">{upstream.secrets.join(', ')}</span>],
            ['As', upstream.auth.map(({ type }) => type).join(', ')],
            ['Calls a minute', upstream.rate_limit ?? 'No bound of its own'],
            ['Created', <Time at={upstream.created_at} />],
            ['Created by', <code>{upstream.created_by}</code>],
            ['Changed', <Time at={upstream.updated_at} />],
          ] as [string, preact.ComponentChildren][])
        : []),
      [
        'May call',
        <>
          Credentials with <code>secrets:use</code> whose upstreams include it, and members by{' '}
          <Link href="/grants">grants</Link>
        </>,
      ],
      may('audit:read') && ['Last call', <LastUsed id={upstream.id} />],
      ['ID', <Id id={upstream.id} />],
    ]}
  />
);

export default function UpstreamPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const [doing, setDoing] = useState<'change' | 'delete' | null>(null);
  const [, go] = useLocation();
  const { data, error, refetch } = useRead(['upstreams', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/upstreams/{id}', { ...at(id), signal }),
  );
  if (error)
    return <Missing what="upstream" list={['/upstreams', 'Upstreams']} error={error} onRetry={refetch} />;
  if (!data) return <LoadingPage />;
  const upstream: Shown = data;
  const end = () => setDoing(null);
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/upstreams/{id}', at(id, header)));
    tell('Upstream deleted');
    go('/upstreams');
    forgetGone('upstreams');
  };
  return (
    <>
      <Crumbs places={[['/upstreams', 'Upstreams']]} />
      <PageHead title={upstream.name} lead={<UpstreamStatus {...upstream} />}>
        {isWhole(upstream) && may('upstreams:write') && (
          <>
            <Button onPress={() => setDoing('change')}>Change</Button>
            <Menu
              label="More actions"
              actions={[{ label: 'Delete', danger: true, onSelect: () => setDoing('delete') }]}
            />
          </>
        )}
      </PageHead>
      {upstream.status === 'stopped' && (
        <p class="note warn spaced">
          Calls are refused: whoever made this upstream was removed, or may not read its secrets any more.
          Save it to take it over.
        </p>
      )}
      <Config upstream={upstream} />
      {doing === 'change' && isWhole(upstream) && <ChangeUpstream upstream={upstream} onClose={end} />}
      {doing === 'delete' && isWhole(upstream) && (
        <Confirm
          title="Delete this upstream?"
          action="Delete upstream"
          resource={upstream}
          onConfirm={remove}
          onClose={end}
        >
          <p>No call begins any more. The secrets stay.</p>
        </Confirm>
      )}
    </>
  );
}
