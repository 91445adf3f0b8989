// A token or link that is shown once: to copy before it is gone. Invariant: it is in the document only while this is open, and the dialog
// closes only when somebody says that they have it.
import { useState } from 'preact/hooks';
import { Button } from './button';
import { Dialog } from './dialog';
import { CopyButton } from './parts';

interface OneTimeProps {
  title: string;
  /** What it is for, and what to do with it. */
  lead: string;
  /** The token, key or link. */
  text: string;
  /** In place of the words that fit a token. */
  warning?: string;
  onClose: () => void;
}

export function OneTime({ title, lead, text, warning, onClose }: OneTimeProps) {
  const [has, setHas] = useState(false);
  return (
    <Dialog title={title} lead={lead} onClose={onClose} dirty={!has}>
      <p class="copyable">
        <code class="grow">{text}</code>
        <CopyButton text={text} label="Copy" onCopied={() => setHas(true)} />
      </p>
      <p class="note warn">{warning ?? 'It is shown only now. Nobody can show it again: keep it where programs read it, never in code.'}</p>
      <footer class="dialog-foot">
        <Button kind="primary" onPress={onClose}>
          I have it
        </Button>
      </footer>
    </Dialog>
  );
}
