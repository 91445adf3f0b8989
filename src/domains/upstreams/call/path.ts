// The path of a call to an upstream: cut out of the request's URL, and judged. Pure. Invariant: a path is
// refused, never normalised, so that what was judged is what is sent, byte for byte.

/** A request's path, in parts. `rest` and `query` are as the caller wrote them; `query` begins with `?`. */
export interface UsePath {
  org: string;
  upstream: string;
  rest: string;
  query: string;
  /** Of a call by its whole URL: where that leads. `rest` is then all of its path. */
  origin?: string;
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

/** Cuts the whole URL of a call. Null if it names credentials, or is no URL of the web. */
export function cutTarget(url: string): (Pick<UsePath, 'rest' | 'query'> & { origin: string }) | null {
  const found = /^(https?:\/\/[^/?#@\\]+)(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/i.exec(url);
  const [, origin = '', rest = '/', query = ''] = found ?? [];
  return found && URL.canParse(origin) ? { origin: new URL(origin).origin, rest, query } : null;
}

/**
 * What the path of a call has behind the base URL of its upstream, as `allow` judges it. Null if the call is
 * by its whole URL, and that does not begin with the base URL.
 */
export function behindBase(
  base_url: string,
  { origin, path }: { origin?: string; path: string },
): string | null {
  if (origin === undefined) return path;
  const base = new URL(base_url);
  const at = base.pathname.replace(/\/$/, '');
  if (origin !== base.origin || !`${path}/`.startsWith(`${at}/`)) return null;
  return path.slice(at.length) || '/';
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

/**
 * Characters that `fetch` sends in a path as they are
 * (https://url.spec.whatwg.org/#path-percent-encode-set).
 */
const SENT_AS_IS = /^[!$-;=@-\]_a-z|~]*$/;

/** Whether a path may be sent on, as far as its form decides. */
export function isPlainPath(path: string): boolean {
  // safety: use-path-sent-as-judged
  if (!SENT_AS_IS.test(path)) return false;
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

/**
 * A query as `fetch` sends it: it encodes the few characters that a URL does not hold as such
 * (https://url.spec.whatwg.org/#special-query-percent-encode-set), and leaves the rest byte for byte.
 */
export const queryAsSent = (query: string): string =>
  query.replace(/[^!$-&(-;=?-~]/gu, (char) => (char === "'" ? '%27' : encodeURIComponent(char)));

/** A name of a parameter as servers decode it: null if its escapes are no UTF-8. */
function decodedName(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** A query without parameters of these names, compared decoded and without case; the rest as it is. */
export function withoutParameters(query: string, names: readonly string[]): string {
  if (query === '' || names.length === 0) return query;
  const removed = new Set(names.map((name) => name.toLowerCase()));
  const kept = query
    .slice(1)
    .split('&')
    // Some servers separate parameters with semicolons too.
    .filter((pair) =>
      pair
        .split(';')
        .every((part) => !removed.has((decodedName(part.split('=', 1)[0] ?? '') ?? '').toLowerCase())),
    );
  return kept.length ? `?${kept.join('&')}` : '';
}
