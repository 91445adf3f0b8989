// Makes text from other people safe for a terminal, fits it to the terminal's width, and parses durations.
// Invariant: text returned by `clean` cannot move the cursor, change a colour, or hide or reorder adjacent
// text.

/**
 * Control characters, bidi controls, line separators and invisible characters, letters and marks without a
 * shape included: names, user agents and messages may contain them.
 */
const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u2800|\u3164|\uffa0|[\u{e0100}-\u{e01ef}]/gu;

const escaped = (char: string) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

/** The text as one line that is safe to print. */
export const clean = (text: string): string => text.replace(UNSAFE, escaped);

/** Like `clean`, but keeps line breaks and tabs. */
export const cleanLines = (text: string): string =>
  text.replace(UNSAFE, (char) => (char === '\n' || char === '\t' ? char : escaped(char)));

/** A number with its noun: `1 file`, `1,200 files`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** Whether the text is safe to print unchanged. */
export const isPlain = (text: string): boolean => cleanLines(text) === text;

/** JSON that is safe to print: also escapes characters that JSON allows but a terminal interprets. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNSAFE, (char) =>
    char === '\n'
      ? char
      : [...Array(char.length).keys()]
          .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  );

/** The width of a text in columns: one per character, two for wide characters. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let sum = 0;
  for (const { segment } of new Intl.Segmenter().segment(text))
    sum +=
      /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(
        segment,
      )
        ? 2
        : 1;
  return sum;
}

/** The lines of a text, broken between words; a word that is wider than a line is broken too. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line && widthOf(line) + 1 + widthOf(word) <= width) line += ` ${word}`;
    else {
      if (line) lines.push(line);
      line = '';
      for (const char of [...word]) {
        if (line && widthOf(line + char) > width) {
          lines.push(line);
          line = '';
        }
        line += char;
      }
    }
  }
  return [...lines, line];
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds of `90`, `90s`, `15m`, `12h`, `7d`, `2w`; undefined for any other text. */
export function secondsOf(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,10})([smhdw]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit || 's'] ?? 1);
}

/** `3 minutes ago`, `in 2 days`. */
export function relative(time: string, now: number): string {
  const seconds = (Date.parse(time) - now) / 1000;
  if (!Number.isFinite(seconds)) return clean(time);
  const [size, unit] = ([
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
  ].find(([size]) => Math.abs(seconds) >= (size as number)) ?? [1, 'second']) as [
    number,
    Intl.RelativeTimeFormatUnit,
  ];
  return new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(Math.trunc(seconds / size), unit);
}
