// The dialog that promotes secrets: it shows what a dry run would do. Invariant: what is promoted is what was
// shown; if a secret has changed since, nothing is, and the dialog shows the current state.
import { type components, VaultError } from '@secrets-vault/client';
import { useEffect, useState } from 'preact/hooks';
import { counted } from '../../counted';
import { forget, here, vault } from '../../requests/api';
import type { Header } from '../../requests/seen';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { Refusal } from '../../ui/dialogs/refusal';
import { Checkbox } from '../../ui/forms/field';
import { Skeleton } from '../../ui/parts';
import { tell } from '../../ui/toast';

type Promoted = components['schemas']['Promoted'];

/** Names in one request. */
export const MOST_PROMOTED = 1000;

interface PromotionProps {
  from: string;
  to: string;
  names: string[];
  /** Those of the names that the source does not have. They are deleted if the member wants it. */
  extra: string[];
  onDone: () => void;
  onClose: () => void;
}

/**
 * The tag of what a dry run showed. A proxy that compresses marks it as weak. Without one, nothing is
 * promoted: the platform drops an empty If-Match, so the service would take it for no condition.
 */
function tagIn({ headers, status }: Response): string {
  const tag = /^(?:W\/)?("[^",]+")$/.exec(headers.get('ETag') ?? '')?.[1];
  if (tag) return tag;
  const message =
    'The dry run came without its ETag, so nothing can be promoted. A proxy may have dropped it.';
  throw new VaultError(message, { code: 'UNEXPECTED_RESPONSE', status });
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

export function Promotion({ from, to, names, extra, onDone, onClose }: PromotionProps) {
  const [prune, setPrune] = useState(extra.length === names.length);
  const wanted = prune ? names : names.filter((name) => !extra.includes(name));
  const [seen, setSeen] = useState<{ promoted: Promoted; tag: string } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = (dryRun: boolean, header?: Header) =>
    vault().api.POST('/orgs/{org_id}/environments/{environment}/promote', {
      params: { path: { ...here(), environment: to }, header },
      body: { from, names: wanted, prune, dryRun },
    });
  const look = (isShown = () => true) =>
    ask(true)
      .then(({ data, response }) => ({ promoted: data, tag: tagIn(response) }))
      .then(
        (shown) => isShown() && setSeen(shown),
        (refused) => isShown() && setError(refused),
      );
  // A dry run of another choice is not what is promoted.
  useEffect(() => {
    let isShown = true;
    setSeen(null);
    setError(null);
    if (wanted.length) void look(() => isShown);
    return () => {
      isShown = false;
    };
  }, [prune]);
  const promote = async (tag: string) => {
    setError(null);
    try {
      const { data } = await ask(false, { 'If-Match': tag });
      await forget('secrets');
      tell(
        `${counted(data.created.length + data.updated.length, 'secret')} promoted to ${to}`,
        data.removed.length ? `${counted(data.removed.length, 'secret')} deleted.` : undefined,
      );
      onDone();
      onClose();
    } catch (refused) {
      setError(refused);
      if (refused instanceof VaultError && refused.code === 'VERSION_CONFLICT') await look();
    }
  };
  const { created = [], updated = [], unchanged = [], removed = [] } = seen?.promoted ?? {};
  const count = created.length + updated.length;
  const action = [
    count > 0 && `Promote ${counted(count, 'secret')}`,
    removed.length > 0 && `delete ${counted(removed.length, 'secret')}`,
  ].filter(Boolean);
  return (
    <Dialog title={`Promote from ${from} to ${to}`} onClose={onClose}>
      <div class="stack">
        {extra.length > 0 && (
          <Checkbox
            label={`Delete what ${from} does not have`}
            hint={`${counted(extra.length, 'selected secret')} of ${to}. Programs that read them there will fail.`}
            checked={prune}
            onChecked={setPrune}
          />
        )}
        {!seen && !error && wanted.length > 0 && <Skeleton rows={3} />}
        {seen && (
          <>
            <p>
              Programs that read {to} get the current values of {from}. Values are not shown. All secrets are
              promoted together, or none.
            </p>
            <Names label="Created" names={created} />
            <Names label="New version" names={updated} />
            <Names label="Same already" names={unchanged} />
            <Names label="Deleted" names={removed} />
          </>
        )}
        <Refusal error={error} />
      </div>
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
        <Button
          kind={removed.length ? 'danger' : 'primary'}
          disabled={!seen || !action.length}
          onPress={() => seen && promote(seen.tag)}
        >
          {action.join(', ').replace(/^d/, 'D') || `Promote ${counted(0, 'secret')}`}
        </Button>
      </footer>
    </Dialog>
  );
}
