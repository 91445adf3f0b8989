// A number with its noun. Pure.

/** `1 file`, `1,200 files`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
