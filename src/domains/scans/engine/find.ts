// Finds credentials in a text by their formats. Invariants: the work is linear in the text, because it
// searches for literals first, each attempt at a literal takes a bounded number of steps, and unbounded
// formats (JWTs, PEM keys) are read once; each finding lies within the text and is reported once.
import { isJwt, isKeyBody, isVaried } from './checks';
import { type Format, formats } from './formats';

/**
 * Something that looks like a credential: where it starts, how long it is, and how much of it is a public
 * prefix.
 */
export interface Hit {
  rule: string;
  at: number;
  length: number;
  prefix: string;
  isGuess?: true;
}

/** A literal to search for. */
interface Compiled {
  format: Format;
  pattern: RegExp;
  before: RegExp | null;
}

const compiled: readonly Compiled[] = formats.map((format) => ({
  format,
  // A name is followed by the assigned value, and the value says where it ends.
  pattern: new RegExp(format.isName ? format.body : `${format.body}(?![A-Za-z0-9_])`, 'dy'),
  before: format.before === undefined ? null : new RegExp(`(?<![A-Za-z0-9_])${format.before}$`),
}));

const MOST_BEFORE = 40;
const isWord = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;

/**
 * Whether a credential may start here: not inside a word, except after an escaped line break in a JSON text.
 */
function isStart(text: string, at: number): boolean {
  if (at === 0 || !isWord(text.charCodeAt(at)) || !isWord(text.charCodeAt(at - 1))) return true;
  return at > 1 && text[at - 2] === '\\' && 'nrt'.includes(text[at - 1] as string);
}

/**
 * The text in lower case, with all positions unchanged: letters outside ASCII that would change its length
 * stay.
 */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function tryAt(text: string, at: number, start: string, { format, pattern, before }: Compiled): Hit | null {
  const behind = before && text.slice(Math.max(0, at - MOST_BEFORE), at).match(before)?.[0].length;
  if (before && !behind) return null;
  if (!before && !format.isName && !isStart(text, at)) return null;
  pattern.lastIndex = at + start.length;
  const match = pattern.exec(text);
  if (!match) return null;
  const { check = isVaried, isGuess, id: rule } = format;
  const guess = isGuess && { isGuess };
  const value = match.indices?.[1];
  if (value)
    return check(match[1] as string)
      ? { rule, at: value[0], length: value[1] - value[0], prefix: '', ...guess }
      : null;
  const whole = {
    rule,
    at: at - (behind ?? 0),
    length: (behind ?? 0) + start.length + match[0].length,
    prefix: behind ? '' : start,
  };
  return check(check === isVaried ? match[0] : start + match[0]) ? whole : null;
}

function byFormat(text: string, hits: Hit[]): void {
  const lower = lowered(text);
  for (const one of compiled) {
    const searched = one.format.isName ? lower : text;
    for (const start of one.format.starts)
      for (let at = searched.indexOf(start); at >= 0; ) {
        const hit = tryAt(text, at, start, one);
        if (hit) hits.push(hit);
        at = searched.indexOf(start, hit ? Math.max(hit.at + hit.length, at + 1) : at + 1);
      }
  }
}

const isUrl64 = (code: number) => isWord(code) || code === 45;

/** The end of a run of base64url characters. */
function endOfRun(text: string, from: number): number {
  let at = from;
  while (at < text.length && isUrl64(text.charCodeAt(at))) at++;
  return at;
}

/** The least characters of a JWT header, and the most characters of header and payload that are examined. */
const LEAST_HEADER = 15;
const MOST_HEADER = 4096;
const MOST_PAYLOAD = 65_536;

function jwts(text: string, hits: Hit[]): void {
  for (let at = text.indexOf('eyJ'); at >= 0; ) {
    // Each run is examined once: a token starts where its run does, or after an escaped line break.
    const ends: number[] = [endOfRun(text, at)];
    const isFirst =
      at === 0 || !isUrl64(text.charCodeAt(at - 1)) || (text[at - 2] === '\\' && text[at - 1] === 'n');
    while (isFirst && ends.length < 3 && text[ends.at(-1) as number] === '.')
      ends.push(endOfRun(text, (ends.at(-1) as number) + 1));
    const [header = at, payload, end] = ends;
    const fits = header - at >= LEAST_HEADER && header - at <= MOST_HEADER;
    if (
      fits &&
      payload !== undefined &&
      end !== undefined &&
      payload - header <= MOST_PAYLOAD &&
      isJwt(text.slice(at, end))
    )
      hits.push({ rule: 'jwt', at, length: end - at, prefix: 'eyJ' });
    at = text.indexOf('eyJ', ends[0]);
  }
}

const BEGIN = '-----BEGIN ';

function privateKeys(text: string, hits: Hit[]): void {
  for (let at = text.indexOf(BEGIN); at >= 0; ) {
    const label = text.indexOf('-----', at + BEGIN.length);
    const end = label < 0 ? -1 : text.indexOf('-----', label + 5);
    if (end < 0) return;
    const name = text.slice(at + BEGIN.length, Math.min(label, at + 60));
    const close = `-----END ${name}-----`;
    const isKey =
      /^(?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?$/.test(name) && text.startsWith(close, end);
    const isWhole =
      isKey && (name.startsWith('PGP') ? end - label > 100 : isKeyBody(text.slice(label + 5, end)));
    if (isWhole) hits.push({ rule: 'private-key', at, length: end + close.length - at, prefix: '----' });
    at = text.indexOf(BEGIN, isWhole ? end + close.length : label + 5);
  }
}

const SERVICE_ACCOUNT = '"service_account"';
const KEY = '"private_key"';
/** The most distance between the fields of a service account key. */
const NEAR = 8192;

function serviceAccounts(text: string, hits: Hit[]): void {
  // Both positions only move forward, so the text is searched once.
  let key = text.indexOf(KEY);
  for (
    let at = text.indexOf(SERVICE_ACCOUNT);
    at >= 0 && key >= 0;
    at = text.indexOf(SERVICE_ACCOUNT, at + 1)
  ) {
    while (key >= 0 && key < at - NEAR) key = text.indexOf(KEY, key + 1);
    if (key >= 0 && key < at + NEAR && text.slice(key, key + 60).includes('-----BEGIN'))
      hits.push({ rule: 'gcp-service-account', at, length: SERVICE_ACCOUNT.length, prefix: '"ser' });
  }
}

/**
 * Everything that looks like a credential in a text, in order. A guess is dropped if another format matches
 * at the same place.
 */
export function find(text: string): Hit[] {
  const hits: Hit[] = [];
  byFormat(text, hits);
  jwts(text, hits);
  privateKeys(text, hits);
  serviceAccounts(text, hits);
  hits.sort((a, b) => a.at - b.at || Number(a.isGuess ?? 0) - Number(b.isGuess ?? 0) || b.length - a.length);
  const kept: Hit[] = [];
  let end = 0;
  let guessed = 0;
  for (const hit of hits) {
    const isInside = hit.at < end;
    // Of two matches at one place the longer one is kept; a guess is dropped.
    if (isInside && (hit.isGuess || hit.at + hit.length <= end)) continue;
    const last = kept.at(-1);
    if (last?.isGuess && hit.at < guessed && !hit.isGuess) kept.pop();
    kept.push(hit);
    end = Math.max(end, hit.at + hit.length);
    if (hit.isGuess) guessed = hit.at + hit.length;
  }
  return kept;
}
