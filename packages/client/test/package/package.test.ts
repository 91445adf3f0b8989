// The package as published: small, complete and documented.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';

const run = promisify(execFile);
const folder = path.resolve(import.meta.dirname, '../..');

slow('package: contains only dist, README and LICENSE, stays small, and works once unpacked', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pack-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], {
    cwd: folder,
  });
  const [packed] = Object.values(JSON.parse(stdout)) as {
    filename: string;
    size: number;
    files: { path: string }[];
  }[];
  const others = packed?.files
    .map((file) => file.path)
    .filter((file) => !/^dist\/(?:[\w-]+\/)?[\w-]+\.(js|d\.ts)$/.test(file));
  expect(others?.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
  // Most of it are the types of all operations.
  expect(packed?.size).toBeLessThan(120_000);
  await run('tar', ['xf', path.join(dir, path.basename(packed?.filename ?? ''))], { cwd: dir });
  fs.symlinkSync(path.resolve(folder, '../../node_modules'), path.join(dir, 'node_modules'));
  const source = `import('${dir}/package/dist/index.js').then(({ createVault, Secret }) => console.log(typeof createVault, typeof Secret))`;
  expect((await run(process.execPath, ['-e', source])).stdout.trim()).toBe('function function');
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(dir, 'package/package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['eventsource-parser', 'openapi-fetch']);
});

it('package: docs/reference/client.md is current (npm run reference -w packages/client generates it), with an example for every export', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'reference-'));
  await run(process.execPath, [path.join(folder, 'node_modules/typedoc/bin/typedoc'), '--out', dir], {
    cwd: folder,
  });
  const made = fs.readFileSync(path.join(dir, 'client.md'), 'utf8');
  expect(fs.readFileSync(path.resolve(folder, '../../docs/reference/client.md'), 'utf8') === made).toBe(true);

  const [, ...sections] = made.split(/^### /m);
  const shown = sections.map((section) => /^\w+/.exec(section)?.[0]);
  const index = fs.readFileSync(path.join(folder, 'src/index.ts'), 'utf8');
  const given = [
    ...index.replace(/^\/\/.*$|'.*'/gm, '').matchAll(/\b([A-Z]\w+|createVault|covers|secretTypes)\b/g),
  ].map(([name]) => name);
  expect(given.length).toBeGreaterThan(20);
  expect(shown).toEqual(expect.arrayContaining(given));
  // Each way to call a function has its own examples.
  for (const section of sections) expect(section).toMatch(/\n####(?: Example|# Examples)\n/);
  const [, ...methods] = (sections.find((section) => section.startsWith('Vault\n')) ?? '').split(/^##### /m);
  expect(methods.length).toBeGreaterThan(5);
  for (const method of methods) if (!method.startsWith('\\[')) expect(method).toContain('\n###### Example\n');
});

it('package: npm ci in a clone and npm pack both build it', () => {
  for (const name of ['client', 'cli']) {
    const { scripts } = JSON.parse(fs.readFileSync(path.resolve(folder, '..', name, 'package.json'), 'utf8'));
    expect(['npm run build', scripts.build]).toContain(scripts.prepare);
  }
});

it('package: its source uses no runtime-specific API', () => {
  for (const name of fs.readdirSync(path.join(folder, 'src'), { recursive: true, encoding: 'utf8' })) {
    // `testing.ts` holds the source of a Worker.
    if (!name.endsWith('.ts') || name === 'testing.ts') continue;
    const text = fs.readFileSync(path.join(folder, 'src', name), 'utf8');
    expect(text, name).not.toMatch(/from '(node:|cloudflare:|bun|\.\.\/\.\.)/);
    expect(text, name).not.toMatch(/\b(?:window|document|localStorage|Buffer)\.\w/);
  }
});
