// The retention of the audit log, the deletion of exported entries, and the public key for its checkpoints.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { counted } from '../../counted';
import { confirmed, forget, here, useRead, vault } from '../../requests/api';
import { useDraft } from '../../requests/seen';
import { UnreachableError } from '../../session/public-api';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { CopyButton, ErrorNote, Facts, Id, Skeleton } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { whole } from '../../ui/values/download';
import { changeOrg, type Org, useOrg } from './organisation';

type Checkpoint = components['schemas']['Checkpoint'];

function Retention({ org }: { org: Org }) {
  const { draft, setDraft, isSame, changing } = useDraft(org, ({ audit_retention_days: days }) => ({
    days: String(days ?? ''),
  }));
  const { days } = draft;
  const problems = useProblems();
  const save = () =>
    changeOrg(
      changing,
      { audit_retention_days: days.trim() ? Number(days) : null },
      days.trim() ? `Entries are kept for ${counted(Number(days), 'day')}` : 'Entries are kept forever',
    );
  return (
    <section class="card stack" aria-labelledby="retention">
      <div>
        <h2 id="retention">Retention</h2>
        <p class="dim">
          Older entries are deleted once you have confirmed their export. Leave empty to keep entries forever.
        </p>
      </div>
      <Form
        action="Save retention"
        onSubmit={save}
        problems={problems}
        disabled={isSame || me.value?.role !== 'owner'}
      >
        <TextField
          label="Keep entries for"
          value={days}
          onValue={(text) => setDraft({ days: text })}
          error={problems.of('audit_retention_days')}
          type="number"
          min={90}
          max={3650}
          hint={me.value?.role === 'owner' ? 'In days: 90 to 3,650' : 'Only an owner can change this.'}
        />
      </Form>
    </section>
  );
}

/** The signed checkpoint of an export, which is its last line. */
const checkpointOf = (text: string): Checkpoint | null => {
  const last = text.trim().split('\n').at(-1);
  return last ? ((JSON.parse(last) as { checkpoint?: Checkpoint }).checkpoint ?? null) : null;
};

/** Downloads a text as a file. */
function save(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function Export() {
  const [end, setEnd] = useState<Checkpoint | null>(null);
  const [asking, setAsking] = useState(false);
  const download = async () => {
    const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/export', {
      params: { path: here() },
      parseAs: 'stream',
    });
    const text = await (await whole(data)).text();
    if (!text.trim()) return tell('No entries are past retention', 'There is nothing to export yet.');
    const checkpoint = checkpointOf(text);
    if (!checkpoint) throw new UnreachableError('cut off');
    save(text, `audit-log-through-${checkpoint.sequence}.ndjson`);
    setEnd(checkpoint);
  };
  const confirm = async () => {
    if (!end) return;
    const { sequence, hash } = end;
    const { data } = await confirmed(() =>
      vault().api.POST('/orgs/{org_id}/audit-log/export/confirm', {
        params: { path: here() },
        body: { sequence, hash },
      }),
    );
    await forget('audit');
    setEnd(null);
    tell(`Confirmed the export up to entry ${data.exported_through}`);
  };
  return (
    <section class="card stack" aria-labelledby="export">
      <div>
        <h2 id="export">Export entries past retention</h2>
        <p class="dim">
          Download the export, verify it with npm run audit:verify, store it, and confirm. The entries are
          deleted only after that.
        </p>
      </div>
      <div class="row">
        <Button onPress={download}>Download export</Button>
        <Button kind="danger" disabled={!end} onPress={() => setAsking(true)}>
          Confirm export…
        </Button>
      </div>
      {asking && end && (
        <Confirm
          title="Delete exported entries?"
          action="Confirm export"
          onConfirm={confirm}
          onClose={() => setAsking(false)}
        >
          <p>
            This deletes entries up to {end.sequence.toLocaleString()} from this service. The file that you
            downloaded is then the only copy: make sure that it is stored.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Key() {
  const { data, error, isPending, refetch } = useRead(['audit-key'], (signal) =>
    vault().api.GET('/orgs/{org_id}/audit-log/key', { params: { path: here() }, signal }),
  );
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton rows={2} />;
  return (
    <section class="card stack" aria-labelledby="key">
      <div>
        <h2 id="key">Checkpoint key</h2>
        <p class="dim">
          Checkpoints of the audit log are signed with this key. Keep a copy of the public key outside this
          service.
        </p>
      </div>
      <p class="copyable">
        <code class="grow pem">{data.pem.trim()}</code>
        <CopyButton text={data.pem} label="Copy public key" />
      </p>
      <Facts items={[['Key ID', <Id id={data.key_id} />]]} />
    </section>
  );
}

export function AuditSettings() {
  const { data: org, error, isPending, refetch } = useOrg();
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending || !org) return <Skeleton />;
  return (
    <div class="settings">
      <div class="stack">
        <Retention org={org} />
        <Export />
      </div>
      <Key />
    </div>
  );
}
