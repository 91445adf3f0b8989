// The dialog that asks before something is destroyed. Invariant: a refusal is shown in the dialog, because everything outside it is inert.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button } from './button';
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
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks for confirmation before something is destroyed, and names it. */
export function Confirm({ title, children, action, word, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<unknown>(null);
  const id = useId();
  const confirm = async () => {
    setError(null);
    await onConfirm().then(onClose, setError);
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
            <input id={id} autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
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
