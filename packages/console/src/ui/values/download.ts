// File downloads. Invariant: downloaded content is not shown, and is released ten seconds later.

/** Downloads a file with the browser. */
export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The whole body of a response that is a stream, however large. A response without a body has no data. */
export const whole = (data: unknown): Promise<Blob> =>
  new Response(data as ReadableStream<Uint8Array> | undefined).blob();
