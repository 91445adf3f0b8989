// The dialog that asks before something is destroyed. Invariants: a refusal is shown in the dialog, because
// everything outside it is inert; what it changes is the resource as it was when the dialog opened, even if
// the page behind has been refreshed since.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { type Changing, type Resource, useChange } from '../../requests/seen';
import { Button } from '../controls/button';
import { Dialog } from './dialog';
import { Refusal } from './refusal';

interface ConfirmProps {
  title: string;
  /** The consequences, shown before the action. */
  children: ComponentChildren;
  /** The label of the button: a verb and its object. */
  action: string;
  /** A text that must be typed first, for irreversible actions. */
  word?: string;
  /** What is changed, if other people can change it too. */
  resource?: Resource;
  onConfirm: (changing: Changing) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for confirmation before something is destroyed, and names it. */
export function Confirm({ title, children, action, word, resource, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<unknown>(null);
  const id = useId();
  const changing = useChange(resource);
  const confirm = async () => {
    setError(null);
    await onConfirm(changing).then(onClose, setError);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        {word && (
          <div class="field">
            <label for={id}>
              Type <strong class="mono">{word}</strong> to confirm
            </label>
            <input
              id={id}
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </div>
        )}
        <Refusal error={error} />
      </div>
      <footer class="dialog-foot">
        <Button onPress={onClose}>Cancel</Button>
        <Button kind="danger" disabled={word !== undefined && typed !== word} onPress={confirm}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
