// The shape of a request, checked before its fields: number of parameters, number of values and depth.
// Invariant: the work is linear in what is allowed, not in what was sent, and a request that passes is small
// enough to validate field by field.

/** What is wrong with a request: the path of a field, and what is expected there. */
export interface Detail {
  path: string;
  message: string;
}

/** The most parameters in a query. */
export const MOST_PARAMETERS = 50;
/** The most values in a body: every object, array, string, number, boolean and null. */
export const MOST_VALUES = 2000;
/** The most fields of one object, and items of one array. */
export const MOST_FIELDS = 100;
export const MOST_ITEMS = 1000;
/** The deepest nesting of objects and arrays. */
export const MOST_DEPTH = 16;
/** The most details of one refusal. */
export const MOST_DETAILS = 100;

const PROTO = '__proto__';

/** The first general limit that a parsed body violates; null if none. */
export function shapeOf(body: unknown): Detail | null {
  const open: { value: unknown; path: string[] }[] = [{ value: body, path: [] }];
  let values = 1;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    // A place is named only for what is wrong: each name in it may be as long as the body.
    const wrong = (message: string) => ({ path: path.join('.'), message });
    if (path.length >= MOST_DEPTH) return wrong(`must not be nested deeper than ${MOST_DEPTH} levels`);
    const isArray = Array.isArray(value);
    const size = isArray ? value.length : Object.keys(value).length;
    const most = isArray ? MOST_ITEMS : MOST_FIELDS;
    if (size > most) return wrong(`must have at most ${most} ${isArray ? 'items' : 'fields'}`);
    values += size;
    if (values > MOST_VALUES)
      return { path: '', message: `must have at most ${MOST_VALUES} values in total` };
    for (const [key, inner] of Object.entries(value)) {
      // A field with this name would be lost when objects are copied.
      if (key === PROTO)
        return { path: [...path, PROTO].join('.'), message: 'is not allowed as a field name' };
      open.push({ value: inner, path: [...path, key] });
    }
  }
  return null;
}
