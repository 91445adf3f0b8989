// Gzip (RFC 1952) with the platform's streams.

const pipe = async (bytes: Uint8Array, through: TransformStream): Promise<Uint8Array> =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());

export const gzip = (bytes: Uint8Array): Promise<Uint8Array> =>
  pipe(bytes, new CompressionStream('gzip') as TransformStream);
export const gunzip = (bytes: Uint8Array): Promise<Uint8Array> =>
  pipe(bytes, new DecompressionStream('gzip') as TransformStream);
