// The body of a request while it is sent, kept as long as it may have to be sent again: with an approval, or
// with a renewed token.
import type http from 'node:http';
import { pipeline } from 'node:stream';

/** What a call that waits for an approval may have at most. */
const MOST = 4 * 1024 * 1024;

export class Kept {
  private chunks: Buffer[] | null = [];
  private size = 0;

  constructor(private readonly request: http.IncomingMessage) {}

  send(outgoing: http.ClientRequest): void {
    this.request.on('data', (chunk: Buffer) => {
      this.size += chunk.length;
      if (this.size > MOST) this.chunks = null;
      this.chunks?.push(chunk);
    });
    pipeline(this.request, outgoing, () => {});
  }

  /** Whether all of the body came, and is still here. */
  get isWhole(): boolean {
    return this.chunks !== null && this.request.complete;
  }

  get whole(): Buffer {
    return Buffer.concat(this.chunks ?? []);
  }

  forget(): void {
    this.chunks = null;
  }
}
