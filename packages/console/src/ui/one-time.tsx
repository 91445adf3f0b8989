// Shows a token or link once, to be copied. Invariant: it is in the document only while this is open, and the
// dialog closes only after the user confirms that they have saved it.
import { useState } from 'preact/hooks';
import { useDrop } from '../unsaved';
import { Button } from './button';
import { Dialog } from './dialog';
import { CopyButton } from './parts';

interface OneTimeProps {
  title: string;
  /** Its purpose, and what to do with it. */
  lead: string;
  /** The token, key or link. */
  text: string;
  /** Replaces the default warning, which is for tokens. */
  warning?: string;
  onClose: () => void;
}

export function OneTime({ title, lead, text, warning, onClose }: OneTimeProps) {
  const [has, setHas] = useState(false);
  useDrop('typed', onClose);
  return (
    <Dialog
      title={title}
      lead={lead}
      onClose={onClose}
      dirty={!has}
      lost="You have not copied it, and it is shown only once."
    >
      <p class="copyable">
        <code class="grow">{text}</code>
        <CopyButton text={text} label="Copy" onCopied={() => setHas(true)} />
      </p>
      <p class="note warn">
        {warning ??
          'This is shown only once and cannot be recovered. Store it where your programs read it, never in code.'}
      </p>
      <footer class="dialog-foot">
        <Button kind="primary" onPress={onClose}>
          I have saved it
        </Button>
      </footer>
    </Dialog>
  );
}
