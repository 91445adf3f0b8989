// The platforms as cards to choose from.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { FilterText } from '../../ui/lists/filters';
import { Empty, ErrorNote, Skeleton } from '../../ui/parts';
import { aboutPlatform, type Kind, usePlatforms } from './platforms';

/**
 * The first letters of a platform's name, instead of a logo: the console loads nothing from third parties.
 */
export const PlatformMark = ({ platform }: { platform: string }) => (
  <span class="platform-mark" aria-hidden="true">
    {aboutPlatform(platform)
      .name.split(/[\s-]+/)
      .map((word) => word.charAt(0))
      .join('')
      .slice(0, 2)
      .toUpperCase()}
  </span>
);

/** @param hrefOf the link of a platform's card */
export function Gallery({ kind, hrefOf }: { kind: Kind; hrefOf: (platform: string) => string }) {
  const [search, setSearch] = useState('');
  const { data, error, isPending, refetch } = usePlatforms();
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton rows={4} />;
  const found = data.data
    .filter((platform) => platform.kind === kind)
    .map(({ platform }) => ({ platform, ...aboutPlatform(platform) }))
    .filter(({ name, what }) => `${name} ${what}`.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <div class="platforms">
      {kind === 'sync' && (
        <search class="filters">
          <FilterText label="Find a platform" value={search} onValue={setSearch} />
        </search>
      )}
      {found.length ? (
        <ul class="cards">
          {found.map(({ platform, name, what }) => (
            <li key={platform}>
              <Link href={hrefOf(platform)} class="card platform">
                <PlatformMark platform={platform} />
                <span>
                  <strong>{name}</strong>
                  <span class="dim small">{what}</span>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="No matching platforms">
          Try another search. For other platforms, use a webhook or the API.
        </Empty>
      )}
    </div>
  );
}
