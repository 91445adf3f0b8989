// Imports that declare every kind of row, for scripts that bundle code of the service: without its kind, no row has a MAC.
import fs from 'node:fs';
import path from 'node:path';
import { root } from './wrangler.mjs';

const domains = path.join(root, 'src', 'domains');

/** Import statements, relative to the project. */
export const rowKindImports = fs
  .readdirSync(domains)
  .filter((name) => fs.existsSync(path.join(domains, name, 'rows.ts')))
  .map((name) => `import './src/domains/${name}/rows';`)
  .join('\n');
