// The members of a JSON object as texts, so that a value keeps its numbers, the order of its keys and its
// spelling: JSON.parse would round 12345678901234567 and turn 1.10 into 1.1. Pure. Invariant: called only
// with text that JSON.parse accepts.

/** Where the JSON value that begins at `from` ends. */
function endOf(text: string, from: number): number {
  let depth = 0;
  for (let at = from; ; at++) {
    const char = text[at];
    if (char === undefined) return at;
    if (char === '"') {
      at++;
      while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    } else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      if (depth === 0) return at;
      depth--;
    } else if (char === ',' && depth === 0) return at;
  }
}

const isSpace = (char: string | undefined): boolean => char !== undefined && ' \t\r\n'.includes(char);

/** The members of an object by key, each as its text; of a repeated key the last, as JSON.parse does. */
export function membersOf(object: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = object.indexOf('{') + 1;
  for (;;) {
    while (isSpace(object[at]) || object[at] === ',') at++;
    if (object[at] === '}' || object[at] === undefined) return members;
    const key = at++;
    while (object[at] !== '"') at += object[at] === '\\' ? 2 : 1;
    const name = JSON.parse(object.slice(key, ++at)) as string;
    const value = object.indexOf(':', at) + 1;
    at = endOf(object, value);
    members.set(name, object.slice(value, at).trim());
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a text is that of a JSON object. */
export function isObjectText(text: string): boolean {
  if (!/^[ \t\r\n]*\{/.test(text)) return false;
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

const objectOf = (members: Map<string, string>): string =>
  `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;

/** The deepest nesting of a patch. */
export const MOST_DEPTH = 64;

/**
 * A JSON object with a merge patch applied (RFC 7396), both as texts; null if the patch is nested too deeply.
 */
export function merged(target: string, patch: string, depth = 0): string | null {
  if (depth > MOST_DEPTH) return null;
  const members = target.startsWith('{') ? membersOf(target) : new Map<string, string>();
  for (const [key, value] of membersOf(patch)) {
    if (value === 'null') members.delete(key);
    else if (value.startsWith('{')) {
      const inner = merged(members.get(key) ?? '', value, depth + 1);
      if (inner === null) return null;
      members.set(key, inner);
    } else members.set(key, value);
  }
  return objectOf(members);
}
