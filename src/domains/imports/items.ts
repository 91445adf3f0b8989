// Converts an export into the gate's input: maps names, checks values and keeps one item per name. Pure.
// Invariants: a failed item is reported with its name and reason, never its value; if items with different
// values map to one name, none is imported, unless the last one wins in that source.
import { type SourceName, sourceOf, sources } from '../../adapters/import';
import {
  compact,
  type Json,
  JsonNumber,
  JsonObject,
  MOST_DEPTH,
  Node,
  parseJson,
  TooLarge,
  Unreadable,
} from '../../adapters/import/json';
import { type Failure, type Found, failure, type How, isFailure, sizeOf } from '../../adapters/import/source';
import { type Refusal, refuse } from '../../errors';
import { MOST_VALUE, SecretName } from '../secrets/wire';
import { bounded, shortened } from './answer';

/** Items of one import. */
export const MOST_ITEMS = 5000;

/** An item that can be written: its new name and a valid value. */
export interface Ready {
  name: string;
  original: string;
  value: string;
  is_base64: boolean;
  /** The value is the base64 of bytes that clients of AWS get as such. */
  is_bytes: boolean;
  type: 'generic' | 'json';
}

export interface Prepared {
  items: Ready[];
  failed: Failure[];
}

/**
 * Reads an export, or says why it cannot. `body` is the request text, from which JSON data is parsed again.
 */
export function readExport(
  name: SourceName,
  data: unknown,
  body: string,
  prefix: string,
  now: number,
  { keepPaths = false, whole = false }: { keepPaths?: boolean; whole?: boolean } = {},
): Prepared | Refusal {
  try {
    const items = found(name, data, body, { now, whole });
    return prepare(keepPaths ? atPaths(items) : items, prefix, lastWins(name));
  } catch (error) {
    if (error instanceof TooLarge) return refuse('PAYLOAD_TOO_LARGE', { message: error.message });
    if (!(error instanceof Unreadable)) throw error;
    return refuse('IMPORT_UNREADABLE', {
      message: `The export could not be read: ${error.message}. Nothing was imported.`,
    });
  }
}

const lastWins = (name: SourceName): boolean =>
  sources.some((source) => source.source === name && 'lastWins' in source);

function found(name: SourceName, data: unknown, body: string, how: How): Iterable<Found> {
  const source = sourceOf(name);
  const text = typeof data === 'string' ? decoded(data) : null;
  if (source.accepts === 'json')
    return source.read(new Node(text === null ? dataOf(body) : parseJson(text)), how.now, how);
  if (text === null) throw new Unreadable('$ is JSON, but this source is text');
  return source.read(text, how.now);
}

/**
 * A text without its byte order mark. UTF-16 misread as UTF-8 or Latin-1 is recognised by its first
 * characters.
 */
function decoded(text: string): string {
  if (/^(\uFFFE|\uFFFD\uFFFD|\u00FF\u00FE|\u00FE\u00FF|[^\0]?\0)/u.test(text))
    throw new Unreadable('it is encoded in UTF-16. Convert it to UTF-8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/**
 * The data field of the request body, with every digit and every key. If the field occurs more than once, the
 * last one counts, as for every field.
 */
function dataOf(body: string): Json {
  // safety: import-digits-kept
  const whole = parseJson(body, MOST_DEPTH + 1);
  const fields = whole instanceof JsonObject ? whole.entries : [];
  return fields.findLast(([key]) => key === 'data')?.[1] ?? null;
}

/** Items whose names begin with their paths. A slash in a key would look like a further folder. */
function* atPaths(items: Iterable<Found>): Generator<Found> {
  for (const item of items) {
    if (isFailure(item)) {
      yield item;
      continue;
    }
    if (item.path == null)
      throw new Unreadable('it does not say the path of its keys. Export a map of path → answer');
    const folder = item.path.split('/').filter((part) => part !== '');
    yield { ...item, name: [...folder, item.name.replaceAll('/', '_')].join('/') };
  }
}

function prepare(items: Iterable<Found>, prefix: string, lastWins: boolean): Prepared {
  const ready: Ready[] = [];
  const failed: Failure[] = [];
  let count = 0;
  for (const item of items) {
    // safety: import-items-bounded
    if (++count > MOST_ITEMS)
      throw new TooLarge(`An import can have at most ${MOST_ITEMS.toLocaleString('en')} items.`);
    const made = isFailure(item) ? item : readyOf(item, prefix);
    if ('reason' in made) failed.push(made);
    else ready.push(made);
  }
  const { items: kept, failed: collided } = distinct(ready, lastWins);
  return {
    items: kept.map((item) => ({ ...item, original: shortened(item.original) })),
    failed: bounded([...failed, ...collided]),
  };
}

/** The same without empty values, which fail. */
export const withoutEmpty = ({ items, failed }: Prepared): Prepared => ({
  items: items.filter(({ value }) => value !== ''),
  failed: bounded([
    ...failed,
    ...items.filter(({ value }) => value === '').map(({ original }) => failure(original, 'VALUE_EMPTY')),
  ]),
});

function readyOf(
  { name, value, encoding, type = 'generic' }: Exclude<Found, Failure>,
  prefix: string,
): Ready | Failure {
  const text = textOf(value);
  if (text === null) return failure(name, 'VALUE_NULL');
  if (!text.isWellFormed()) return failure(name, 'UNSUPPORTED', 'the value is not well-formed Unicode');
  if (sizeOf(text) > MOST_VALUE) return failure(name, 'VALUE_TOO_LARGE');
  const mapped = nameOf(name, prefix);
  return mapped === null
    ? failure(name, 'NAME_INVALID')
    : {
        name: mapped,
        original: name,
        value: text,
        is_base64: encoding === 'base64',
        is_bytes: encoding === 'bytes',
        type,
      };
}

/** The text of a value. Other JSON values become their JSON text, with every digit unchanged. */
const textOf = (value: Json): string | null =>
  value === null || typeof value === 'string'
    ? value
    : value instanceof JsonNumber
      ? value.source
      : compact(value);

const isName = (name: string): boolean => SecretName.safeParse(name).success;

/** The name of the secret, or null if none is possible. A valid name stays unchanged. */
export function nameOf(original: string, prefix: string): string | null {
  if (isName(prefix + original)) return prefix + original;
  const mapped = (prefix + original.replace(/^\//, ''))
    .replace(/[^A-Za-z0-9_./-]/gu, '_')
    .replace(/^[.-]/, '_$&');
  return isName(mapped) ? mapped : null;
}

/** One item per name. Equal items become one; of different ones the last is kept, or none. */
function distinct(ready: readonly Ready[], lastWins: boolean): Prepared {
  const byName = Map.groupBy(ready, ({ name }) => name);
  const items: Ready[] = [];
  const failed: Failure[] = [];
  for (const group of byName.values()) {
    const [first] = group as [Ready];
    const isOne = group.every(
      ({ value, is_base64, is_bytes }) =>
        value === first.value && is_base64 === first.is_base64 && is_bytes === first.is_bytes,
    );
    if (isOne || lastWins) items.push(group.at(-1) as Ready);
    // safety: import-collisions-fail
    else failed.push(...group.map(({ original }) => failure(original, 'NAME_COLLISION')));
  }
  return { items, failed };
}
