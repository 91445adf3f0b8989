// Lines of a text: line and column of a position, from 1, in UTF-16 code units; and the lines that are
// allowed to hold credentials.

export interface Position {
  line: number;
  column: number;
}

/** Converts offsets in a text to positions. */
export function positions(text: string): (at: number) => Position {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (at) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - (starts[low] as number) + 1 };
  };
}

/** What marks a line whose findings are left out. */
const ALLOW = 'svc:allow';

/** Whether the line of an offset is marked with `svc:allow`. */
export function allowedLines(text: string): (at: number) => boolean {
  const ranges: [start: number, end: number][] = [];
  for (let at = text.indexOf(ALLOW); at >= 0; ) {
    const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
    ranges.push([text.lastIndexOf('\n', at) + 1, end]);
    at = text.indexOf(ALLOW, end);
  }
  return (at) => {
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ranges[middle] as [number, number])[1] < at) low = middle + 1;
      else high = middle;
    }
    const range = ranges[low];
    return range !== undefined && range[0] <= at;
  };
}
