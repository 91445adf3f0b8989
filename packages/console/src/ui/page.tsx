// The frame of a page about a single item: breadcrumbs, a skeleton while it loads, and the state for a
// missing item.
import { VaultError } from '@secrets-vault/client';
import { Link } from 'wouter-preact';
import { Empty, ErrorNote, PageHead, Skeleton } from './parts';

/** An address of the console, and its label. */
export type Place = readonly [href: string, label: string];

/** The parent pages, the nearest last. */
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

/** Grey lines in place of the breadcrumbs, the title and the content. */
export const LoadingPage = ({ rows = 8 }: { rows?: number }) => (
  <>
    <div class="skeleton-head" aria-hidden="true">
      <span />
      <span />
    </div>
    <Skeleton of="facts" rows={rows} />
  </>
);

const isGone = (error: unknown): boolean =>
  error instanceof VaultError && (error.status === 404 || error.code === 'VALIDATION_FAILED');

interface MissingProps {
  /** The kind of item, as in "Approval not found". */
  what: string;
  /** The list page of this kind. */
  list: Place;
  /** The error; undefined if the item does not exist. */
  error?: unknown;
  onRetry?: () => unknown;
}

/** Shown instead of a page for an item that does not exist or could not be read. */
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
          title={`${what.slice(0, 1).toUpperCase()}${what.slice(1)} not found`}
          action={
            <Link href={href} class="button plain">
              View all {label.toLowerCase()}
            </Link>
          }
        >
          It was deleted, or your role does not have access to it.
        </Empty>
      )}
    </>
  );
}
