// A directory in memory for the temporary files of tests: the runtime waits for the disk at each commit, and
// tests do not need that. Invariant: it is only used where it has room for a whole run, and programs in it
// run.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const ROOM = 4 * 2 ** 30;

/** What a run of tests adds to its environment. @param {string} [dir] @returns {{ TMPDIR?: string }} */
export function inMemory(dir = '/dev/shm') {
  try {
    const { bavail, bsize } = fs.statfsSync(dir);
    if (bavail * bsize < ROOM || os.freemem() < ROOM) return {};
    return runsPrograms(dir) ? { TMPDIR: dir } : {};
  } catch {
    return {};
  }
}

/** Whether files in a directory can be run, which a mount may forbid. @param {string} dir */
function runsPrograms(dir) {
  const own = fs.mkdtempSync(path.join(dir, 'svs-try-'));
  try {
    const program = path.join(own, 'program');
    fs.writeFileSync(program, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    fs.rmSync(own, { recursive: true, force: true });
  }
}
