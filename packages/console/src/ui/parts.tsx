// Small components of every page: the head, badges, times, a copy button, and placeholders for missing data.
import { Check, Copy } from 'lucide-preact';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { isReturn } from '../navigation/positions';
import { explain } from '../requests/errors';
import { Button, IconButton } from './controls/button';

/** Longer titles use a smaller font: names can have 255 characters. */
const LONG = 70;

/**
 * The head of a page: title, lead and actions. The title gets the focus when the page is opened; after Back,
 * the row that was left.
 */
export function PageHead({
  title,
  lead,
  children,
}: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (typeof title === 'string') document.title = `${title} · Secrets Vault`;
    if (!isReturn() || !document.activeElement?.closest('.table-row'))
      heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <header class="page-head">
      <div class="grow">
        <h1
          ref={heading}
          tabIndex={-1}
          class={typeof title === 'string' && title.length > LONG ? 'long' : undefined}
        >
          {title}
        </h1>
        {lead && <p class="dim">{lead}</p>}
      </div>
      {children && <div class="row">{children}</div>}
    </header>
  );
}

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'accent';

export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** A time relative to `now` in words; both in milliseconds. */
export function ago(time: number, now: number): string {
  const seconds = Math.round((time - now) / 1000);
  const [unit, size] = steps.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const);
  return Math.abs(seconds) < 5 ? 'just now' : relative.format(Math.trunc(seconds / size), unit);
}

/** Whether there is room for the exact time beside the relative time, as in the facts of a page. */
const Exact = createContext(false);
const exactly = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** A relative time, with the exact time on hover and for programs. */
export function Time({ at, none = 'Never' }: { at: string | null | undefined; none?: string }) {
  const isExact = useContext(Exact);
  if (!at) return <span class="dim">{none}</span>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ago(Date.parse(at), Date.now())}
      {isExact && (
        <>
          {' '}
          <span class="exact">({exactly.format(new Date(at))})</span>
        </>
      )}
    </time>
  );
}

/**
 * Copies a text that is not secret, such as an id or a command. Values are copied by `RevealedValue`, which
 * clears the clipboard.
 */
export function CopyButton({
  text,
  label,
  onCopied,
}: {
  text: string;
  label: string;
  onCopied?: () => void;
}) {
  const [done, setDone] = useState(false);
  return (
    <IconButton
      label={done ? 'Copied' : label}
      small
      onPress={async () => {
        await navigator.clipboard.writeText(text);
        setDone(true);
        onCopied?.();
        setTimeout(() => setDone(false), 1500);
      }}
    >
      {done ? <Check size={15} /> : <Copy size={15} />}
    </IconButton>
  );
}

/** A complete identifier with a copy button. */
export const Id = ({ id }: { id: string }) => (
  <span class="id">
    <code>{id}</code>
    <CopyButton text={id} label="Copy ID" />
  </span>
);

/** The empty state of a list: says why it is empty, and what to do next. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p class="dim">{children}</p>}
      {action}
    </div>
  );
}

/** Grey lines in the shape of the loading content: rows, a table with its head, or facts. */
export function Skeleton({ rows = 6, of = 'rows' }: { rows?: number; of?: 'rows' | 'table' | 'facts' }) {
  return (
    <div class={`skeleton of-${of}`} role="status" aria-label="Loading">
      {of === 'table' && <div class="skeleton-columns" />}
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row">
          <span />
          <span />
          <span />
        </div>
      ))}
    </div>
  );
}

/** What says why nothing was done is always in view, on a phone too. */
export const intoView = (note: HTMLElement | null): void => note?.scrollIntoView({ block: 'nearest' });

/** An error in place of data, with a retry button. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => unknown }) {
  const { title, help, docs } = explain(error);
  return (
    <div ref={intoView} class="note bad row" role="alert">
      <div class="grow">
        <p>{title}</p>
        {help && <p class="dim">{help}</p>}
        {docs && (
          <a href={docs} target="_blank" rel="noreferrer">
            About this error
          </a>
        )}
      </div>
      {onRetry && (
        <Button small onPress={async () => void (await onRetry())}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A list of names and values. */
export function Facts({ items }: { items: ([string, ComponentChildren] | false | null | undefined)[] }) {
  return (
    <Exact.Provider value>
      <dl class="facts">
        {items
          .filter((item): item is [string, ComponentChildren] => !!item)
          .map(([name, what]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{what}</dd>
            </div>
          ))}
      </dl>
    </Exact.Provider>
  );
}
