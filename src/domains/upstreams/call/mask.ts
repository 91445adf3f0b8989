// Masks values in what an upstream answers: in each form in which an API may repeat what it was sent, by as
// many asterisks as the form has bytes. Invariants: length and chunks before the last pending byte stay as
// they are; a value is found across any borders of chunks; only what may begin a form is held back.

import { concat, toBase64, utf8 } from '../../../crypto/bytes';

const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The characters of base64 that the bytes alone decide, where they begin at each of three positions. */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    const text = toBase64(padded).slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Percent-encoded: as URLs and as forms have it, with either case of digits, and each byte. */
function percentForms(value: string, bytes: Uint8Array): string[] {
  const each = hexOf(bytes).replace(/../g, '%$&');
  const component = encodeURIComponent(value);
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  return [
    each,
    each.toUpperCase(),
    ...[component, form, encodeURI(value)].flatMap((one) => [one, lower(one)]),
  ];
}
const lower = (text: string) => text.replace(/%../g, (found) => found.toLowerCase());

/** As JSON has it: with and without `\/`, and with escapes for what is not ASCII. */
function jsonForms(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1);
  const ascii = text.replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [text, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/')]);
}

/** Every form of a value, as bytes. Lone surrogates cannot be sent, so a value has none. */
export function formsOf(value: string): Uint8Array[] {
  const bytes = utf8(value);
  const hex = hexOf(bytes);
  const texts = [value, ...base64Forms(bytes), hex, hex.toUpperCase(), ...percentForms(value, bytes)];
  return [...new Set([...texts, ...jsonForms(value)])].map((text) => utf8(text));
}

/** Forms by their first two bytes, to skip quickly over what begins none. */
interface Forms {
  pairs: Map<number, Uint8Array[]>;
  isPair: Uint8Array;
  isFirst: Uint8Array;
}

function indexed(forms: readonly Uint8Array[]): Forms {
  const found: Forms = { pairs: new Map(), isPair: new Uint8Array(65_536), isFirst: new Uint8Array(256) };
  for (const form of forms) {
    const [first = 0, second = 0] = form;
    const pair = first * 256 + second;
    found.pairs.set(pair, [...(found.pairs.get(pair) ?? []), form]);
    found.isPair[pair] = 1;
    found.isFirst[first] = 1;
  }
  return found;
}

/** How many bytes of a form stand at a place: all of them, as many as there are, or fewer. */
function agree(form: Uint8Array, bytes: Uint8Array, at: number): number {
  const most = Math.min(form.length, bytes.length - at);
  let same = 0;
  while (same < most && form[same] === bytes[at + same]) same += 1;
  return same;
}

export interface Masker {
  /** What of the bytes so far can no longer be part of a form. */
  take(chunk: Uint8Array): Uint8Array;
  /** What was held back. */
  end(): Uint8Array;
}

const STAR = 0x2a;

/** What forms begin at a place: up to where to mask, and whether one may go on in the next chunk. */
function formsAt({ pairs }: Forms, bytes: Uint8Array, at: number): { to: number; isPending: boolean } {
  const pair = (bytes[at] as number) * 256 + (bytes[at + 1] as number);
  let to = 0;
  let isPending = false;
  for (const form of pairs.get(pair) ?? []) {
    const same = agree(form, bytes, at);
    if (same === form.length) to = Math.max(to, at + same);
    else if (at + same === bytes.length) isPending = true;
  }
  return { to, isPending };
}

/** Masks these values in a stream of bytes. */
export function masker(values: readonly string[]): Masker {
  const forms = indexed(values.flatMap(formsOf));
  let held = new Uint8Array();
  /** How many of the held bytes are masked: forms that began before them. */
  let covered = 0;
  const scan = (raw: Uint8Array, isEnd: boolean): Uint8Array => {
    const out = raw.slice();
    out.fill(STAR, 0, covered);
    let to = covered;
    let from = raw.length;
    const last = raw.length - 1;
    for (let at = 0; at < last; at += 1) {
      if (forms.isPair[(raw[at] as number) * 256 + (raw[at + 1] as number)] === 0) continue;
      const found = formsAt(forms, raw, at);
      // What may begin a form stays here until it is decided, and is looked at again then.
      if (found.isPending && !isEnd) {
        from = at;
        break;
      }
      if (found.to > to) out.fill(STAR, Math.max(at, to), found.to);
      to = Math.max(to, found.to);
    }
    if (!isEnd && from === raw.length && raw.length > 0 && forms.isFirst[raw[last] as number]) from = last;
    covered = Math.max(0, to - from);
    held = raw.slice(from);
    return out.subarray(0, from);
  };
  return {
    take: (chunk) => scan(held.length ? concat(held, chunk) : chunk, false),
    end: () => scan(held, true),
  };
}

/** Bytes that are here as a whole. */
export function maskedBytes(values: readonly string[], bytes: Uint8Array): Uint8Array {
  const { take, end } = masker(values);
  return concat(take(bytes), end());
}

/** A text that is here as a whole. */
export const maskedText = (values: readonly string[], text: string): string =>
  values.length ? new TextDecoder().decode(maskedBytes(values, utf8(text))) : text;
