// Dialogs and drawers, based on the browser's <dialog>: it traps the focus, makes the page behind it inert,
// and returns the focus. Invariant: a dialog with unsaved input does not close on a click outside, and Escape
// asks first.
import { X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { TYPED, useGuard } from '../../navigation/guard';
import { Button, IconButton } from '../controls/button';

interface DialogProps {
  title: string;
  /** One sentence below the title. */
  lead?: ComponentChildren;
  onClose: () => void;
  /** A side panel instead of a centred box. */
  side?: boolean;
  wide?: boolean;
  /** Whether closing would lose input. */
  dirty?: boolean;
  /** What leaving the page would lose, if not what was typed. */
  lost?: string;
  children: ComponentChildren;
}

/** Asks before input is lost. It gets the focus, so that it is visible in a scrolled dialog. */
function Unsaved({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  const note = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => note.current?.querySelector('button')?.focus(), []);
  return (
    <div ref={note} class="note warn row" role="alert">
      <p class="grow">You have unsaved changes.</p>
      <Button small onPress={onKeep}>
        Keep editing
      </Button>
      <Button small kind="danger" onPress={onDiscard}>
        Discard
      </Button>
    </div>
  );
}

export function Dialog({ title, lead, onClose, side, wide, dirty, lost, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [asking, setAsking] = useState(false);
  const id = useId();
  useGuard(dirty && (lost ?? TYPED));
  // Before it is painted, so that the dialog handles the first Escape.
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current && !current.open) {
      current.showModal();
      // Focus a field, or the copy button, or the first button at the bottom: Cancel in a destructive dialog.
      current
        .querySelector<HTMLElement>(
          '.dialog-box :is(input, select, textarea, .copyable button, .dialog-foot button)',
        )
        ?.focus();
    }
    return () => current?.close();
  }, []);
  // What is scrolled into view, such as a refusal, is shown above the buttons, which cover the end of a
  // dialog.
  useLayoutEffect(() => {
    const { current } = dialog;
    const foot = current?.querySelector<HTMLElement>('.dialog-foot');
    if (current) current.style.scrollPaddingBottom = `${(foot?.offsetHeight ?? 0) + 8}px`;
  });
  const before = useRef<HTMLElement | null>(null);
  const leave = () => {
    if (!dirty) return onClose();
    if (!asking) before.current = document.activeElement as HTMLElement | null;
    setAsking(true);
  };
  const keep = () => {
    setAsking(false);
    before.current?.focus();
  };
  return (
    <dialog
      ref={dialog}
      class={['dialog', side && 'side', wide && 'wide'].filter(Boolean).join(' ')}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onPointerDown={(event) => event.target === dialog.current && !dirty && onClose()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <div>
            <h2 id={id} tabIndex={-1}>
              {title}
            </h2>
            {lead && <p class="dim">{lead}</p>}
          </div>
          <IconButton label="Close" onPress={leave}>
            <X size={18} />
          </IconButton>
        </header>
        {asking && <Unsaved onKeep={keep} onDiscard={onClose} />}
        {children}
      </div>
    </dialog>
  );
}
