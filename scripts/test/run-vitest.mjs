// Runs tests from a script and reads their results. Invariant: no process of a run outlives the script.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * @typedef {object} Run
 * @property {string[]} passed Names of the tests that passed.
 * @property {string} [failed] The name of a test that failed.
 * @property {string} [why] What it said; or, without `failed`, why the tests did not run to their end.
 * @property {number} ms
 */

/**
 * Runs the project in `dir` up to the first failure.
 * @param {string} dir
 * @param {{ files: string[], named: string, env: Record<string, string>, patience?: number, config?: string
 *   }} what `named`: a pattern of names; `patience`: milliseconds after which the run counts as hung;
 *   `config`: instead of vitest.config.ts.
 * @returns {Promise<Run>}
 */
export async function runTests(dir, { files, named, env, patience, config }) {
  const started = Date.now();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-vitest-'));
  const report = path.join(folder, 'report.json');
  const args = [
    'run',
    ...files,
    `--testNamePattern=${named}`, // it may begin with a dash
    '--bail',
    '1',
    '--reporter',
    'json',
    '--outputFile',
    report,
    ...(config ? ['--config', config] : []),
  ];
  const child = spawn(process.execPath, [path.join(dir, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: dir,
    env: { ...process.env, ...env },
    stdio: 'ignore',
    detached: true, // a group of its own, so that its workers can be ended with it
  });
  const end = () => {
    if (child.pid) process.kill(-child.pid, 'SIGKILL');
  };
  const clear = () => fs.rmSync(folder, { recursive: true, force: true });
  process.on('exit', end).on('exit', clear);
  let hung = false;
  const hang = () => {
    hung = true;
    end();
  };
  const timer = patience && setTimeout(hang, patience);
  await new Promise((done) => child.on('error', done).on('close', done));
  clearTimeout(timer);
  process.off('exit', end).off('exit', clear);
  const results = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : null;
  clear();
  return { ...resultOf(results, hung), ms: Date.now() - started };
}

/** @returns {Omit<Run, 'ms'>} */
function resultOf(results, hung) {
  if (hung) return { passed: [], failed: 'the run', why: 'it does not end' };
  if (!results) return { passed: [], why: 'the tests did not start' };
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed) return { passed, failed: failed.fullName, why: failed.failureMessages.join('\n') };
  return results.success
    ? { passed }
    : { passed, why: results.testResults.find(({ message }) => message)?.message || 'the tests did not run' };
}
