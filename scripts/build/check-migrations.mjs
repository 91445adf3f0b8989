// Whether ./migrations creates the tables that the source declares, and keeps the previous release working.
// Invariant: it works on a copy and leaves the real folder unchanged.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { rolloutProblems } from './migration-rules.mjs';
import '../shared/temporary-files.mjs';
import { knownMigrations } from '../shared/migrations.mjs';
import { root } from '../shared/wrangler.mjs';

const FIX = 'run npm run migrations and commit its output';

const migrations = path.join(root, 'migrations');
if (!fs.existsSync(migrations)) {
  process.stderr.write(`There is no migrations folder: ${FIX}.\n`);
  process.exit(1);
}

const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
for (const name of knownMigrations(migrations))
  for (const problem of rolloutProblems(fs.readFileSync(path.join(migrations, name), 'utf8'), version))
    fail(`migrations/${name}: ${problem}.`);

// Inside the project, because drizzle-kit resolves its output folder, and the config its imports, relative to
// it.
fs.mkdirSync(path.join(root, '.wrangler'), { recursive: true });
const copy = fs.mkdtempSync(path.join(root, '.wrangler', 'migrations-'));
try {
  fs.cpSync(migrations, copy, { recursive: true });
  const before = listing(copy);
  const config = path.join(copy, 'check.config.mjs');
  const { default: real } = await import('../../drizzle.config.ts');
  fs.writeFileSync(
    config,
    `export default ${JSON.stringify({ ...real, out: `./${path.relative(root, copy)}` })};\n`,
  );
  const args = [
    path.join(root, 'node_modules', 'drizzle-kit', 'bin.cjs'),
    'generate',
    '--config',
    path.relative(root, config),
  ];
  const done = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', timeout: 60_000, input: '' });
  fs.rmSync(config);
  // drizzle-kit always exits 0, even if it needed to ask about a rename and had no terminal: only its message
  // that nothing has changed counts.
  if (listing(copy) !== before) fail(`The tables in src have changed, but the migrations have not: ${FIX}.`);
  else if (done.status === 0 && done.stdout.includes('No schema changes'))
    process.stdout.write('The migrations match the tables.\n');
  else
    fail(
      `The tables in src could not be compared with the migrations: ${FIX}. drizzle-kit said:\n${lastLines(done.stdout + done.stderr)}`,
    );
} finally {
  fs.rmSync(copy, { recursive: true, force: true });
}

/** @param {string} dir */
function listing(dir) {
  return fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort().join('\n');
}

/** @param {string} text */
function lastLines(text) {
  return text.trimEnd().split('\n').slice(-20).join('\n');
}

/** @param {string} line */
function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
