// The machine as a command sees it: streams, variables, directory. Tests pass their own.
import type { Readable, Writable } from 'node:stream';
import { type Keychain, systemKeychain } from './settings/store.ts';

export type Input = Readable & { isTTY?: boolean };
export type Sink = Writable & { isTTY?: boolean; columns?: number };

export interface Host {
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdin: Input;
  stdout: Sink;
  stderr: Sink;
  fetch?: typeof fetch;
  keychain(): Promise<Keychain | undefined>;
  /** Opens an address in a browser, if there is one. */
  openBrowser(url: string): Promise<void>;
}

/** The real machine. */
export const thisMachine = (): Host => ({
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  keychain: () => systemKeychain(process.env),
  async openBrowser(url) {
    const { default: open } = await import('open');
    const child = await open(url);
    child.on('error', () => {});
    child.unref();
  },
});
