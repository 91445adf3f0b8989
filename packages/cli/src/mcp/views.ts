// Alternative views of an output: without line folding, and with escapes decoded. An encoded value appears in
// one of them in plain form. Invariant: each position of a view maps to the part of the output that it
// represents.

/** A text with one character per byte, and the position each character comes from. */
export interface View {
  text: string;
  from: Uint32Array;
  to: Uint32Array;
}

export function plainView(text: string): View {
  const from = Uint32Array.from({ length: text.length }, (_, at) => at);
  return { text, from, to: from.map((at) => at + 1) };
}

/** Which characters of a match, from and to, a character of its decoded text stands for. */
type Places = (match: string) => (at: number) => [from: number, to: number];

/** Each decoded character stands for the whole match. */
const whole: Places =
  ({ length }) =>
  () => [0, length];

/**
 * A view with each match of `pattern` replaced by the result of `decode`, which must not be longer than the
 * match. Undefined if nothing matches.
 */
export function decoded(
  view: View,
  pattern: RegExp,
  decode: (match: string, ...groups: string[]) => string,
  places: Places = whole,
): View | undefined {
  const size = view.text.length;
  const parts: string[] = [];
  const from = new Uint32Array(size);
  const to = new Uint32Array(size);
  let done = 0;
  let length = 0;
  const copy = (end: number) => {
    parts.push(view.text.slice(done, end));
    from.set(view.from.subarray(done, end), length);
    to.set(view.to.subarray(done, end), length);
    length += end - done;
  };
  for (const match of view.text.matchAll(pattern)) {
    const [text, ...groups] = match;
    copy(match.index);
    done = match.index + text.length;
    const read = decode(text, ...groups);
    parts.push(read);
    const placeOf = places(text);
    for (let at = 0; at < read.length; at++, length++) {
      const [start, end] = placeOf(at);
      from[length] = view.from[match.index + start] as number;
      to[length] = view.to[match.index + end - 1] as number;
    }
  }
  if (done === 0) return undefined;
  copy(size);
  return { text: parts.join(''), from: from.subarray(0, length), to: to.subarray(0, length) };
}

/** The UTF-8 bytes of a code point. */
const bytesOf = (code: number): string =>
  code > 0x10ffff ? '' : Buffer.from(String.fromCodePoint(code)).toString('latin1');
const hexByte = (hex: string) => String.fromCharCode(Number.parseInt(hex, 16));

const CONTROLS: Record<string, string> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  e: '\x1b',
  E: '\x1b',
  0: '\0',
};
const ESCAPES =
  /\\u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|\\u\{([0-9a-fA-F]{1,6})\}|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\([0-7]{2,3})|\\([\s\S])/g;

/** Decodes escapes of JSON, programming languages and shells. */
const unescaped = (view: View) =>
  decoded(view, ESCAPES, (_, unit, low, code, wide, hex, octal, char) => {
    if (unit)
      return (
        bytesOf(surrogates(Number.parseInt(unit, 16), low)) +
        (low && !isHigh(unit) ? bytesOf(Number.parseInt(low, 16)) : '')
      );
    if (code || wide) return bytesOf(Number.parseInt(code || wide || '', 16));
    if (hex) return hexByte(hex);
    if (octal) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
    return char === undefined ? '' : (CONTROLS[char] ?? char);
  });

const isHigh = (unit: string) => /^d[89ab]/i.test(unit);
const surrogates = (unit: number, low: string | undefined) =>
  low && unit >= 0xd800 && unit < 0xdc00
    ? 0x10000 + ((unit - 0xd800) << 10) + (Number.parseInt(low, 16) - 0xdc00)
    : unit;

/** Decodes quotes within single-quoted shell strings. */
const unquoted = (view: View) => decoded(view, /'\\''|'"'"'/g, () => "'");

/** Decodes percent-encoding, and form encoding, in which + is a space. */
const unpercented = (view: View) => decoded(view, /%([0-9a-fA-F]{2})/g, (_, hex = '') => hexByte(hex));
const unformed = (view: View) =>
  decoded(view, /%([0-9a-fA-F]{2})|\+/g, (_, hex) => (hex ? hexByte(hex) : ' '));

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unentitied = (view: View) =>
  decoded(view, /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g, (_, name, decimal, hex) =>
    name ? (ENTITIES[name] ?? '') : bytesOf(Number.parseInt(decimal ?? hex ?? '', decimal ? 10 : 16)),
  );

/** Texts in an alphabet: of 16 characters or more, or folded by a usual width (xxd, PEM, MIME). */
const runsOf = (letters: string) =>
  new RegExp(
    `${[60, 64, 76].map((width) => `(?:${letters}{${width}}\\r?\\n)+${letters}{1,${width}}`).join('|')}|${letters}{16,}`,
    'g',
  );
const BASE64 = runsOf('[A-Za-z0-9+/_-]');
const HEX = runsOf('[0-9a-fA-F]');

/**
 * The letters that hold a byte of an encoded text. No others: what stands beside a value, such as the path in
 * a call that a person approves, is not masked with it.
 */
const lettersOf =
  (bits: number): Places =>
  (text) => {
    const letters = /\s/.test(text) ? [...text.matchAll(/\S/g)].map(({ index }) => index) : undefined;
    const letter = (bit: number) => {
      const nth = Math.floor(bit / bits);
      return letters ? (letters[nth] as number) : nth;
    };
    return (at) => [letter(at * 8), letter(at * 8 + 7) + 1];
  };

/** Decodes base64 and hexadecimal texts. */
const unbase64 = (view: View) =>
  decoded(view, BASE64, (text) => Buffer.from(text, 'base64').toString('latin1'), lettersOf(6));
const unhexed = (view: View) =>
  decoded(view, HEX, (text) => Buffer.from(text.replace(/\s/g, ''), 'hex').toString('latin1'), lettersOf(4));

const DECODERS = [unescaped, unpercented, unentitied];
const OUTER = [...DECODERS, unformed, unquoted, unbase64, unhexed];

/** Removes white space, and the NUL bytes of UTF-16. */
export const unfolded = (view: View): View => decoded(view, /[\s\0]+/g, () => '') ?? view;

/** Hexadecimal digits without separators and prefixes: `73 65`, `73:65`, `0x73, 0x65`. */
export const digits = (view: View): View => {
  const bare = decoded(view, /0x(?=[0-9a-fA-F])|[\s:,\-;{}[\]]+/g, () => '') ?? view;
  return { ...bare, text: bare.text.toLowerCase() };
};

/**
 * The digits of a hex dump by xxd, hexdump -C or od: each line without its offset and its text column, both
 * of which map to its digits.
 */
export function dump(view: View): View | undefined {
  const found = decoded(view, /^[0-9a-fA-F]{4,16}(:?)[ \t]+(.+)$/gm, (whole, colon, rest = '') => {
    const [columns = ''] = rest.split(colon ? /[ \t]{2}/ : /[|>]/, 1);
    return /^[0-9a-fA-F \t]+$/.test(columns) ? columns.replace(/[ \t]/g, '').toLowerCase() : whole;
  });
  return found && unfolded(found);
}

/** Removes numbers at the start of lines, and white space: for `od -c` and numbered lines. */
export function unnumbered(view: View): View | undefined {
  const found = decoded(view, /^[ \t]*[0-9a-fA-F]{1,16}:?[ \t]+/gm, () => '');
  return found && unfolded(found);
}

/** All views of an output, with at most two levels of encoding. */
export function readings(text: string): View[] {
  const plain = plainView(text);
  const once = OUTER.map((decode) => decode(plain)).filter((view) => view !== undefined);
  const twice = once.flatMap((view) =>
    DECODERS.map((decode) => decode(view)).filter((other) => other !== undefined),
  );
  return [plain, ...once, ...twice];
}
