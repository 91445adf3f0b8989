// svc scan --sarif: findings as one valid SARIF log, without values.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Schema, Validator } from '@cfworker/json-schema';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { type Machine, signedIn, succeeding } from '../harness.ts';

const SCHEMA = path.resolve(import.meta.dirname, '../../../../test/support/vectors/sarif-2.1.0.json');
const sarifSchema = JSON.parse(fs.readFileSync(SCHEMA, 'utf8'));
const AWS = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');
let machine: Machine;
const { ok } = succeeding(() => machine);
const set = (name: string, value: string) => ok(['set', name], { stdin: value });

beforeAll(async () => {
  ({ machine } = await signedIn());
});

describe('scan: SARIF', () => {
  const problemsOf = (log: object) =>
    new Validator(sarifSchema as Schema, '4', false).validate(log).errors.map(({ error }) => error);

  slow(
    'scan: --sarif prints one valid log for all requests, with paths from the repository root and without values',
    async () => {
      const repo = path.join(machine.work, 'scanned');
      fs.mkdirSync(path.join(repo, 'app dir', 'b'), { recursive: true });
      execFileSync('git', ['init', '-q'], { cwd: repo });
      await set('IN_CODE', 'an exact value in code');
      // Two requests with different rules.
      fs.writeFileSync(path.join(repo, 'app dir', 'a.txt'), `${AWS}\n${'x'.repeat(600_000)}`);
      fs.writeFileSync(
        path.join(repo, 'app dir', 'b', 'c.txt'),
        `"an exact value in code"\n${AWS}\n${'y'.repeat(600_000)}`,
      );
      execFileSync('git', ['add', '.'], { cwd: repo });
      const cwd = path.join(repo, 'app dir');
      for (const argv of [[], ['.'], ['a.txt', path.join(cwd, 'b')], ['--staged']]) {
        const { code, stdout } = await machine.svc(['scan', '--sarif', ...argv], { host: { cwd } });
        const log = JSON.parse(stdout);
        expect([code, log.runs.length, problemsOf(log)]).toEqual([9, 1, []]);
        const [{ tool, results }] = log.runs;
        // biome-ignore lint/suspicious/noExplicitAny: JSON.
        const found = results.map(({ ruleIndex, locations: [at] }: any) => [
          tool.driver.rules[ruleIndex].id,
          at.physicalLocation.artifactLocation.uri,
        ]);
        expect(found).toEqual([
          ['aws-access-key-id', 'app%20dir/a.txt'],
          ['stored-secret', 'app%20dir/b/c.txt'],
          ['aws-access-key-id', 'app%20dir/b/c.txt'],
        ]);
        expect(stdout).not.toContain(AWS);
        expect(stdout).not.toContain('an exact value');
      }
    },
  );

  it('scan: --sarif without findings prints a valid log without results', async () => {
    const empty = path.join(machine.work, 'empty');
    fs.mkdirSync(empty);
    for (const content of [null, 'nothing\n']) {
      if (content) fs.writeFileSync(path.join(empty, 'a.txt'), content);
      const { stdout } = await ok(['scan', '--sarif', '.'], { host: { cwd: empty } });
      const log = JSON.parse(stdout);
      expect([log.runs[0].results, problemsOf(log)]).toEqual([[], []]);
    }
  });
});
