// JSON as exports need it read: every digit of a number, every key as often as it stands there, `__proto__` a key like any other. Invariants: work
// and memory are linear in the text and bounded; a refusal tells a place, and never quotes the text.
import { printParseErrorCode, visit } from 'jsonc-parser';

/** An export that cannot be read. The message names the place. */
export class Unreadable extends Error {}
/** An export that holds too much. */
export class TooLarge extends Error {}

/** A number as it is spelled. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

/** An object: its keys and values in their order. */
export class JsonObject {
  readonly entries: [key: string, value: Json][] = [];
}

export type Json = string | boolean | null | JsonNumber | Json[] | JsonObject;

/** Objects and arrays inside each other. */
export const MOST_DEPTH = 64;
/** Values of one export: what 5,000 items with all that vendors say of them do not reach. */
export const MOST_VALUES = 250_000;

/** What goes wrong with texts that are cut short, in words; all else is a syntax error. */
const problems: Record<string, string> = {
  UnexpectedEndOfString: 'a text that does not end',
  UnexpectedEndOfNumber: 'a number that does not end',
  EndOfFileExpected: 'text after the end of the JSON value',
  InvalidCommentToken: 'a comment',
  InvalidCharacter: 'a control character in a text',
};

/** Parses strict JSON (RFC 8259); throws `Unreadable` with line and column, or `TooLarge`. */
export function parseJson(text: string, mostDepth = MOST_DEPTH): Json {
  // What holds the values that are being read; the outermost holds the one value of the text.
  const whole: Json[] = [];
  const open: (Json[] | JsonObject)[] = [whole];
  const keys: string[] = [];
  let values = 0;
  const add = (value: Json) => {
    if (++values > MOST_VALUES) throw new TooLarge(`The data holds more than ${MOST_VALUES.toLocaleString('en')} JSON values.`);
    const holder = open.at(-1) as Json[] | JsonObject;
    if (Array.isArray(holder)) holder.push(value);
    else holder.entries.push([keys.pop() as string, value]);
  };
  const begin = (value: Json[] | JsonObject, line: number, column: number) => {
    // safety: import-depth-bounded
    if (open.length > mostDepth) throw new Unreadable(`nested more than ${MOST_DEPTH} levels deep at ${placeOf(line, column)}`);
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
        throw new Unreadable(`not valid JSON: ${problems[printParseErrorCode(code)] ?? 'a syntax error'} at ${placeOf(line, column)}`);
      },
    },
    { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false },
  );
  return whole[0] as Json;
}

const placeOf = (line: number, column: number) => `line ${line + 1}, column ${column + 1}`;

/** The JSON text of a value without spaces; numbers and keys as they stood. Its depth is bounded, as that of what `parseJson` gives. */
export function compact(value: Json): string {
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(compact).join(',')}]`;
  if (value instanceof JsonObject) return `{${value.entries.map(([key, inner]) => `${JSON.stringify(key)}:${compact(inner)}`).join(',')}}`;
  return JSON.stringify(value);
}

/** A value in an export, and where it is: what readers go through an export with. What is of another type than expected is unreadable. */
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

  /** The fields of an object, each as often as it is there. Their names are the exporter's: paths count them. */
  entries(): [key: string, node: Node][] {
    if (!(this.value instanceof JsonObject)) throw this.unreadable('is not an object');
    return this.value.entries.map(([key, value], at) => [key, new Node(value, `${this.path}[field ${at + 1}]`)]);
  }

  /** The items of an array. */
  items(): Node[] {
    if (!Array.isArray(this.value)) throw this.unreadable('is not an array');
    return this.value.map((value, at) => new Node(value, `${this.path}[${at}]`));
  }

  /** A field by a name of ours; null if it is absent. Which of two counts, nobody can say. */
  get(name: string): Node | null {
    if (!(this.value instanceof JsonObject)) throw this.unreadable('is not an object');
    const found = this.value.entries.filter(([key]) => key === name);
    if (found.length > 1) throw this.unreadable(`has the field ${name} more than once`);
    const [first] = found;
    return first ? new Node(first[1], `${this.path}.${name}`) : null;
  }

  /** The same; what is absent or null is unreadable. */
  need(name: string): Node {
    const found = this.given(name);
    if (!found) throw this.unreadable(`has no field ${name}`);
    return found;
  }

  /** The same; null stands for absent. */
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
