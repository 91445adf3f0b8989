// What deciders are shown of a held call. Pure. Invariant: they see all that is sent, or are told which part
// of the body they do not see; its digest then says what they approve.
import { fromUtf8, toBase64 } from '../../../crypto/bytes';
import { sha256 } from '../../../crypto/digest';
import type { UpstreamAuth } from '../../../db/upstreams';
import type { Fact } from '../../../gate/request/plan';
import { isSet } from './fill';
import { withoutParameters } from './path';
import type { ShownBody, UseCall } from './use-plan';

/** The most characters of a body that is shown whole. */
const MOST_BODY = 30_000;
/** The most bytes of each end of a longer one. */
const EACH_END = 10_000;
/** The most characters of everything else: a request has room for both. See gate/approvals/shown.ts. */
const MOST_REST = 16_000;

/** Characters that a page shows as something else, or not at all. */
const INVISIBLE =
  /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5|[\u{e0100}-\u{e01ef}]/gu;
const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);

/** Bytes as text; those of a character that was cut in two are replaced. */
const readable = (bytes: Uint8Array, isText: boolean): string =>
  isText
    ? visible(new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes))
    : toBase64(bytes);

export function shownBody(body: Uint8Array): ShownBody {
  const isText = fromUtf8(body) !== null;
  const about = { bytes: body.length, sha256: sha256(body) };
  const text = body.length <= MOST_BODY ? readable(body, isText) : null;
  if (text !== null && text.length <= MOST_BODY) return { ...about, text, end: null, hidden: 0 };
  for (let each = Math.min(EACH_END, body.length >> 1); ; each >>= 1) {
    const ends = [body.subarray(0, each), body.subarray(body.length - each)];
    const [start = '', end = ''] = ends.map((part) => readable(part, isText));
    // Of invisible characters, which are written out, fewer fit. None is cut off uncounted.
    // safety: ends-of-body-shown-whole
    if (Math.max(start.length, end.length) > MOST_BODY / 2) continue;
    return { ...about, text: start, end, hidden: body.length - 2 * each };
  }
}

const counted = (n: number) => n.toLocaleString('en');

function bodyFacts({ bytes, sha256: digest, text, end, hidden }: ShownBody): Fact[] {
  if (bytes === 0) return [];
  if (end === null) return [{ name: 'Body', value: text }];
  return [
    {
      name: 'Body size',
      value: `${counted(bytes)} bytes, of which ${counted(hidden)} in the middle are not shown`,
    },
    { name: 'Body SHA-256', value: digest },
    { name: 'Body, its beginning', value: text },
    { name: 'Body, its end', value: end },
  ];
}

/**
 * What deciders are shown of a call: what its upstream gets, without what `auth` sets. Null if all but the
 * body is too long.
 */
export function shownCall(
  { method, path, query, headers, whole, isWebSocket }: UseCall,
  { name, base_url, auth }: { name: string; base_url: string; auth: readonly UpstreamAuth[] },
): Fact[] | null {
  const isReplaced = isSet(auth);
  const parameters = auth.flatMap((entry) => (entry.type === 'query' ? [entry.name] : []));
  const sent = `${method} ${base_url}${path}${withoutParameters(query, parameters)}`;
  const rest: Fact[] = [
    { name: 'Upstream', value: name },
    { name: 'Request', value: visible(sent) },
    ...(isWebSocket ? [{ name: 'Messages', value: 'not shown: they follow once it is open' }] : []),
    ...headers
      .filter(([header]) => !isReplaced(header))
      .map(([header, value]) => ({ name: `Header ${header}`, value: visible(value) })),
  ];
  const length = rest.reduce((sum, fact) => sum + fact.name.length + fact.value.length, 0);
  // safety: held-call-shown-whole
  return length > MOST_REST ? null : [...rest, ...(whole ? bodyFacts(whole.body) : [])];
}
