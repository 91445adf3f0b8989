// The path of a call to an upstream: cut out of the request's URL, and judged. Pure. Invariant: a path is
// refused, never normalised, so that what was judged is what is sent, byte for byte.

/** A request's path, in parts. `rest` and `query` are as the caller wrote them; `query` begins with `?`. */
export interface UsePath {
  org: string;
  upstream: string;
  rest: string;
  query: string;
}

/**
 * Cuts a URL as the platform gives it: workerd keeps `..`, `%2e` and `//`, which `new URL()` would resolve.
 * Null if it is no call to an upstream.
 */
export function cutUsePath(url: string): UsePath | null {
  const found =
    /^[a-z]+:\/\/[^/?#]*\/api\/v1\/orgs\/([A-Za-z0-9_]+)\/use\/([a-z0-9-]+)(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/i.exec(
      url,
    );
  if (!found) return null;
  const [, org = '', upstream = '', rest = '/', query = ''] = found;
  return { org, upstream, rest, query };
}

/** A path that still changes after so many decodings is refused. */
const MOST_DECODINGS = 3;

/** Decodes each escape to one character a byte; null if an escape is invalid. */
function decodedOnce(path: string): string | null {
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return null;
  return path.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Whether any server could read a path as another one. */
const isAmbiguous = (path: string): boolean =>
  !path.startsWith('/') ||
  path.startsWith('//') ||
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
  /[\\\x00-\x1f\x7f]/.test(path) ||
  path.split('/').some((segment) => /^\.\.?(;.*)?$/s.test(segment));

/** Whether a path may be sent on, as far as its form decides. */
export function isPlainPath(path: string): boolean {
  let current = path;
  for (let decodings = 0; ; decodings += 1) {
    if (isAmbiguous(current)) return false;
    const next = decodedOnce(current);
    // An escape that only a later decoding shows to be invalid ends it: no server decodes further.
    if (next === null) return decodings > 0;
    if (next === current) return true;
    if (decodings === MOST_DECODINGS) return false;
    current = next;
  }
}
