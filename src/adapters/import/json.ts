// A JSON parser for exports: keeps every digit of a number and every repeated key, and treats `__proto__`
// like any other key. Invariants: work and memory are linear in the text and bounded; an error names a
// position and never quotes the text.
import { printParseErrorCode, visit } from 'jsonc-parser';

/** An export that cannot be parsed. The message names the position. */
export class Unreadable extends Error {}
/** An export that is too large. */
export class TooLarge extends Error {}

/** A number in its original notation. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

/** An object: its keys and values in order. */
export class JsonObject {
  readonly entries: [key: string, value: Json][] = [];
}

export type Json = string | boolean | null | JsonNumber | Json[] | JsonObject;

/** The deepest nesting of objects and arrays. */
export const MOST_DEPTH = 64;
/** The most values of one export: more than 5,000 items with all vendor metadata have. */
export const MOST_VALUES = 250_000;

/** Problems of truncated texts, in words; anything else is a syntax error. */
const problems: Record<string, string> = {
  UnexpectedEndOfString: 'a text that does not end',
  UnexpectedEndOfNumber: 'a number that does not end',
  EndOfFileExpected: 'text after the end of the JSON value',
  InvalidCommentToken: 'a comment',
  InvalidCharacter: 'a control character in a text',
};

/** Parses strict JSON (RFC 8259); throws `Unreadable` with line and column, or `TooLarge`. */
export function parseJson(text: string, mostDepth = MOST_DEPTH): Json {
  // The containers being read; the outermost holds the single value of the text.
  const whole: Json[] = [];
  const open: (Json[] | JsonObject)[] = [whole];
  const keys: string[] = [];
  let values = 0;
  const add = (value: Json) => {
    if (++values > MOST_VALUES)
      throw new TooLarge(`The data has more than ${MOST_VALUES.toLocaleString('en')} JSON values.`);
    const holder = open.at(-1) as Json[] | JsonObject;
    if (Array.isArray(holder)) holder.push(value);
    else holder.entries.push([keys.pop() as string, value]);
  };
  const begin = (value: Json[] | JsonObject, line: number, column: number) => {
    // safety: import-depth-bounded
    if (open.length > mostDepth)
      throw new Unreadable(`nested more than ${MOST_DEPTH} levels deep at ${placeOf(line, column)}`);
    add(value);
    open.push(value);
  };
  visit(
    text,
    {
      onObjectBegin: (_offset, _length, line, column) => void begin(new JsonObject(), line, column),
      onObjectProperty: (key) => void keys.push(key),
      onObjectEnd: () => void open.pop(),
      onArrayBegin: (_offset, _length, line, column) => void begin([], line, column),
      onArrayEnd: () => void open.pop(),
      onLiteralValue(value, offset, length) {
        add(typeof value === 'number' ? new JsonNumber(text.slice(offset, offset + length)) : value);
      },
      onError(code, _offset, _length, line, column) {
        throw new Unreadable(
          `not valid JSON: ${problems[printParseErrorCode(code)] ?? 'a syntax error'} at ${placeOf(line, column)}`,
        );
      },
    },
    { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false },
  );
  return whole[0] as Json;
}

const placeOf = (line: number, column: number) => `line ${line + 1}, column ${column + 1}`;

/**
 * The JSON text of a value without spaces, with numbers and keys unchanged. Its depth is bounded by
 * `parseJson`.
 */
export function compact(value: Json): string {
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(compact).join(',')}]`;
  if (value instanceof JsonObject)
    return `{${value.entries.map(([key, inner]) => `${JSON.stringify(key)}:${compact(inner)}`).join(',')}}`;
  return JSON.stringify(value);
}

/**
 * A value in an export, and its position: readers use it to traverse an export. A value of an unexpected type
 * is an error.
 */
export class Node {
  constructor(
    readonly value: Json,
    readonly path = '$',
  ) {}

  unreadable(what: string): Unreadable {
    return new Unreadable(`${this.path} ${what}`);
  }

  get isObject(): boolean {
    return this.value instanceof JsonObject;
  }

  get isArray(): boolean {
    return Array.isArray(this.value);
  }

  get isNull(): boolean {
    return this.value === null;
  }

  /**
   * The fields of an object, including repeated ones. Paths use their numbers, because the names belong to
   * the exporter.
   */
  entries(): [key: string, node: Node][] {
    if (!(this.value instanceof JsonObject)) throw this.unreadable('is not an object');
    return this.value.entries.map(([key, value], at) => [
      key,
      new Node(value, `${this.path}[field ${at + 1}]`),
    ]);
  }

  /** The items of an array. */
  items(): Node[] {
    if (!Array.isArray(this.value)) throw this.unreadable('is not an array');
    return this.value.map((value, at) => new Node(value, `${this.path}[${at}]`));
  }

  /**
   * A field by its known name; null if absent. A repeated field is an error, because it is unclear which one
   * counts.
   */
  get(name: string): Node | null {
    if (!(this.value instanceof JsonObject)) throw this.unreadable('is not an object');
    const found = this.value.entries.filter(([key]) => key === name);
    if (found.length > 1) throw this.unreadable(`has the field ${name} more than once`);
    const [first] = found;
    return first ? new Node(first[1], `${this.path}.${name}`) : null;
  }

  /** A required field: an absent or null field is unreadable. */
  need(name: string): Node {
    const found = this.given(name);
    if (!found) throw this.unreadable(`has no field ${name}`);
    return found;
  }

  /** An optional field: null counts as absent. */
  given(name: string): Node | null {
    const found = this.get(name);
    return found === null || found.isNull ? null : found;
  }

  /** A text. */
  text(): string {
    if (typeof this.value !== 'string') throw this.unreadable('is not a text');
    return this.value;
  }

  /** A field that is a text; '' if it is absent or null. */
  textOf(name: string): string {
    return this.given(name)?.text() ?? '';
  }

  /** Whether a field is true. */
  isTrue(name: string): boolean {
    return this.given(name)?.value === true;
  }
}
