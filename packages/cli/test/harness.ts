// One machine for a test of svc: a directory, its own configuration, and the output of commands.
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, inject } from 'vitest';
import { newOrg } from '../../../test/packages/vault.mjs';
import type { Host } from '../src/host.ts';
import { svc } from '../src/program/cli.ts';

export const BIN = path.resolve(import.meta.dirname, '..', 'bin', 'svc.js');

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at.
  json: any;
}

export interface Given {
  stdin?: string;
  env?: NodeJS.ProcessEnv;
  /** Whether stdout is a terminal. */
  terminal?: boolean;
  host?: Partial<Host>;
}

export class Machine {
  readonly dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'svc-')));
  readonly home = path.join(this.dir, 'home');
  readonly work = path.join(this.dir, 'work');
  env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    fs.mkdirSync(this.home);
    fs.mkdirSync(this.work);
    this.env = { PATH: process.env.PATH, HOME: this.home, SVC_KEYCHAIN: 'off', ...env };
  }

  get config(): string {
    return path.join(this.home, '.config', 'svc');
  }

  /** Runs svc in this process. */
  async svc(argv: string[], given: Given = {}): Promise<Ran> {
    const sink = () => {
      const stream = new PassThrough();
      const chunks: Buffer[] = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      return { stream, text: () => Buffer.concat(chunks).toString() };
    };
    const stdout = sink();
    const stderr = sink();
    const stdin = new PassThrough();
    stdin.end(given.stdin ?? '');
    const host: Host = {
      env: { ...this.env, ...given.env },
      cwd: this.work,
      stdin,
      stdout: Object.assign(stdout.stream, { isTTY: given.terminal }),
      stderr: stderr.stream,
      keychain: async () => undefined,
      openBrowser: async () => {},
      ...given.host,
    };
    const code = await svc(argv, host);
    await new Promise((done) => setImmediate(done));
    const text = stdout.text();
    return {
      code,
      stdout: text,
      stderr: stderr.text(),
      get json() {
        return JSON.parse(text || stderr.text());
      },
    };
  }

  /** Starts the built svc as a process. */
  spawn(
    argv: string[],
    given: Given = {},
  ): ChildProcess & { done: Promise<Ran>; said: () => string; complained: () => string } {
    const child = spawn(process.execPath, [BIN, ...argv], {
      cwd: this.work,
      env: { ...this.env, ...given.env },
      stdio: 'pipe',
    });
    const texts = { stdout: '', stderr: '' };
    child.stdout.on('data', (data) => (texts.stdout += data));
    child.stderr.on('data', (data) => (texts.stderr += data));
    child.stdin.end(given.stdin ?? '');
    const done = new Promise<Ran>((ended) =>
      child.once('close', (code, signal) => ended({ code: code ?? -1, ...texts, json: signal })),
    );
    return Object.assign(child, { done, said: () => texts.stdout, complained: () => texts.stderr });
  }

  write(name: string, text: string): string {
    const file = path.join(this.work, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }
}

/** A machine that is signed in to a new organisation with its first API key. */
export async function signedIn(): Promise<{ machine: Machine; url: string; org: string; key: string }> {
  const { url, org, key } = await newOrg(inject('vaultUrl'));
  const machine = new Machine();
  const { code, stderr } = await machine.svc(['login', '--url', url, '--key-stdin'], { stdin: `${key}\n` });
  if (code !== 0) throw new Error(stderr);
  return { machine, url, org, key };
}

/**
 * Runs commands that must succeed, on the machine of a test file: `ok` returns what a command printed, `json`
 * its JSON.
 */
export function succeeding(machine: () => Machine) {
  const ok = async (argv: string[], given?: Given): Promise<Ran> => {
    const ran = await machine().svc(argv, given);
    expect(ran.code, ran.stderr).toBe(0);
    return ran;
  };
  const json = async (argv: string[], given?: Given) => (await ok([...argv, '--json'], given)).json;
  return { ok, json };
}

/** Polls until a condition holds: another process gives no event to wait for. */
export async function until(holds: () => boolean | Promise<boolean>, within = 60_000): Promise<void> {
  for (const end = Date.now() + within; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('it did not come to hold');
}
