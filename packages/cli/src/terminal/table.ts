// Tables for a terminal. Pure. Invariant: no line is wider than the terminal, except where a single cell has
// no room; an id is never broken.
import { widthOf, wrapped } from '../text.ts';

const GAP = 2;
/** The longest word that is kept whole: ids are shorter. */
const LONGEST_WORD = 30;

const longestWord = (text: string) => Math.max(0, ...text.split(' ').map(widthOf));
const padded = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - widthOf(text)));
/** Of more numbers than a function takes arguments. */
const largest = (numbers: number[]) => numbers.reduce((most, number) => Math.max(most, number), 0);
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/**
 * The lines of a table. If the rows do not fit, long cells are wrapped; if they cannot be, each row becomes a
 * block of `name: value` lines.
 * @param style applied to headers and names
 */
export function tableLines(
  header: string[],
  rows: string[][],
  columns: number,
  style: (text: string) => string,
): string[] {
  const titles = header.map((title) => title.toUpperCase());
  const cells = (at: number) => rows.map((row) => row[at] ?? '');
  const natural = titles.map((title, at) => Math.max(widthOf(title), largest(cells(at).map(widthOf))));
  const least = titles.map((title, at) =>
    Math.max(widthOf(title), Math.min(LONGEST_WORD, natural[at] ?? 0, largest(cells(at).map(longestWord)))),
  );
  const room = columns - GAP * (header.length - 1);
  if (sum(least) > room) return blocks(header, rows, style);
  const widths = sum(natural) <= room ? natural : shared(natural, least, room);
  return [style(joined(titles, widths)), ...rows.flatMap((row) => rowLines(row, widths))];
}

/** Widths that add up to the room: each column gets what it needs or an equal share of what is left. */
function shared(natural: number[], least: number[], room: number): number[] {
  const widths = [...least];
  let left = room - sum(least);
  const wanting = widths.map((_, at) => at).sort((a, b) => want(a) - want(b));
  function want(at: number): number {
    return (natural[at] ?? 0) - (least[at] ?? 0);
  }
  wanting.forEach((at, n) => {
    const given = Math.min(want(at), Math.floor(left / (wanting.length - n)));
    widths[at] = (widths[at] ?? 0) + given;
    left -= given;
  });
  return widths;
}

const joined = (texts: string[], widths: number[]) =>
  texts
    .map((text, at) => padded(text, widths[at] ?? 0))
    .join(' '.repeat(GAP))
    .trimEnd();

function rowLines(row: string[], widths: number[]): string[] {
  const parts = row.map((text, at) => wrapped(text, widths[at] ?? 0));
  const height = Math.max(...parts.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    joined(
      parts.map((lines) => lines[line] ?? ''),
      widths,
    ),
  );
}

function blocks(header: string[], rows: string[][], style: (text: string) => string): string[] {
  const longest = Math.max(...header.map(({ length }) => length));
  return rows.flatMap((row, n) => [
    ...(n > 0 ? [''] : []),
    ...row.map((text, at) => `${style(`${header[at]}:`.padEnd(longest + 1))} ${text}`),
  ]);
}
