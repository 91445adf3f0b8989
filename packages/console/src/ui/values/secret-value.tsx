// A value that is shown only on request. Invariants: the value is not in the document before that, is hidden
// again after 30 seconds or when the page is left.
import { ClipboardCopy, Eye, EyeOff } from 'lucide-preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { state } from '../../session/session';
import { Button } from '../controls/button';
import { copyValue } from './clipboard';

const SHOWN_FOR = 30_000;

interface SecretValueProps {
  name: string;
  /**
   * Reads the value from the service; the audit log entry contains the reason. Null if the page already shows
   * why there is none.
   */
  read: (reason?: string) => Promise<string | null>;
}

export function SecretValue({ name, read }: SecretValueProps) {
  const [value, setValue] = useState<string | null>(null);
  const [reason, setReason] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const hide = () => {
    clearTimeout(timer.current);
    setValue(null);
  };
  useEffect(() => {
    const onHidden = () => document.hidden && hide();
    document.addEventListener('visibilitychange', onHidden);
    const leave = state.subscribe((now) => now === 'out' && hide());
    return () => {
      leave();
      document.removeEventListener('visibilitychange', onHidden);
      clearTimeout(timer.current);
    };
  }, []);
  const fetched = () => read(reason.trim() || undefined);
  const reveal = async () => {
    const shown = await fetched();
    if (shown === null) return;
    setValue(shown);
    clearTimeout(timer.current);
    timer.current = setTimeout(hide, SHOWN_FOR);
  };
  const copy = async () => {
    const copied = value ?? (await fetched());
    if (copied === null) return;
    await copyValue(name, copied);
  };
  return (
    <div class="value">
      {value === null ? (
        <p class="value-hidden mono">
          <span class="unseen">The value is hidden</span>
          ••••••••••••••••
        </p>
      ) : (
        <pre class="value-shown" tabIndex={0} aria-label={`The value of ${name}`}>
          <code>{value === '' ? <span class="dim">(empty)</span> : value}</code>
        </pre>
      )}
      <div class="row">
        {value === null ? (
          <>
            <Button kind="primary" onPress={reveal}>
              <Eye size={16} aria-hidden="true" /> Reveal
            </Button>
            <Button onPress={copy}>
              <ClipboardCopy size={16} aria-hidden="true" /> Copy
            </Button>
            <input
              class="grow"
              aria-label="Reason, recorded in the audit log"
              placeholder="Reason (optional, recorded in the audit log)"
              maxLength={256}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </>
        ) : (
          <>
            <Button onPress={hide}>
              <EyeOff size={16} aria-hidden="true" /> Hide
            </Button>
            <Button onPress={copy}>
              <ClipboardCopy size={16} aria-hidden="true" /> Copy
            </Button>
            <span class="dim small">Hidden again after 30 seconds</span>
          </>
        )}
      </div>
    </div>
  );
}
