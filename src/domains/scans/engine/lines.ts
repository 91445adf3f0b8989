// Line and column of a position in a text, from 1. Columns count UTF-16 code units.

export interface Position {
  line: number;
  column: number;
}

/** Converts offsets in a text to positions. */
export function positions(text: string): (at: number) => Position {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (at) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - (starts[low] as number) + 1 };
  };
}
