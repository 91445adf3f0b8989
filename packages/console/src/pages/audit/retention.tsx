// Entries past retention: they must be exported before they may be deleted. Invariant: the confirmation
// covers the checkpoint at the end of the file that was downloaded here; a truncated export cannot be
// confirmed.
import { useState } from 'preact/hooks';
import { confirmed, forget, here, vault } from '../../requests/api';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { tell } from '../../ui/toast';
import { download, whole } from '../../ui/values/download';

interface Exported {
  sequence: number;
  hash: string;
}

/** The checkpoint at the end of an export; if it is missing, the export was truncated. */
export function endOf(text: string): Exported | null {
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  if (!last) return null;
  const { checkpoint } = JSON.parse(last) as { checkpoint?: Exported };
  return checkpoint ? { sequence: checkpoint.sequence, hash: checkpoint.hash } : null;
}

export function Retention() {
  const [exported, setExported] = useState<Exported | null>(null);
  const [asking, setAsking] = useState(false);
  const run = async () => {
    const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/export', {
      params: { path: here() },
      parseAs: 'stream',
    });
    const text = await (await whole(data)).text();
    if (!text.trim()) return tell('No entries are past retention', 'There is nothing to export.');
    const end = endOf(text);
    if (!end) return tell('The export is incomplete', 'Download it again.');
    download(`audit-log-to-${end.sequence}.ndjson`, 'application/x-ndjson', text);
    setExported(end);
  };
  const confirm = async () => {
    if (!exported) return;
    const { sequence, hash } = exported;
    await confirmed(() =>
      vault().api.POST('/orgs/{org_id}/audit-log/export/confirm', {
        params: { path: here() },
        body: { sequence, hash },
      }),
    );
    await forget('audit');
    tell(`Confirmed the export up to entry ${sequence.toLocaleString()}`);
    setExported(null);
  };
  return (
    <section class="stack narrow">
      <h2>Entries past retention</h2>
      <p class="dim">
        If a retention period is set, old entries are deleted only after an owner has exported them and
        confirmed that the file is stored.
      </p>
      <div class="row">
        <Button onPress={run}>Download entries past retention</Button>
        {exported && me.value?.role === 'owner' && (
          <Button kind="danger" onPress={() => setAsking(true)}>
            Confirm export
          </Button>
        )}
      </div>
      {asking && exported && (
        <Confirm
          title={`Confirm the export up to entry ${exported.sequence.toLocaleString()}?`}
          action="Confirm export"
          onConfirm={confirm}
          onClose={() => setAsking(false)}
        >
          <p>
            This deletes entries up to {exported.sequence.toLocaleString()} that are past retention. Check the
            file with <code>npm run audit:verify</code> and store it first.
          </p>
        </Confirm>
      )}
    </section>
  );
}
