// Shows a token or link once, to be copied. Invariant: it is in the document only while this is open, and the
// dialog closes only after the user confirms that they have saved it.
import { useState } from 'preact/hooks';
import { useDrop } from '../../changes/unsaved';
import { Button } from '../controls/button';
import { Dialog } from '../dialogs/dialog';
import { CopyButton } from '../parts';

/** A further text, with what it is. */
export interface FurtherText {
  label: string;
  text: string;
}

/** What is shown once of the access key of an API key, for clients of AWS. */
export const accessKeyTexts = (
  aws: { access_key_id: string | null; secret_access_key: string | null } | null | undefined,
): FurtherText[] =>
  aws?.access_key_id && aws.secret_access_key
    ? [
        { label: 'Access key ID, for clients of AWS', text: aws.access_key_id },
        { label: 'Secret access key', text: aws.secret_access_key },
      ]
    : [];

interface OneTimeProps {
  title: string;
  /** Its purpose, and what to do with it. */
  lead: string;
  /** The token, key or link. */
  text: string;
  /** What is shown once beside it. */
  further?: readonly FurtherText[];
  /** Replaces the default warning, which is for tokens. */
  warning?: string;
  onClose: () => void;
}

export function OneTime({ title, lead, text, further = [], warning, onClose }: OneTimeProps) {
  const [copied, setCopied] = useState<readonly string[]>([]);
  const has = [text, ...further.map((one) => one.text)].every((one) => copied.includes(one));
  const note = (one: string) => setCopied((before) => [...before, one]);
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
        <CopyButton text={text} label="Copy" onCopied={() => note(text)} />
      </p>
      {further.map((one) => (
        <div key={one.label}>
          <p class="hint">{one.label}</p>
          <p class="copyable">
            <code class="grow">{one.text}</code>
            <CopyButton text={one.text} label={`Copy: ${one.label}`} onCopied={() => note(one.text)} />
          </p>
        </div>
      ))}
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
