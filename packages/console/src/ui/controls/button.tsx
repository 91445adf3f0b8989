// Buttons and links that look like buttons. Invariant: a busy button shows that it is busy and cannot be
// pressed again; a button that disappears while it has the focus leaves it at the heading.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { report } from '../toast';
import { useAsleep } from './asleep';

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
    /** The action. While its promise is pending, further presses do nothing; an error is shown as a toast. */
    onPress?: (event: MouseEvent) => unknown;
    /** Whether it decides at once: then it sleeps after it is shown and after the page gets the focus. */
    decides?: boolean;
  };

/** Where the keyboard goes on if a button that had the focus is gone. */
function refocus(): void {
  if (document.activeElement !== document.body) return;
  document.querySelector<HTMLElement>('dialog[open] h2, #main h1')?.focus({ preventScroll: true });
}

export function Button({
  kind,
  small,
  class: more,
  children,
  onPress,
  type = 'button',
  decides = false,
  ...rest
}: ButtonProps) {
  const { asleep, isAsleep } = useAsleep(decides);
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(
    () => () => {
      if (button.current === document.activeElement) requestAnimationFrame(refocus);
    },
    [],
  );
  const press = async (event: MouseEvent) => {
    if (busy || isAsleep() || !onPress) return;
    const result = onPress(event);
    if (!(result instanceof Promise)) return;
    setBusy(true);
    await result.catch(report);
    setBusy(false);
  };
  return (
    <button
      {...rest}
      ref={button}
      type={type}
      class={classOf({ kind, small, class: more })}
      aria-disabled={busy || asleep || undefined}
      data-busy={busy || undefined}
      onClick={press}
    >
      {children}
    </button>
  );
}

/** A button that shows only an icon; `label` is its accessible name. */
export function IconButton({ label, children, ...rest }: ButtonProps & { label: string }) {
  return (
    <Button kind="quiet" {...rest} class={`icon ${rest.class ?? ''}`} aria-label={label} title={label}>
      {children}
    </Button>
  );
}
