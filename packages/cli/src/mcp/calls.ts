// What a call of a tool is, for those who approve it: whole in X-Access-Call, short in the reason. Invariant:
// two calls that differ in anything but limits of time and size have different digests, and an approval
// serves only the call whose digest its reason and X-Access-Call end with. An agent never writes a text that
// ends in a digest.
import { createHash } from 'node:crypto';
import { counted } from '../text.ts';

export interface Call {
  tool: string;
  /** The call in words, without the texts of variables, stdin and headers. */
  shown: string;
  /** The whole call, with references to secrets as the agent wrote them. */
  whole: object;
  /** SHA-256 of the whole call. */
  digest: string;
}

/** The most characters of a reason. */
export const MOST_REASON = 256;
/** The most of them that are the person's own. */
const MOST_OWN = 80;
/** The most characters of X-Access-Call. */
const MOST_CALL = 8000;

/** A call. @param whole everything that decides what it does */
export const callOf = (tool: string, shown: string, whole: object): Call => ({
  tool,
  shown,
  whole,
  digest: createHash('sha256')
    .update(JSON.stringify([tool, whole]))
    .digest('base64url'),
});

/** A value as JSON in printable ASCII. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** The same entries in one order. */
export const sorted = (texts: Record<string, string>): [string, string][] =>
  Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1));

const ending = ({ digest }: Call): string => `; sha256 ${digest}`;

/** The reason of a call: as much of it as fits, how many characters more it has, and its digest. */
export function reasonOfCall(call: Call, own: string | undefined, mask: (text: string) => string): string {
  const start = `${own ? `${own.slice(0, MOST_OWN)}; ` : ''}mcp ${call.tool}: `;
  const shown = mask(call.shown);
  const room = MOST_REASON - start.length - ending(call).length;
  const more = (cut: number) => ` ... and ${counted(shown.length - cut, 'character')}`;
  const cut = room - more(0).length;
  return start + (shown.length <= room ? shown : shown.slice(0, cut) + more(cut)) + ending(call);
}

/**
 * The whole call for X-Access-Call. Masking can make two calls alike, so it ends in the digest.
 * @returns `text`, and `length` if the call is too long to be sent. No approval can then be for it, because
 *   nobody would see it.
 */
export function textOfCall(call: Call, mask: (text: string) => string): { text: string; length?: number } {
  const whole = `${call.tool} ${mask(json(call.whole))}${ending(call)}`;
  if (whole.length <= MOST_CALL) return { text: whole };
  return {
    text: `${call.tool}: cancelled, because its ${whole.length} characters cannot be shown${ending(call)}`,
    length: whole.length,
  };
}

/** Whether an approval with this reason was asked for this call. */
export const isReasonOf = (reason: string | null, call: Call): boolean =>
  reason?.endsWith(ending(call)) ?? false;
