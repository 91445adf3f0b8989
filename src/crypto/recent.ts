// What was used last, in memory, up to a number of entries: the one used longest ago goes first.

export interface Recent<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  clear(): void;
}

export function createRecent<T>(most: number): Recent<T> {
  // A Map keeps the order of insertion; two generations spare moving an entry at each use.
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  const put = (key: string, value: T) => {
    if (young.size >= most / 2) [old, young] = [young, new Map()];
    young.set(key, value);
  };
  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) put(key, older);
      return older;
    },
    set: put,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
    clear() {
      young.clear();
      old.clear();
    },
  };
}
