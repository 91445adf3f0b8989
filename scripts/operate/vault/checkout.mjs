// What this checkout is: its version, its commit, and the version to which it takes the storage of gates.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { STORAGE_VERSION } from '../../../src/gate/storage-version.ts';
import { root } from '../../shared/wrangler.mjs';

/** @param {string[]} args */
function git(args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * The commit of this checkout, in 12 characters, with `-changed` if tracked files differ from it; '' without
 * git.
 */
export function commitHere() {
  const top = git(['rev-parse', '--show-toplevel']);
  // A copy may lie in a repository of something else.
  if (!top || fs.realpathSync(top) !== fs.realpathSync(root)) return '';
  const commit = git(['rev-parse', '--short=12', 'HEAD']);
  return commit ? `${commit}${git(['status', '--porcelain', '--untracked-files=no']) ? '-changed' : ''}` : '';
}

/** The version of this checkout, with its commit as build metadata. @param {string} commit */
export function releaseHere(commit) {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  return commit ? `${version}+${commit}` : version;
}

/** What a deployed version says of itself. @param {string} release */
export const messageOf = (release) => `${release}, gate storage ${STORAGE_VERSION}`;

/**
 * The version of gates' storage in such a message; null if it says nothing.
 * @param {string | undefined} message
 */
export function storageIn(message) {
  const found = /, gate storage (\d+)$/.exec(message ?? '');
  return found ? Number(found[1]) : null;
}

export { STORAGE_VERSION };
