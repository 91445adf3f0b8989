// Cuts a path of Vault's API. Invariant: nothing else looks at the path, so that a segment which two parts
// would read differently (`..`, `%2e`, `%2F`, `//`) has one meaning: it is refused or decoded here.

export interface VaultPath {
  /** The organisation of the base path; null at the root of the host. */
  org: string | null;
  segments: string[];
  /** Whether the path ends in `/`. */
  isFolder: boolean;
  query: URLSearchParams;
}

/** What the name of a mount ends in whose paths are folders. No slug contains a dot. */
const FOLDERS = '.folders';

const isFolders = (mount = ''): boolean => mount.endsWith(FOLDERS);

/** The environment of a mount, and whether its paths are folders. */
export const mountNamed = (mount: string) => ({
  environment: isFolders(mount) ? mount.slice(0, -FOLDERS.length) : mount,
  isFolders: isFolders(mount),
});

const BASE = '/compat/vault/';

/**
 * The parts of a URL. `invalid`: a `.` or `..` segment, or one that does not decode. Null for a path that is
 * not Vault's.
 */
export function cut(url: string): VaultPath | 'invalid' | null {
  const [whole = '', search = ''] =
    url
      .slice(url.indexOf('/', url.indexOf('//') + 2))
      .split('#', 1)[0]
      ?.split('?', 2) ?? [];
  let rest = whole;
  let org: string | null = null;
  if (rest.startsWith(BASE)) {
    const end = rest.indexOf('/', BASE.length);
    org = end < 0 ? rest.slice(BASE.length) : rest.slice(BASE.length, end);
    rest = end < 0 ? '' : rest.slice(end);
  }
  if (!rest.startsWith('/v1/')) return null;
  const decoded = decode(rest.slice('/v1/'.length));
  if (decoded === null) return 'invalid';
  const segments = decoded.split('/').filter((segment) => segment !== '');
  // The root of a mount of folders, as some clients spell it.
  if (segments.length === 3 && isFolders(segments[0]) && segments[1] === 'data' && segments[2] === '.')
    segments.pop();
  // safety: vault-dot-segments
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'invalid';
  return { org, segments, isFolder: decoded.endsWith('/'), query: new URLSearchParams(search) };
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}
