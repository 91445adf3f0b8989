// The organisation: its name, default environment, allowed addresses for members, usage, and deletion.
import type { components } from '@secrets-vault/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { byLine, changedOf } from '../../changes/merge';
import { counted } from '../../counted';
import { linesOf } from '../../globs';
import { environments } from '../../organisation/environments';
import { confirmed, forget, here, useRead, vault } from '../../requests/api';
import { type Changing, useChange, useDraft } from '../../requests/seen';
import { may } from '../../session/may';
import { me, signOut } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Badge, ErrorNote, Facts, Id, Skeleton, Time, type Tone } from '../../ui/parts';
import { tell } from '../../ui/toast';

export type Org = components['schemas']['OrgWithUsage'];
export type OrgPatch = components['schemas']['OrgPatch'];

/** Shares its cache key with the default environment, so both are read once. */
export const useOrg = () =>
  useRead(['org'], (signal) => vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal }));

/** Changes the organisation; sensitive changes ask for the passkey. */
export async function changeOrg(changing: Changing, body: OrgPatch, done: string): Promise<void> {
  await changing((header) =>
    confirmed(() => vault().api.PATCH('/orgs/{org_id}', { params: { path: here(), header }, body })),
  );
  await forget('org', 'audit');
  tell(done);
}

function General({ org }: { org: Org }) {
  const { first, draft, setDraft, isSame, changing } = useDraft(org, ({ name, default_environment }) => ({
    name,
    default_environment,
  }));
  const problems = useProblems();
  const { name, default_environment } = draft;
  const save = () => changeOrg(changing, changedOf(first, draft), 'Organisation saved');
  return (
    <section class="card stack" aria-labelledby="general">
      <h2 id="general">General</h2>
      <Form action="Save changes" onSubmit={save} problems={problems} disabled={isSame || !may('org:write')}>
        <TextField
          label="Name"
          value={name}
          onValue={(text) => setDraft({ ...draft, name: text })}
          error={problems.of('name')}
          required
          maxLength={255}
        />
        <SelectField
          label="Default environment"
          value={default_environment}
          onValue={(slug) => setDraft({ ...draft, default_environment: slug })}
          error={problems.of('default_environment')}
          hint="Used if a request does not name an environment"
          choices={environments.value.map(({ slug, name: label }) => ({ value: slug, label }))}
        />
      </Form>
    </section>
  );
}

function Addresses({ org }: { org: Org }) {
  const { first, draft, setDraft, changing } = useDraft(
    org,
    ({ allowed_addresses }) => ({ text: (allowed_addresses ?? []).join('\n') }),
    {
      text: byLine,
    },
  );
  const problems = useProblems();
  const lines = linesOf(draft.text);
  const save = () =>
    changeOrg(
      changing,
      { allowed_addresses: lines },
      lines.length ? 'Members can sign in only from these addresses' : 'Members can sign in from any address',
    );
  return (
    <section class="card stack" aria-labelledby="addresses">
      <div>
        <h2 id="addresses">Allowed addresses for members</h2>
        <p class="dim">
          Members can sign in and work only from these addresses. Leave empty to allow any address.
          Credentials have their own lists.
        </p>
      </div>
      <Form
        action="Save addresses"
        onSubmit={save}
        problems={problems}
        disabled={lines.join() === linesOf(first.text).join() || !may('org:write')}
      >
        <TextArea
          label="IP addresses and ranges"
          class="mono"
          spellcheck={false}
          value={draft.text}
          onValue={(text) => setDraft({ text })}
          error={problems.of('allowed_addresses')}
          placeholder="203.0.113.0/24"
          hint="One per line. The list must include your own address, so that you do not lock yourself out."
        />
      </Form>
    </section>
  );
}

type Region = components['schemas']['Region'];
const REGIONS: Record<Region, string> = {
  wnam: 'Western North America',
  enam: 'Eastern North America',
  sam: 'South America',
  weur: 'Western Europe',
  eeur: 'Eastern Europe',
  apac: 'Asia-Pacific',
  'apac-ne': 'North-East Asia',
  'apac-se': 'South-East Asia',
  oc: 'Oceania',
  afr: 'Africa',
  me: 'Middle East',
};
const WHERE = [
  { value: 'none', label: 'Nowhere' },
  { value: 'auto', label: 'Wherever secrets are read often' },
  { value: 'list', label: 'In chosen regions' },
];

const STATUS: Record<Org['replicas'][number]['status'], { tone: Tone; label: string }> = {
  starting: { tone: 'plain', label: 'Starting' },
  serving: { tone: 'good', label: 'Serving' },
  stopped: { tone: 'plain', label: 'Not read' },
};

/** How the replicas do. The API writes an audit entry for each time it is asked, so it is asked on demand. */
function Replicas({ org: { replicas, location_hint }, onRefresh }: { org: Org; onRefresh: () => unknown }) {
  if (!replicas.length) return null;
  return (
    <section class="stack" aria-labelledby="replicas">
      <div class="row">
        <h3 class="grow" id="replicas">
          Status
        </h3>
        <Button small onPress={async () => void (await onRefresh())}>
          Refresh
        </Button>
      </div>
      <Facts
        items={[
          location_hint && ['Gate', REGIONS[location_hint]],
          ...replicas.map(({ region, status, reads_per_minute, behind }): [string, ComponentChildren] => [
            REGIONS[region],
            <span class="row" key={region}>
              <Badge tone={STATUS[status].tone}>{STATUS[status].label}</Badge>
              {counted(reads_per_minute, 'read')} a minute
              {behind > 0 && `, ${counted(behind, 'change')} behind`}
            </span>,
          ]),
        ]}
      />
    </section>
  );
}

function Regions({ org, onRefresh }: { org: Org; onRefresh: () => unknown }) {
  const { draft, setDraft, isSame, changing } = useDraft(org, ({ regions }) => ({
    where: regions === 'auto' ? 'auto' : regions.length ? 'list' : 'none',
    list: regions === 'auto' ? [] : regions,
  }));
  const problems = useProblems();
  const { where, list } = draft;
  const save = () =>
    changeOrg(
      changing,
      { regions: where === 'auto' ? where : where === 'list' ? list : [] },
      'Regions saved',
    );
  return (
    <section class="card stack" aria-labelledby="regions">
      <div>
        <h2 id="regions">Regions</h2>
        <p class="dim">
          Replicas answer reads near the caller. They store the organisation’s ciphertext in their regions.
        </p>
      </div>
      <Form
        action="Save regions"
        onSubmit={save}
        problems={problems}
        disabled={isSame || (where === 'list' && !list.length) || !may('org:write')}
      >
        <SelectField
          label="Replicas"
          value={where}
          onValue={(value) => setDraft({ ...draft, where: value })}
          error={problems.of('regions')}
          choices={WHERE}
        />
        {where === 'list' &&
          (Object.keys(REGIONS) as Region[]).map((region) => (
            <Checkbox
              key={region}
              label={REGIONS[region]}
              hint={region}
              checked={list.includes(region)}
              onChecked={(checked) =>
                setDraft({
                  ...draft,
                  list: checked ? [...list, region] : list.filter((one) => one !== region),
                })
              }
            />
          ))}
      </Form>
      <Replicas org={org} onRefresh={onRefresh} />
    </section>
  );
}

const bytes = new Intl.NumberFormat('en', {
  notation: 'compact',
  style: 'unit',
  unit: 'byte',
  unitDisplay: 'short',
});

/** The used part of a limit. */
const Use = ({ label, used, most, text }: { label: string; used: number; most: number; text?: string }) => (
  <div class="use">
    <span>{label}</span>
    <span class="dim">{text ?? `${used.toLocaleString()} of ${most.toLocaleString()}`}</span>
    <meter min={0} max={most} high={most * 0.8} value={used} aria-label={label}>
      {used}
    </meter>
  </div>
);

const Usage = ({ org: { usage, id, created_at } }: { org: Org }) => (
  <section class="card stack" aria-labelledby="usage">
    <h2 id="usage">Usage</h2>
    <Use label="Secrets" used={usage.secrets} most={100_000} />
    <Use label="Credentials" used={usage.credentials} most={10_000} />
    <Use label="Members" used={usage.members} most={2000} />
    <Use
      label="Encrypted size"
      used={usage.sealed_bytes}
      most={4 * 2 ** 30}
      text={`${bytes.format(usage.sealed_bytes)} of 4 GiB`}
    />
    <Facts
      items={[
        ['ID', <Id id={id} />],
        ['Created', <Time at={created_at} />],
      ]}
    />
  </section>
);

function DeleteOrg({ org, onClose }: { org: Org; onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const problems = useProblems();
  const changing = useChange(org);
  const remove = async () => {
    await changing((header) =>
      confirmed(() =>
        vault().api.DELETE('/orgs/{org_id}', { params: { path: here(), header }, body: { confirm: typed } }),
      ),
    );
    tell(`${org.name} deleted`);
    await signOut().catch(() => location.assign('/console'));
  };
  return (
    <Dialog title={`Delete ${org.name}`} onClose={onClose}>
      <Form
        action="Delete organisation"
        danger
        onSubmit={remove}
        onCancel={onClose}
        problems={problems}
        disabled={typed !== org.name}
      >
        <div class="note bad">
          <p>When you confirm:</p>
          <ul class="bullets">
            <li>
              The key of {org.name} is destroyed: {counted(org.usage.secrets, 'secret')} can never be read
              again, not even from a restored backup.
            </li>
            <li>{counted(org.usage.members, 'member')} and all credentials lose access.</li>
            <li>No one can undo this, not even the operator of the deployment.</li>
          </ul>
        </div>
        <TextField
          label={`Type “${org.name}” to confirm`}
          value={typed}
          onValue={setTyped}
          error={problems.of('confirm')}
          spellcheck={false}
        />
      </Form>
    </Dialog>
  );
}

export function Organisation() {
  const { data: org, error, isPending, refetch } = useOrg();
  const [deleting, setDeleting] = useState(false);
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending || !org) return <Skeleton />;
  return (
    <div class="settings">
      <div class="stack">
        {!may('org:write') && (
          <p class="note plain">
            Only owners and admins whose role holds in all environments can change these settings.
          </p>
        )}
        {environments.value.length > 0 && <General org={org} />}
        <Addresses org={org} />
        <Regions org={org} onRefresh={refetch} />
      </div>
      <div class="stack">
        <Usage org={org} />
        {me.value?.role === 'owner' && (
          <section class="card stack" aria-labelledby="end">
            <h2 id="end">Delete this organisation</h2>
            <p class="dim">
              Destroys the key of the organisation, so that its secrets can never be read again. This cannot
              be undone.
            </p>
            <div>
              <Button kind="danger" onPress={() => setDeleting(true)}>
                Delete organisation…
              </Button>
            </div>
          </section>
        )}
      </div>
      {deleting && <DeleteOrg org={org} onClose={() => setDeleting(false)} />}
    </div>
  );
}
