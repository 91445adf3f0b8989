// A D1 whose calls are timed. Invariant: it answers, and fails, as the one inside.

/** `note` hears how many milliseconds each call took, whether it succeeded or not. */
export function timed(db: D1Database, note: (ms: number) => void): D1Database {
  const inside = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const timing = async <T>(call: () => Promise<T>): Promise<T> => {
    const started = Date.now();
    try {
      return await call();
    } finally {
      note(Date.now() - started);
    }
  };
  const statement = (inner: D1PreparedStatement): D1PreparedStatement => {
    const outer = {
      bind: (...values: unknown[]) => statement(inner.bind(...values)),
      first: (...column: [string]) => timing(() => inner.first(...column)),
      run: () => timing(() => inner.run()),
      all: () => timing(() => inner.all()),
      raw: (...options: [{ columnNames?: false }]) => timing(() => inner.raw(...options)),
    } as D1PreparedStatement;
    inside.set(outer, inner);
    return outer;
  };
  const batch = <T>(statements: D1PreparedStatement[]) =>
    timing(() => db.batch<T>(statements.map((one) => inside.get(one) ?? one)));
  return new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => statement(target.prepare(sql));
      if (name === 'batch') return batch;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
