// Reads a body: strictly JSON in UTF-8, at most 1 MiB, counted regardless of Content-Length.
import { concat, fromUtf8 } from '../../crypto/bytes';
import { type Refusal, refuse } from '../../errors';

export const MOST_BODY = 1_048_576;

/** The bytes, and either the parsed JSON or a refusal. `json` is undefined without a body. */
export interface ReadBody {
  bytes: Uint8Array;
  json?: unknown;
  refusal: Refusal | null;
}

/** Reads the body for a route. If the route allows no body, an empty one counts as none. */
export async function readBody(request: Request): Promise<ReadBody> {
  const type = request.headers.get('content-type');
  const bytes = await readBytes(request);
  if (bytes === null) return { bytes: new Uint8Array(), refusal: refuse('PAYLOAD_TOO_LARGE') };
  const encoding = request.headers.get('content-encoding');
  const isJson = type !== null && /^application\/json\s*(;|$)/i.test(type.trim());
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    return { bytes, refusal: refuse('UNSUPPORTED_MEDIA_TYPE') };
  if (bytes.length === 0) return { bytes, refusal: null };
  if (!isJson) return { bytes, refusal: refuse('UNSUPPORTED_MEDIA_TYPE') };
  const text = fromUtf8(bytes);
  if (text === null) return { bytes, refusal: refuse('MALFORMED_JSON') };
  try {
    return { bytes, json: JSON.parse(text), refusal: null };
  } catch {
    return { bytes, refusal: refuse('MALFORMED_JSON') };
  }
}

/**
 * All bytes of a body, or null if there are too many; the excess is read and dropped, so the client receives
 * the response.
 */
export async function readBytes(request: Request): Promise<Uint8Array | null> {
  const declared = request.headers.get('content-length');
  // The runtime ends a body at its Content-Length: a small one is read in one piece, which is faster than a
  // stream.
  if (declared !== null && Number(declared) <= MOST_BODY)
    return withinLimit(new Uint8Array(await request.arrayBuffer()));
  if (!request.body) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4 * MOST_BODY) {
      await reader.cancel().catch(() => {});
      break;
    }
    if (size <= MOST_BODY) parts.push(value);
  }
  return size > MOST_BODY ? null : concat(...parts);
}

const withinLimit = (bytes: Uint8Array): Uint8Array | null => (bytes.length > MOST_BODY ? null : bytes);
