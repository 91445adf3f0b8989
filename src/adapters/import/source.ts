// The common part of import sources: a source reads an export into items and failures. Invariant: everything
// in the export is an item or a failure, except what the source's contract excludes; nothing is lost
// silently.
import { fromUtf8, utf8 } from '../../crypto/bytes';
import type { Json, Node } from './json';

/**
 * One name and one value of an export. `encoding`: the value is the base64 text of bytes that are not UTF-8;
 * `bytes`: of bytes that clients of AWS get as such.
 */
export interface Item {
  name: string;
  value: Json;
  encoding?: 'base64' | 'bytes';
  /** The type of the secret, if it is new; generic if the source does not say. */
  type?: 'generic' | 'json';
  /** The path that the item is at, if the export says so; null where it does not. */
  path?: string | null;
}

/** Why an item of an export cannot be imported. */
export const reasons = [
  ...[
    'NAME_INVALID',
    'NAME_COLLISION',
    'VALUE_NULL',
    'VALUE_EMPTY',
    'VALUE_TOO_LARGE',
    'VALUE_MISSING',
    'NUMBER_INEXACT',
  ],
  ...[
    'DISABLED',
    'DELETED',
    'EXPIRED',
    'MANAGED',
    'CERTIFICATE',
    'RESTRICTED',
    'UNSUPPORTED',
    'CHECKSUM_MISMATCH',
  ],
  ...['POLICY_VIOLATED', 'NOT_ALLOWED', 'INCOMPLETE', 'SOURCE_ERROR'],
] as const;

/**
 * An item that is not imported, by its name in the export; the reason is a code, optionally followed by `: `
 * and a sentence.
 */
export interface Failure {
  name: string;
  reason: string;
}

export type Found = Item | Failure;

interface Common {
  source: string;
  /** What happens to items with the same name and different values: all of them fail, or the last wins. */
  lastWins?: true;
}

/** How an export is read. */
export interface How {
  now: number;
  /** One secret for each of the export, although it has several keys. */
  whole?: boolean;
}

/** A source of imports, one object per file. */
export type Source = Common &
  (
    | { accepts: 'json'; read(data: Node, now: number, how: How): Iterable<Found> }
    | { accepts: 'text'; read(data: string, now: number): Iterable<Found> }
  );

export const source = <T extends Source>(declaration: T): T => declaration;

export const isFailure = (found: Found): found is Failure => 'reason' in found;

export const failure = (name: string, code: string, why?: string): Failure => ({
  name,
  reason: why === undefined ? code : `${code}: ${why}`,
});

/** A longer part makes every name too long, regardless of its characters. */
const LONGEST_PART = 512;

/**
 * A name with several parts: `Item/field`. A slash within a part would look like a separator and is replaced.
 */
export const joined = (...parts: string[]): string =>
  // safety: import-parts-bounded
  parts.map((part) => part.slice(0, LONGEST_PART).replaceAll('/', '_')).join('/');

/** Reads each of many nodes lazily: an import refused for too many items processes no more of them. */
export function* eachOf<T>(nodes: Iterable<T>, read: (node: T) => Iterable<Found>): Generator<Found> {
  for (const node of nodes) yield* read(node);
}

/** An item, or a failure if the export lists it without a value. */
export const itemOf = (name: string, value: Node | null): Found =>
  value ? { name, value: value.value } : failure(name, 'VALUE_MISSING');

/** The keys of a map. */
export const keysOf = (map: Node): Item[] => map.entries().map(([name, { value }]) => ({ name, value }));

/** The entry for further pages that the export does not contain; none if it is complete. */
export const incomplete = (data: Node, field: string): Failure[] =>
  data.textOf(field) === '' ? [] : [failure(field, 'INCOMPLETE', 'the export has further pages')];

/** The bytes of base64 or base64url, with or without padding; null for anything else. */
export function bytesOf(text: string): Uint8Array | null {
  const bare = text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Buffer.from(bare, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === bare && text.length - bare.length <= 2
    ? bytes
    : null;
}

/** The item of a base64 field: its bytes as text, or else as standard base64. */
export function binaryItem(name: string, bytes: Uint8Array): Item {
  const text = fromUtf8(bytes);
  return text === null
    ? { name, value: Buffer.from(bytes).toString('base64'), encoding: 'base64' }
    : { name, value: text };
}

/** A vendor's error code, if the text has the form of one. */
export const vendorCode = (text: string): string =>
  /^[A-Za-z][A-Za-z0-9._-]{0,99}$/.test(text) ? text : 'unknown';

/** The segment of a path after another: that after `secrets` in `projects/p/secrets/NAME/versions/4`. */
export function segmentAfter(path: string, segment: string): string | null {
  const segments = path.split('/');
  const at = segments.indexOf(segment);
  return at < 0 ? null : (segments[at + 1] ?? null);
}

/** One object, or a list of them. */
export const oneOrMany = (data: Node): Node[] => (data.isArray ? data.items() : [data]);

/** The size of a text in UTF-8 bytes. */
export const sizeOf = (text: string): number => utf8(text).length;
