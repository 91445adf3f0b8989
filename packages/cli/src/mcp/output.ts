// Outputs of programs and servers: collected up to a limit, masked as a whole, and only then shortened for
// the model.

import { counted } from '../text.ts';
import type { Session } from './session.ts';

/** Bytes that are kept of one stream; the rest is read and discarded. */
export const MOST_KEPT = 384 * 1024;
/** Characters of one stream in a tool result. */
export const DEFAULT_CHARACTERS = 20_000;
export const MOST_CHARACTERS = 100_000;

export class Gathered {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  total = 0;

  /** @returns whether there is still room */
  push(chunk: Uint8Array): boolean {
    this.total += chunk.length;
    const room = MOST_KEPT - this.size;
    if (room > 0) {
      this.chunks.push(Buffer.from(chunk.subarray(0, room)));
      this.size += Math.min(room, chunk.length);
    }
    return this.total <= MOST_KEPT;
  }

  /** The output, masked and then shortened in the middle. */
  shown(session: Session, characters: number): string {
    const isCut = this.total > this.size;
    // safety: mcp-mask-before-cut
    const text = session.mask(Buffer.concat(this.chunks), isCut);
    if (text.length <= characters)
      return isCut ? `${text}\n[… the rest of ${counted(this.total, 'byte')} is omitted]` : text;
    const head = Math.ceil(characters * 0.4);
    const tail = characters - head;
    return `${text.slice(0, head)}\n[… ${counted(text.length - characters, 'character is', 'characters are')} omitted${isCut ? `, and the end of ${counted(this.total, 'byte')}` : ''}]\n${text.slice(-tail)}`;
  }
}
