// The package as published: small, complete and documented.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const folder = path.resolve(import.meta.dirname, '..');

it('package: contains only dist, README and LICENSE, stays small, and works once unpacked', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pack-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], { cwd: folder });
  const [packed] = Object.values(JSON.parse(stdout)) as { filename: string; size: number; files: { path: string }[] }[];
  const others = packed?.files.map((file) => file.path).filter((file) => !/^dist\/[\w-]+\.(js|d\.ts)$/.test(file));
  expect(others?.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
  expect(packed?.size).toBeLessThan(80_000);
  await run('tar', ['xf', path.join(dir, path.basename(packed?.filename ?? ''))], { cwd: dir });
  fs.symlinkSync(path.resolve(folder, '../../node_modules'), path.join(dir, 'node_modules'));
  const source = `import('${dir}/package/dist/index.js').then(({ createVault, Secret }) => console.log(typeof createVault, typeof Secret))`;
  expect((await run(process.execPath, ['-e', source])).stdout.trim()).toBe('function function');
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(dir, 'package/package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['eventsource-parser', 'openapi-fetch']);
});

it('package: every export has a doc comment, and every function an example', () => {
  const index = fs.readFileSync(path.join(folder, 'src/index.ts'), 'utf8').replace(/^\/\/.*/gm, '');
  const sources = fs.readdirSync(path.join(folder, 'src')).filter((name) => name !== 'api.ts' && name !== 'index.ts');
  const text = sources.map((name) => fs.readFileSync(path.join(folder, 'src', name), 'utf8')).join('\n');
  const names = [...index.matchAll(/\b([A-Z]\w+|createVault)\b/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(20);
  for (const name of new Set(names)) {
    const declared = new RegExp(`(\\*/\\n)?export (?:class|interface|type|const|abstract class) ${name}\\b`).exec(text);
    expect(declared?.[1], name).toBeDefined();
  }
  const vault = fs.readFileSync(path.join(folder, 'src/vault.ts'), 'utf8');
  for (const method of ['get', 'values', 'set', 'rotate', 'onChange', 'close'])
    expect(vault, method).toMatch(new RegExp(`@example(?:(?!\\*/)[^])*\\*/\\n {2}(?:async )?${method}\\(`));
});

it('package: its source uses no runtime-specific API', () => {
  for (const name of fs.readdirSync(path.join(folder, 'src'))) {
    const text = fs.readFileSync(path.join(folder, 'src', name), 'utf8');
    expect(text, name).not.toMatch(/from '(node:|cloudflare:|bun|\.\.\/\.\.)/);
    expect(text, name).not.toMatch(/\b(?:window|document|localStorage|Buffer)\.\w/);
  }
});
