// A Worker bundled by wrangler, and the local runtime that runs it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { runWrangler } from '../../../../scripts/shared/wrangler.mjs';

/** Bundles a Worker. @returns the path of its single module */
export async function bundle(folder: string): Promise<string> {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'bundle-'));
  const { code, said } = await runWrangler([
    'deploy',
    '--dry-run',
    '--outdir',
    out,
    '--config',
    path.join(folder, 'wrangler.toml'),
  ]);
  if (code !== 0) throw new Error(said);
  return path.join(out, fs.readdirSync(out).find((name) => name.endsWith('.js')) as string);
}

/** The Worker in workerd. */
export function run(module: string, bindings: Record<string, string>): Miniflare {
  return new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: module }],
      modulesRoot: path.dirname(module),
      compatibilityDate: '2026-10-20',
      bindings,
    }),
  );
}
