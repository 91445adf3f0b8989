// Buttons and links that look like buttons. Invariant: a button that works says so and cannot be pressed twice.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { report } from './toast';

interface Look {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  small?: boolean;
  children?: ComponentChildren;
  class?: string;
}

const classOf = ({ kind = 'plain', small, class: more }: Look): string =>
  ['button', kind, small && 'small', more].filter(Boolean).join(' ');

type ButtonProps = Look &
  Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'class' | 'onClick'> & {
    /** What a press does. While its promise is open, further presses do nothing; an error becomes a toast. */
    onPress?: (event: MouseEvent) => unknown;
  };

export function Button({ kind, small, class: more, children, onPress, type = 'button', ...rest }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const press = async (event: MouseEvent) => {
    if (busy || !onPress) return;
    const result = onPress(event);
    if (!(result instanceof Promise)) return;
    setBusy(true);
    await result.catch(report);
    setBusy(false);
  };
  return (
    <button
      {...rest}
      type={type}
      class={classOf({ kind, small, class: more })}
      aria-disabled={busy || undefined}
      data-busy={busy || undefined}
      onClick={press}
    >
      {children}
    </button>
  );
}

/** A button that shows only an icon; `label` is its name for everybody who does not see it. */
export function IconButton({ label, children, ...rest }: ButtonProps & { label: string }) {
  return (
    <Button kind="quiet" {...rest} class={`icon ${rest.class ?? ''}`} aria-label={label} title={label}>
      {children}
    </Button>
  );
}
