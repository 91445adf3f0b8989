// At a terminal: prompts that hide typed secrets, confirmations, and the terminal's own signals. script(1)
// provides the terminal.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { BIN, type Machine, signedIn, until } from '../harness.ts';

const hasScript = spawnSync('script', ['--version']).status === 0;
let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
});

/** Runs svc at a terminal. Each answer is typed once its prompt is shown. */
async function atTerminal(argv: string[], answers: [shown: string, typed: string][]) {
  const line = [process.execPath, BIN, ...argv].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
    cwd: machine.work,
    env: { ...machine.env, TERM: 'xterm' },
    stdio: 'pipe',
  });
  let screen = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (screen += data));
  const ended = new Promise<number>((done) => child.once('close', (code) => done(code ?? -1)));
  for (const [shown, typed] of answers) {
    await until(() => screen.includes(shown));
    child.stdin.write(typed);
  }
  return { code: await ended, screen };
}

describe.skipIf(!hasScript)('terminal', () => {
  it('prompt: a typed value is stored, and never shown', async () => {
    const { code, screen } = await atTerminal(['set', 'TYPED'], [['Value of TYPED', 'horse-staple\r']]);
    expect({ code, screen }).toMatchObject({ code: 0 });
    expect(screen).not.toContain('horse');
    expect((await machine.svc(['get', 'TYPED'])).stdout).toBe('horse-staple');
  });

  it('init: pressing Enter does not choose production, although it is the default', async () => {
    const { code } = await atTerminal(['init'], [['Environment:', '\r']]);
    const file = path.join(machine.work, '.svc.json');
    const { environment } = JSON.parse(fs.readFileSync(file, 'utf8'));
    fs.rmSync(file);
    expect([code, environment]).toEqual([0, 'development']);
  });

  it('set: nothing typed at the prompt is not stored as a value', async () => {
    const { code, screen } = await atTerminal(['set', 'NOTHING'], [['Value of NOTHING', '\r']]);
    expect([code, screen]).toEqual([2, expect.stringContaining('The value is empty')]);
  });

  it('prompt: a paste of several lines is refused, and does not reach the shell', async () => {
    const { code, screen } = await atTerminal(['set', 'PASTED'], [['Value of PASTED', 'one\recho two\r']]);
    expect(code).toBe(2);
    expect(screen).toContain('accepts only one line');
    expect((await machine.svc(['get', 'PASTED'])).code).toBe(5);
  });

  slow(
    'confirmation: no is the default, the prompt names the secret, and a new value in production needs confirmation',
    async () => {
      await machine.svc(['set', 'KEPT'], { stdin: 'one' });
      const declined = await atTerminal(['delete', 'KEPT'], [['Continue?', '\r']]);
      expect(declined.code).toBe(1);
      expect(declined.screen).toContain('KEPT in production (version 1)');
      const replaced = await atTerminal(
        ['set', 'KEPT'],
        [
          ['Value of', 'two\r'],
          ['Continue?', 'y'],
        ],
      );
      expect(replaced.code).toBe(0);
      expect((await machine.svc(['get', 'KEPT'])).stdout).toBe('two');
      const kept = await atTerminal(
        ['set', 'KEPT'],
        [
          ['Value of', 'three\r'],
          ['Continue?', 'n'],
        ],
      );
      expect(kept.code).toBe(1);
      expect((await machine.svc(['get', 'KEPT'])).stdout).toBe('two');
    },
  );

  it('interrupt: Ctrl-C at a prompt exits with 130; during svc run it reaches the command once', async () => {
    expect((await atTerminal(['set', 'NEVER'], [['Value of', '\u0003']])).code).toBe(130);
    const script =
      'let n = 0; process.on("SIGINT", () => { n++; setTimeout(() => { console.log("interrupts " + n); process.exit(5); }, 300); }); console.log("ready"); setInterval(() => {}, 1000)';
    const ran = await atTerminal(['run', '--', process.execPath, '-e', script], [['ready', '\u0003']]);
    expect(ran.code).toBe(5);
    expect(ran.screen).toContain('interrupts 1');
  });
});
