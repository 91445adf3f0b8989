// Vendors' own clients, which are too large to be dependencies: `npm run test:sdks` installs them into .sdks;
// without them the tests are skipped.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

export const folder = path.resolve(process.env.SDKS ?? '.sdks');

// biome-ignore lint/suspicious/noExplicitAny: a vendor's client, whose types are installed with it.
export type Sdk = any;

/** A vendor's client; null where it is not installed. */
export async function sdk(name: string): Promise<Sdk | null> {
  try {
    return await import(pathToFileURL(createRequire(path.join(folder, 'sdk.js')).resolve(name)).href);
  } catch (error) {
    if ((error as { code?: string }).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/**
 * What a vendor's Go client reads at an address; null where the program is not built. See readback/main.go.
 */
export const readback = existsSync(path.join(folder, 'readback'))
  ? async (...args: string[]) =>
      JSON.parse((await promisify(execFile)(path.join(folder, 'readback'), args)).stdout)
  : null;
