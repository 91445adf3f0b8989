// Bodies as Vault reads them: JSON whatever their type says, or a form. Invariant: only what a route names is
// taken from a body, so unknown fields are ignored, as Vault ignores them.
import { fromUtf8 } from '../../crypto/bytes';
import { ApiError, invalid, refuse } from '../../errors';
import { readBytes } from '../../http/input/body';
import { isObject, membersOf } from '../json-text';

/** A body: its fields, and the text of each. */
export interface Sent {
  fields: Record<string, unknown>;
  texts: Map<string, string>;
}

const NOTHING: Sent = { fields: {}, texts: new Map() };

/** 400 with one sentence of its own. */
export const sentence = (message: string): ApiError => new ApiError(invalid('', message));

/** Reads a body; throws what is wrong with it. */
export async function readSent(request: Request): Promise<Sent> {
  const bytes = await readBytes(request);
  if (bytes === null) throw new ApiError(refuse('PAYLOAD_TOO_LARGE'));
  const encoding = request.headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw sentence('a Content-Encoding is not supported');
  if (bytes.length === 0) return NOTHING;
  const text = fromUtf8(bytes);
  if (text === null) throw new ApiError(refuse('MALFORMED_JSON'));
  const type = request.headers.get('content-type') ?? '';
  // curl calls JSON a form, and Vault looks at how it begins.
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type.trim()) && !/^\s*[{[]/.test(text))
    return formOf(text);
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    throw new ApiError(refuse('MALFORMED_JSON'));
  }
  if (fields === null) return NOTHING;
  if (!isObject(fields)) throw sentence('the body must be a JSON object');
  return { fields, texts: membersOf(text) };
}

function formOf(text: string): Sent {
  const fields: Record<string, unknown> = Object.fromEntries(new URLSearchParams(text));
  return {
    fields,
    texts: new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)])),
  };
}

/** An integer, which Vault also takes as text; undefined if it is absent. */
export function integer(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
    throw sentence(`${name} must be an integer`);
  return number;
}
