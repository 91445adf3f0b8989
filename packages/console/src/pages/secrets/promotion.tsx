// The dialog that promotes secrets: it shows what a dry run would do. Invariant: what is promoted is what was
// shown; if a secret has changed since, nothing is, and the dialog shows the current state.
import { type components, VaultError } from '@secrets-vault/client';
import { useEffect, useState } from 'preact/hooks';
import { forget, here, vault } from '../../api';
import { counted } from '../../counted';
import type { Header } from '../../seen';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Skeleton } from '../../ui/parts';
import { Refusal } from '../../ui/refusal';
import { tell } from '../../ui/toast';

type Promoted = components['schemas']['Promoted'];

/** Names in one request. */
export const MOST_PROMOTED = 1000;

interface PromotionProps {
  from: string;
  to: string;
  names: string[];
  onDone: () => void;
  onClose: () => void;
}

function Names({ label, names }: { label: string; names: string[] }) {
  if (!names.length) return null;
  return (
    <div>
      <h3>{label}</h3>
      <ul class="names mono">
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </div>
  );
}

export function Promotion({ from, to, names, onDone, onClose }: PromotionProps) {
  const [seen, setSeen] = useState<{ promoted: Promoted; tag: string } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = (dryRun: boolean, header?: Header) =>
    vault().api.POST('/orgs/{org_id}/environments/{environment}/promote', {
      params: { path: { ...here(), environment: to }, header },
      body: { from, names, dryRun },
    });
  const look = () =>
    ask(true).then(
      ({ data, response }) => setSeen({ promoted: data, tag: response.headers.get('ETag') ?? '' }),
      setError,
    );
  useEffect(() => void look(), []);
  const promote = async (tag: string) => {
    setError(null);
    try {
      const { data } = await ask(false, { 'If-Match': tag });
      await forget('secrets');
      tell(`${counted(data.created.length + data.updated.length, 'secret')} promoted to ${to}`);
      onDone();
      onClose();
    } catch (refused) {
      setError(refused);
      if (refused instanceof VaultError && refused.code === 'VERSION_CONFLICT') await look();
    }
  };
  const { created = [], updated = [], unchanged = [] } = seen?.promoted ?? {};
  const count = created.length + updated.length;
  return (
    <Dialog title={`Promote from ${from} to ${to}`} onClose={onClose}>
      <div class="stack">
        {!seen && !error && <Skeleton rows={3} />}
        {seen && (
          <>
            <p>
              Programs that read {to} get the current values of {from}. Values are not shown. All secrets are
              promoted together, or none.
            </p>
            <Names label="Created" names={created} />
            <Names label="New version" names={updated} />
            <Names label="Same already" names={unchanged} />
          </>
        )}
        <Refusal error={error} />
      </div>
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
        <Button kind="primary" disabled={!seen || !count} onPress={() => promote(seen?.tag ?? '')}>
          Promote {counted(count, 'secret')}
        </Button>
      </footer>
    </Dialog>
  );
}
