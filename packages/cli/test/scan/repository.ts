// Git repositories for tests of svc scan.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Machine } from '../harness.ts';

/** Makes a new repository on the machine of a test file, by its name. */
export const repositories = (machine: () => Machine) => (name: string) => {
  const dir = path.join(machine().work, name);
  fs.mkdirSync(dir);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: dir, stdio: 'pipe' });
  git('init', '-q');
  git('config', 'user.name', 'Ann Example');
  git('config', 'user.email', 'ann@example.com');
  const write = (file: string | Buffer, content: string | Buffer) =>
    fs.writeFileSync(
      typeof file === 'string' ? path.join(dir, file) : Buffer.concat([Buffer.from(`${dir}/`), file]),
      content,
    );
  const scan = (argv: string[], cwd = dir) => machine().svc(['scan', ...argv], { host: { cwd } });
  return { dir, git, write, scan };
};

/** The places that a scan reports. */
export const placesIn = ({ stdout }: { stdout: string }) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0]);
