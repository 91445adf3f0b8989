// The frame of a page about one thing: the way back to its list, its shape while it is read, and what stands there when it is not to be had.
import { VaultError } from '@secrets-vault/client';
import { Link } from 'wouter-preact';
import { Empty, ErrorNote, PageHead, Skeleton } from './parts';

/** An address of the console, and what it is called. */
export type Place = readonly [href: string, label: string];

/** The pages above this one, the nearest last. */
export const Crumbs = ({ places }: { places: readonly Place[] }) => (
  <nav class="crumbs" aria-label="Where you are">
    <ol>
      {places.map(([href, label]) => (
        <li key={href}>
          <Link href={href}>{label}</Link>
        </li>
      ))}
    </ol>
  </nav>
);

/** Grey lines where the way back, the title and the content will be. */
export const LoadingPage = ({ rows = 8 }: { rows?: number }) => (
  <>
    <div class="skeleton-head" aria-hidden="true">
      <span />
      <span />
    </div>
    <Skeleton of="facts" rows={rows} />
  </>
);

const isGone = (error: unknown): boolean => error instanceof VaultError && (error.status === 404 || error.code === 'VALIDATION_FAILED');

interface MissingProps {
  /** What it is, as in "There is no such approval". */
  what: string;
  /** Where others of its kind are. */
  list: Place;
  /** Why it cannot be read; nothing, if it does not exist. */
  error?: unknown;
  onRetry?: () => unknown;
}

/** In place of a page about something that is gone, or that could not be read. */
export function Missing({ what, list, error, onRetry }: MissingProps) {
  const [href, label] = list;
  return (
    <>
      <Crumbs places={[list]} />
      <PageHead title={`${what.slice(0, 1).toUpperCase()}${what.slice(1)}`} />
      {error && !isGone(error) ? (
        <ErrorNote error={error} onRetry={onRetry} />
      ) : (
        <Empty
          title={`There is no such ${what}`}
          action={
            <Link href={href} class="button plain">
              See all {label.toLowerCase()}
            </Link>
          }
        >
          It was deleted, or your role may not see it.
        </Empty>
      )}
    </>
  );
}
