// run_command: runs a program with values in its environment or stdin. Invariants: a value is never passed as an argument; the program gets
// none of svc's own settings or credentials; when it exits or times out, its whole process group is killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { usage } from '../errors.ts';
import { exitCodeOf, notStarted } from '../run/child.ts';
import { isReserved } from '../run/reserved.ts';
import { clean } from '../text.ts';
import { checkBindings } from './hosts.ts';
import { Gathered } from './output.ts';
import { expand, hasReference, referencesIn } from './references.ts';
import type { Session } from './session.ts';

export interface Run {
  command: string[];
  env?: Record<string, string>;
  stdin?: string;
  cwd?: string;
  timeout: number;
  characters: number;
}

export interface Ran {
  exit_code: number;
  timed_out: boolean;
  stdout: string;
  stderr: string;
}

/** How long a program may take to exit after SIGTERM. */
const GRACE = 1_000;
/** How long pipes are read after the program has exited: a process that it left behind may hold them open. */
const DRAIN = 300;

/** Runs a program. */
export async function runCommand(session: Session, run: Run, signal: AbortSignal): Promise<Ran> {
  const { command, env = {}, stdin = '' } = run;
  const [program = ''] = command;
  checkCommand(session, command, env);
  const cwd = directory(session.root, run.cwd);
  const names = referencesIn([...Object.values(env), stdin]);
  checkBindings(names, session.policy.bindings);
  const values = await session.values(names, session.reasonFor('run_command', path.basename(program)));
  const value = (name: string) => values.get(name) as string;
  const set = Object.entries(env).map(([name, text]) => [name, expand(text, value)] as const);
  for (const [name, text] of set) if (text.includes('\0')) throw usage(`${clean(name)} would contain a NUL byte, which variables cannot.`);
  return start(session, { ...run, stdin: expand(stdin, value) }, { ...childEnv(session.env), ...Object.fromEntries(set) }, cwd, signal);
}

function checkCommand({ policy }: Session, command: string[], env: Record<string, string>): void {
  const [program = ''] = command;
  if (!program || command.some((part) => part.includes('\0'))) throw usage('command must be a program and its arguments.');
  // safety: mcp-argv
  if (command.some(hasReference))
    throw usage(
      'Secrets cannot be passed in arguments: every user of this machine can read arguments.',
      'Place it in env or stdin, and let the program read it there, such as sh -c \'curl -H "Authorization: Bearer $TOKEN" …\'',
    );
  // safety: mcp-allow-command
  if (policy.commands && !policy.commands.includes(program))
    throw usage(`${clean(program)} is not allowed on this server. Allowed programs: ${policy.commands.map(clean).join(', ')}.`);
  for (const name of Object.keys(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw usage(`${clean(name)} is not a valid variable name.`);
    // safety: mcp-reserved
    if (isReserved(name)) throw usage(`${clean(name)} is reserved: it changes how programs run.`);
  }
}

/** A directory within the directory that the server was started in. */
function directory(root: string, within = '.'): string {
  const real = fs.realpathSync(root);
  let dir: string;
  try {
    dir = fs.realpathSync(path.resolve(real, within));
  } catch {
    throw usage('cwd is not a directory.');
  }
  // safety: mcp-cwd
  if (dir !== real && !dir.startsWith(real.endsWith(path.sep) ? real : `${real}${path.sep}`))
    throw usage('cwd must be within the directory of this server.');
  return dir;
}

/**
 * The part of this process's environment that a program gets: nothing that belongs to svc. SVC_TOKEN is set to an invalid token, so that `svc
 * get` in a command does not use a stored credential and print values that this server would have masked.
 */
function childEnv(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // safety: mcp-child-env
  return { ...Object.fromEntries(Object.entries(own).filter(([name]) => !/^SVC_/i.test(name))), SVC_TOKEN: 'withheld' };
}

async function start(session: Session, run: Run, env: NodeJS.ProcessEnv, cwd: string, signal: AbortSignal): Promise<Ran> {
  const [program = '', ...args] = run.command;
  const ends = AbortSignal.any([signal, session.closing.signal]);
  ends.throwIfAborted();
  // A separate process group, so that its children are killed with it.
  const child = spawn(program, args, { cwd, env, stdio: 'pipe', shell: false, detached: process.platform !== 'win32', windowsHide: true });
  const [stdout, stderr] = [new Gathered(), new Gathered()];
  child.stdout.on('data', (chunk) => stdout.push(chunk));
  child.stderr.on('data', (chunk) => stderr.push(chunk));
  // It is not a failure if a program does not read its stdin.
  child.stdin.on('error', () => {});
  child.stdin.end(run.stdin);
  const ended = once(child, 'exit').catch((error) => {
    throw notStarted(program, error);
  });
  const closed = once(child, 'close').catch(() => {});
  const { isOver, timedOut } = await within(child, ended, run.timeout * 1000, ends);
  const [code, name] = isOver;
  // safety: mcp-process-group
  killGroup(child, 'SIGKILL');
  await Promise.race([closed, sleep(DRAIN)]);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  ends.throwIfAborted();
  const shown = (gathered: Gathered) => gathered.shown(session, run.characters);
  return { exit_code: exitCodeOf(code, name), timed_out: timedOut, stdout: shown(stdout), stderr: shown(stderr) };
}

/** Waits until the program exits, and stops it on timeout or when the call is aborted. */
async function within(child: ChildProcess, ended: Promise<unknown[]>, most: number, signal: AbortSignal) {
  let timedOut = false;
  let hard: NodeJS.Timeout | undefined;
  const stop = () => {
    killGroup(child, 'SIGTERM');
    hard ??= setTimeout(() => killGroup(child, 'SIGKILL'), GRACE);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, most);
  signal.addEventListener('abort', stop);
  try {
    return { isOver: (await ended) as [number | null, NodeJS.Signals | null], timedOut };
  } finally {
    clearTimeout(timer);
    clearTimeout(hard);
    signal.removeEventListener('abort', stop);
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (!child.pid) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group is already empty.
  }
}
