// Masks values in what an upstream answers: in each form in which an API may repeat what it was sent, by as
// many asterisks as the form has bytes. Invariants: length and chunks before the last pending byte stay as
// they are; a value is found across any borders of chunks; only what may begin a form is held back; the work
// for one answer is bounded by its bytes.

import { concat, toBase64, utf8 } from '../../../crypto/bytes';
import { ApiError, refuse } from '../../../errors';

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

/** A way to spell bytes of which any may be escaped, and what begins an escape. */
interface Spelling {
  escape: number;
  /** How many bytes an escape has, and what it means. */
  read(bytes: Uint8Array, at: number): Spelled | 'pending' | null;
}
interface Spelled {
  used: number;
  means: Uint8Array | readonly number[];
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const PLUS = 0x2b;
const BLANK = 0x20;
const LETTER_U = 0x75;
/** The short escapes of JSON (RFC 8259 §7). */
const SHORT = new Map(
  [...'"\\/bfnrt'].map((char, at) => [char.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(at)] as const),
);

const digitOf = (byte: number): number => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(digit) ? -1 : digit;
};

/** A number of so many hexadecimal digits, in either case. */
function hexAt(bytes: Uint8Array, at: number, digits: number): number | 'pending' | null {
  let value = 0;
  for (let n = at; n < at + digits; n += 1) {
    if (n >= bytes.length) return 'pending';
    const digit = digitOf(bytes[n] as number);
    if (digit < 0) return null;
    value = value * 16 + digit;
  }
  return value;
}

/** A code unit as `\uXXXX`. */
function unitAt(bytes: Uint8Array, at: number): number | 'pending' | null {
  if (at >= bytes.length) return 'pending';
  if (bytes[at] !== BACKSLASH) return null;
  if (at + 1 >= bytes.length) return 'pending';
  return bytes[at + 1] === LETTER_U ? hexAt(bytes, at + 2, 4) : null;
}

/** As JSON has it: encoders differ in what they escape, and in the case of digits. */
const json: Spelling = {
  escape: BACKSLASH,
  read(bytes, at) {
    const next = bytes[at + 1];
    if (next === undefined) return 'pending';
    const short = SHORT.get(next);
    if (short !== undefined) return { used: 2, means: [short] };
    const unit = unitAt(bytes, at);
    if (typeof unit !== 'number') return unit;
    if (unit < 0xd800 || unit > 0xdbff) return { used: 6, means: utf8(String.fromCharCode(unit)) };
    const low = unitAt(bytes, at + 6);
    return typeof low === 'number' ? { used: 12, means: utf8(String.fromCharCode(unit, low)) } : low;
  },
};

/** As URLs and forms have it. */
const percent: Spelling = {
  escape: PERCENT,
  read(bytes, at) {
    const value = hexAt(bytes, at + 1, 2);
    return typeof value === 'number' ? { used: 3, means: [value] } : value;
  },
};

/** The forms of a value that the bytes alone decide. Lone surrogates cannot be sent, so a value has none. */
export function formsOf(value: string): Uint8Array[] {
  const bytes = utf8(value);
  const hex = hexOf(bytes);
  return [...new Set([value, ...base64Forms(bytes), hex, hex.toUpperCase()])].map((text) => utf8(text));
}

/** A form to look for; `spelling`: where each byte may be escaped. */
interface Form {
  bytes: Uint8Array;
  spelling: Spelling | null;
}

const SPELLINGS = [json, percent];

/** What encoders escape of base64: JSON's of PHP and .NET, and those of URLs. */
const isEscaped = (base64: string): boolean => /[+/]/.test(base64);

function allForms(value: string): Form[] {
  const escaped = [value];
  // safety: mask-escaped-base64
  escaped.push(...base64Forms(utf8(value)).filter(isEscaped));
  return [
    ...formsOf(value).map((bytes) => ({ bytes, spelling: null })),
    ...escaped.flatMap((text) => SPELLINGS.map((spelling) => ({ bytes: utf8(text), spelling }))),
  ];
}

/**
 * Forms by their first two bytes, to skip quickly over what begins none. `isPair` has a bit for each pair:
 * each call makes these tables, so they are small.
 */
interface Forms {
  pairs: Map<number, Form[]>;
  isPair: Uint8Array;
  isFirst: Uint8Array;
}

const isPairIn = ({ isPair, isFirst }: Forms, first: number, second: number): boolean =>
  isFirst[first] === 1 && ((isPair[(first << 5) | (second >> 3)] as number) & (1 << (second & 7))) !== 0;

/** What a form may begin with. */
function beginnings({ bytes, spelling }: Form): (readonly [number, number])[] {
  const [first = 0, second = 0] = bytes;
  if (spelling === null) return [[first, second]];
  const begins = spelling.escape;
  const behind = spelling === json ? [LETTER_U, ...SHORT.keys()] : [...utf8('0123456789abcdefABCDEF')];
  return [
    ...[second, begins, ...(second === BLANK ? [PLUS] : [])].map((next) => [first, next] as const),
    ...behind.map((next) => [begins, next] as const),
  ];
}

function indexed(forms: readonly Form[]): Forms {
  const found: Forms = { pairs: new Map(), isPair: new Uint8Array(8192), isFirst: new Uint8Array(256) };
  for (const form of forms)
    for (const [first, second] of beginnings(form)) {
      const pair = first * 256 + second;
      found.pairs.set(pair, [...(found.pairs.get(pair) ?? []), form]);
      found.isPair[pair >> 3] = (found.isPair[pair >> 3] as number) | (1 << (pair & 7));
      found.isFirst[first] = 1;
    }
  return found;
}

/** The forms of values, which stay the same for all that one call answers. */
const known = new WeakMap<readonly string[], Forms>();

function formsFor(values: readonly string[]): Forms {
  const forms = known.get(values) ?? indexed(values.flatMap(allForms));
  known.set(values, forms);
  return forms;
}

/** How much there is of a form that may have begun: how many bytes of the value, and up to where. */
interface Begun {
  form: Form;
  same: number;
  to: number;
}

/** Compares a form from where it was left. */
function compareOn(begun: Begun, bytes: Uint8Array): 'whole' | 'pending' | 'other' {
  const { bytes: value, spelling } = begun.form;
  while (begun.same < value.length) {
    const byte = bytes[begun.to];
    if (byte === undefined) return 'pending';
    const wanted = value[begun.same];
    if (byte !== spelling?.escape) {
      const isBlank = spelling === percent && byte === PLUS && wanted === BLANK;
      if (byte !== wanted && !isBlank) return 'other';
      begun.same += 1;
      begun.to += 1;
      continue;
    }
    const found = spelling.read(bytes, begun.to);
    if (found === null) return 'other';
    if (found === 'pending') return found;
    for (const each of found.means) if (each !== value[begun.same++]) return 'other';
    begun.to += found.used;
  }
  return 'whole';
}

export interface Masker {
  /** What of the bytes so far can no longer be part of a form. */
  take(chunk: Uint8Array): Uint8Array;
  /** What was held back. */
  end(): Uint8Array;
}

const STAR = 0x2a;

/** What begins at a place: up to where to mask, and the forms that may go on in the next chunk. */
interface Found {
  to: number;
  pending: Begun[];
}

/** The most steps of comparing, and as many more for each byte. Values that repeat a few bytes take more. */
const MOST_STEPS = 1_000_000;
const STEPS_OF_BYTE = 64;

const tooManySteps = refuse('TARGET_REJECTED', {
  message: 'The answer repeats the beginning of a secret so often that it is not masked, and not passed on.',
});

/** Bytes that are held back. They are copied again only where they have doubled. */
function holder() {
  let room = new Uint8Array();
  let size = 0;
  return {
    keep(bytes: Uint8Array<ArrayBuffer>) {
      room = bytes;
      size = bytes.length;
    },
    /** The held bytes with these behind them. */
    join(chunk: Uint8Array): Uint8Array {
      if (size === 0) return chunk;
      const before = room;
      if (size + chunk.length > room.length) {
        room = new Uint8Array(2 * (size + chunk.length));
        room.set(before.subarray(0, size));
      }
      room.set(chunk, size);
      size += chunk.length;
      return room.subarray(0, size);
    },
  };
}

/** Masks these values in a stream of bytes. Throws a refusal where that takes too many steps. */
export function masker(values: readonly string[]): Masker {
  const forms = formsFor(values);
  const held = holder();
  /** What begins at the first held byte, as far as it was compared. */
  let left: Found | null = null;
  /** How many of the held bytes are masked: forms that began before them. */
  let covered = 0;
  let steps = MOST_STEPS;
  const foundAt = (raw: Uint8Array, at: number): Found => {
    const begun =
      at === 0 && left
        ? left
        : {
            to: 0,
            pending: (forms.pairs.get((raw[at] as number) * 256 + (raw[at + 1] as number)) ?? []).map(
              (form) => ({ form, same: 0, to: at }),
            ),
          };
    const found: Found = { to: begun.to, pending: [] };
    for (const one of begun.pending) {
      const before = one.to;
      const how = compareOn(one, raw);
      steps -= one.to - before + 1;
      if (how === 'pending') found.pending.push(one);
      else if (how === 'whole') found.to = Math.max(found.to, one.to);
    }
    // safety: mask-steps-bounded
    if (steps < 0) throw new ApiError(tooManySteps);
    return found;
  };
  /** Keeps the bytes from a place on, and what begins there. */
  const hold = (raw: Uint8Array, from: number, found: Found | null) => {
    held.keep(raw.slice(from));
    left = found && {
      to: Math.max(0, found.to - from),
      pending: found.pending.map((one) => ({ ...one, to: one.to - from })),
    };
  };
  /** Whether what begins at the first held byte is still undecided. */
  const isOpen = (raw: Uint8Array): boolean => {
    if (left === null || left.pending.length === 0) return false;
    left = foundAt(raw, 0);
    return left.pending.length > 0;
  };
  const scan = (raw: Uint8Array, isEnd: boolean): Uint8Array => {
    if (!isEnd && isOpen(raw)) return new Uint8Array();
    const out = raw.slice();
    out.fill(STAR, 0, covered);
    let to = covered;
    let from = raw.length;
    let pending: Found | null = null;
    const last = raw.length - 1;
    for (let at = 0; at < last; at += 1) {
      if (!isPairIn(forms, raw[at] as number, raw[at + 1] as number)) continue;
      const found = foundAt(raw, at);
      // What may begin a form stays here until it is decided.
      if (found.pending.length > 0 && !isEnd) {
        from = at;
        pending = found;
        break;
      }
      if (found.to > to) out.fill(STAR, Math.max(at, to), found.to);
      to = Math.max(to, found.to);
    }
    if (!isEnd && from === raw.length && raw.length > 0 && forms.isFirst[raw[last] as number]) from = last;
    covered = Math.max(0, to - from);
    hold(raw, from, pending);
    return out.subarray(0, from);
  };
  return {
    take(chunk) {
      steps += STEPS_OF_BYTE * chunk.length;
      return scan(held.join(chunk), false);
    },
    end: () => scan(held.join(new Uint8Array()), true),
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
