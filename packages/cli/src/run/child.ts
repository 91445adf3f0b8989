// The child of svc run. Invariants: values are only in its environment; signals are forwarded to it; it never
// survives a stop; svc exits with its exit code, or 128 plus the signal number.
import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { CliError, usage } from '../errors.ts';
import { clean } from '../text.ts';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
/** Signals that ask a program to end. */
const ENDING: readonly string[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** Signals that the terminal already sends to every foreground process. */
const BY_TERMINAL: readonly string[] = ['SIGINT', 'SIGQUIT', 'SIGWINCH'];

/** The exit code of a program that exited or was terminated by a signal. */
export const exitCodeOf = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal ? os.constants.signals[signal] : 0);

export class Child {
  private readonly process: ChildProcess;
  /** Resolves to its exit code. */
  readonly ended: Promise<number>;
  private isOver = false;

  constructor(command: string[], env: NodeJS.ProcessEnv, cwd: string) {
    const [file = '', ...args] = command;
    // No shell: neither arguments nor values are parsed again.
    this.process = spawn(file, args, { env, cwd, stdio: 'inherit', shell: false, windowsHide: false });
    this.ended = new Promise((done, fail) => {
      this.process.once('error', (error: NodeJS.ErrnoException) => {
        this.isOver = true;
        fail(notStarted(file, error));
      });
      this.process.once('exit', (code, signal) => {
        this.isOver = true;
        done(exitCodeOf(code, signal));
      });
    });
    this.ended.catch(() => {});
  }

  get hasEnded(): boolean {
    return this.isOver;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isOver) this.process.kill(name);
  }

  /** Sends SIGTERM, and SIGKILL after `grace` milliseconds. Resolves once the child has exited. */
  async stop(grace: number): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), grace);
    await this.ended.catch(() => {});
    clearTimeout(timer);
  }
}

/**
 * Forwards signals to the current child.
 * @param onEnd called with each signal that asks svc to end
 * @returns a function that stops forwarding
 */
export function forwardSignals(
  isTerminal: boolean,
  child: () => Child | undefined,
  onEnd: (signal: NodeJS.Signals) => void = () => {},
): () => void {
  const handlers = FORWARDED.map((name) => {
    const handler = () => {
      if (ENDING.includes(name)) onEnd(name);
      if (!(isTerminal && BY_TERMINAL.includes(name))) child()?.signal(name);
    };
    process.on(name, handler);
    return () => process.off(name, handler);
  });
  return () => {
    for (const off of handlers) off();
  };
}

/** Exit codes as in shells: 127 for a command that does not exist, 126 for one that cannot be run. */
export class NotStarted extends CliError {
  constructor(
    message: string,
    readonly exitCode: 126 | 127,
    next?: string,
  ) {
    super(message, { exit: 'failure', code: 'NOT_STARTED', next });
  }
}

export function notStarted(file: string, error: NodeJS.ErrnoException): CliError {
  const name = clean(file);
  if (error.code === 'ENOENT')
    return new NotStarted(`The command ${name} does not exist.`, 127, 'Check the name and PATH');
  if (error.code === 'E2BIG')
    return usage(
      'The secrets are too large for the environment of a process.',
      'Select fewer with --prefix or --only',
    );
  return new NotStarted(`The command ${name} cannot be run (${error.code}).`, 126);
}
