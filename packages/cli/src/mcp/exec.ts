// run_command: runs a program with values in its environment or stdin. Invariants: a value is never passed as
// an argument; the program gets none of svc's own settings or credentials and no home of the user; when it
// exits or times out, its whole process group is killed. It can print a value in any form, so this tool
// exists only with --allow-run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { usage } from '../errors.ts';
import { exitCodeOf, notStarted } from '../run/child.ts';
import { searchPath } from '../run/search-path.ts';
import { isSteering } from '../run/steering.ts';
import { clean } from '../text.ts';
import { type Call, callOf, json, sorted } from './calls.ts';
import { checkUse } from './hosts.ts';
import { Gathered } from './output.ts';
import { allowedProgram, type Program } from './programs.ts';
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
  checkCommand(command, env);
  const file = allowedProgram(session.policy.programs, program);
  const cwd = directory(session.root, run.cwd);
  const names = referencesIn([...Object.values(env), stdin]);
  checkUse(names, session.policy, undefined);
  const values = await session.values(names, commandCall(session, run, file, cwd));
  const value = (name: string) => values.get(name) as string;
  const set = Object.entries(env).map(([name, text]) => [name, expand(text, value)] as const);
  for (const [name, text] of set)
    if (text.includes('\0')) throw usage(`${clean(name)} would contain a NUL byte, which variables cannot.`);
  const home = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'svc-home-'));
  try {
    const all = { ...childEnv(session.env, home), ...Object.fromEntries(set) };
    return await start(session, { ...run, stdin: expand(stdin, value) }, file, { cwd, env: all }, signal);
  } finally {
    removeHome(home);
  }
}

/** What an approval of this command covers: program, arguments, variables, stdin and directory. */
function commandCall(
  { root }: Session,
  { command, env = {}, stdin = '' }: Run,
  { file }: Program,
  cwd: string,
): Call {
  const names = Object.keys(env).sort();
  const parts = [
    json(command),
    `in ${json(path.relative(fs.realpathSync(root), cwd) || '.')}`,
    ...(names.length ? [`env ${names.join(' ')}`] : []),
    ...(stdin ? [`stdin of ${Buffer.byteLength(stdin)} bytes`] : []),
  ];
  return callOf('run_command', parts.join(' '), { command, file, env: sorted(env), stdin, cwd });
}

/** Deletes the home of a program. What it left running may still write there. */
function removeHome(home: string): void {
  try {
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // It holds nothing of the vault, and only this user can read it.
  }
}

function checkCommand(command: string[], env: Record<string, string>): void {
  const [program = ''] = command;
  if (!program || command.some((part) => part.includes('\0')))
    throw usage('command must be a program and its arguments.');
  // safety: mcp-argv
  if (command.some(hasReference))
    throw usage(
      'Secrets cannot be passed in arguments: every user of this machine can read arguments.',
      'Place it in env or stdin, and let the program read it there, such as sh -c \'curl -H "Authorization: Bearer $TOKEN" …\'',
    );
  for (const name of Object.keys(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw usage(`${clean(name)} is not a valid variable name.`);
    // safety: mcp-reserved
    if (isSteering(name)) throw usage(`${clean(name)} is reserved: it changes how programs run.`);
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

/** Variables that belong to svc, or lead to what the user has stored: directories, keychains and agents. */
const WITHHELD =
  /^(SVC_.*|XDG_.*|HOMEDRIVE|HOMEPATH|DBUS_SESSION_BUS_ADDRESS|SSH_AUTH_SOCK|GPG_AGENT_INFO|GNOME_KEYRING_CONTROL|PATH)$/i;

/**
 * The environment of a program: that of this process without what is withheld, and with an empty home. So
 * `svc get` in a command finds no stored sign-in. It guards against accidents only: a program runs as the
 * same user, and can read that user's files by their paths.
 */
function childEnv(own: NodeJS.ProcessEnv, home: string): NodeJS.ProcessEnv {
  const directory = (...names: string[]) => path.join(home, ...names);
  return {
    // safety: mcp-child-env
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !WITHHELD.test(name))),
    PATH: searchPath(own),
    // safety: mcp-child-home
    HOME: home,
    USERPROFILE: home,
    APPDATA: directory('AppData'),
    LOCALAPPDATA: directory('AppData'),
    XDG_CONFIG_HOME: directory('.config'),
    XDG_DATA_HOME: directory('.local', 'share'),
    XDG_STATE_HOME: directory('.local', 'state'),
    XDG_CACHE_HOME: directory('.cache'),
    XDG_RUNTIME_DIR: home,
    DBUS_SESSION_BUS_ADDRESS: 'disabled:',
    SVC_KEYCHAIN: 'off',
    SVC_TOKEN: 'withheld',
  };
}

async function start(
  session: Session,
  run: Run,
  program: Program,
  place: { cwd: string; env: NodeJS.ProcessEnv },
  signal: AbortSignal,
): Promise<Ran> {
  const [, ...args] = run.command;
  const ends = AbortSignal.any([signal, session.closing.signal]);
  ends.throwIfAborted();
  // A separate process group, so that its children are killed with it.
  const child = spawn(program.file, args, {
    ...place,
    argv0: program.name,
    stdio: 'pipe',
    shell: false,
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const stdout = new Gathered();
  const stderr = new Gathered();
  child.stdout.on('data', (chunk) => stdout.push(chunk));
  child.stderr.on('data', (chunk) => stderr.push(chunk));
  // It is not a failure if a program does not read its stdin.
  child.stdin.on('error', () => {});
  child.stdin.end(run.stdin);
  const ended = once(child, 'exit').catch((error) => {
    throw notStarted(program.name, error);
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
  return {
    exit_code: exitCodeOf(code, name),
    timed_out: timedOut,
    stdout: shown(stdout),
    stderr: shown(stderr),
  };
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
