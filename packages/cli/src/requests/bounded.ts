// Bodies that svc reads itself, beneath or beside the client. Invariant: whatever a server sends, a body
// takes a bounded amount of memory.

/** More than any of these bodies of a vault. */
const LARGEST = 4 * 1024 * 1024;

/** The JSON of a response; null if it has none, or if it is too large. */
export async function jsonIn(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop cancels the body.
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      // safety: cli-body-bounded
      if (size > LARGEST) return null;
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return null;
  }
}
