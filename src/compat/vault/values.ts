// A secret's value as the map that clients of Vault see, and back. Pure. Invariants: a value that is the text
// of a JSON object is that map, any other is {"value": "…"}; both ways lose nothing.
import type { SecretRow } from '../../db/schema';
import { isObject, isObjectText, membersOf } from '../json-text';

type Type = SecretRow['type'];

/** Whether a value is shown as a map of its own. */
export const isMap = (type: Type, value: string): boolean => type === 'json' && isObjectText(value);

/** The text of the map for a value. */
export const mapOf = (type: Type, value: string): string =>
  isMap(type, value) ? value.trim() : JSON.stringify({ value });

/** A map to store: as the text of its one key, or as its own. */
export interface Stored {
  is_single: boolean;
  is_text: boolean;
  value: string;
}

/** How a map is stored in place of a map, or of one value. */
export function storedAs(map: string, isMap: boolean): Stored {
  const single = singleOf(map);
  const is_text = single !== null && !isMap;
  return { is_single: single !== null, is_text, value: is_text ? single : map };
}

/** The text of a map with the one key `value`; null for any other map. */
function singleOf(map: string): string | null {
  const members = membersOf(map);
  const value = members.size === 1 ? members.get('value') : undefined;
  return value?.startsWith('"') ? (JSON.parse(value) as string) : null;
}

/** How deep keys are listed at most. */
const DEEPEST = 64;

/** The keys of a map without their values, to a depth; 0 for all. */
export function subkeysOf(value: unknown, depth: number, at = 1): unknown {
  if (!isObject(value)) return null;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isObject(inner) && Object.keys(inner).length && at < (depth || DEEPEST)
        ? subkeysOf(inner, depth, at + 1)
        : null,
    ]),
  );
}
