// Paths of calls of upstreams. Pure. Invariant: a path is refused, never resolved: the vault judges what was
// sent.

/** Segments that lead elsewhere, and what URL parsers read as a slash or drop. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: parsers drop some of them.
const LEADS_ELSEWHERE = /[\\\x00-\x1f\x7f]|^\/\/|(^|\/)\.{1,2}(;[^/]*)?(\/|$)/;
/** A path that still changes after so many decodings is refused. */
const MOST_DECODINGS = 3;

/**
 * Whether a path stays behind the upstream's name, however a server on the way decodes or resolves it.
 * Otherwise it could reach the vault's own API, with the credential of the call. The vault refuses such a
 * path too, but sees only what servers before it left of it.
 *
 * @internal
 */
export function staysBelow(path: string): boolean {
  let [text = ''] = path.split(/[?#]/);
  for (let decodings = 0; decodings <= MOST_DECODINGS; decodings++) {
    if (LEADS_ELSEWHERE.test(text)) return false;
    // An escape that only a later decoding shows to be invalid ends it: no server decodes further.
    if (/%(?![0-9A-Fa-f]{2})/.test(text)) return decodings > 0;
    const once = text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (once === text) return true;
    text = once;
  }
  return false;
}
