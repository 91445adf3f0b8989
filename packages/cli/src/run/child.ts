// The child of svc run. Invariants: values are in its environment and nowhere else; signals reach it; it never outlives a stop; and svc ends
// with its exit code, or 128 and the signal's number.
import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { CliError, usage } from '../errors.ts';
import { clean } from '../text.ts';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
/** What a terminal sends to every process of the foreground by itself. */
const BY_TERMINAL: readonly string[] = ['SIGINT', 'SIGQUIT', 'SIGWINCH'];

/** How a program ended, as an exit code. */
export const exitCodeOf = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal ? os.constants.signals[signal] : 0);

export class Child {
  private readonly process: ChildProcess;
  /** Its exit code, once it has ended. */
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

  get pid(): number | undefined {
    return this.process.pid;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isOver) this.process.kill(name);
  }

  /** Asks it to end, and ends it after `grace` milliseconds. Resolves once it has ended. */
  async stop(grace: number): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), grace);
    await this.ended.catch(() => {});
    clearTimeout(timer);
  }
}

/** Passes signals on to whichever child there is. Returns how to stop that. */
export function forwardSignals(isTerminal: boolean, child: () => Child | undefined): () => void {
  const handlers = FORWARDED.map((name) => {
    const handler = () => {
      if (!(isTerminal && BY_TERMINAL.includes(name))) child()?.signal(name);
    };
    process.on(name, handler);
    return () => process.off(name, handler);
  });
  return () => {
    for (const off of handlers) off();
  };
}

/** Exit codes of shells: 127 for a command that is not there, 126 for one that cannot be run. */
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
  if (error.code === 'ENOENT') return new NotStarted(`There is no command ${name}.`, 127, 'Check its name and PATH');
  if (error.code === 'E2BIG') return usage('The secrets are too large for an environment.', 'Narrow them with --prefix or --only');
  return new NotStarted(`The command ${name} cannot be run (${error.code}).`, 126);
}
