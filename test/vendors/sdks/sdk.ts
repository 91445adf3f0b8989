// Vendors' own clients, which are too large to be dependencies: `npm run test:sdks` installs them into .sdks; without them the tests are skipped.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// biome-ignore lint/suspicious/noExplicitAny: a vendor's client, whose types are installed with it.
export type Sdk = any;

/** A vendor's client; null where it is not installed. */
export async function sdk(name: string): Promise<Sdk | null> {
  const folder = path.resolve(process.env.SDKS ?? '.sdks');
  try {
    return await import(pathToFileURL(createRequire(path.join(folder, 'sdk.js')).resolve(name)).href);
  } catch (error) {
    if ((error as { code?: string }).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}
