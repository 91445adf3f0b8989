// The commands, in the order of the help. A command's file is loaded when the command runs, so that the others cost nothing.
import type { Command, Group } from '../command.ts';

export interface Entry {
  section: 'Start' | 'Secrets' | 'Access' | 'Operations';
  summary: string;
  load(): Promise<{ default: Command | Group }>;
}

export const COMMANDS: Record<string, Entry> = {
  login: { section: 'Start', summary: 'Sign in to a vault', load: () => import('./login.ts') },
  logout: { section: 'Start', summary: 'Sign out, and forget the stored credential', load: () => import('./logout.ts') },
  whoami: { section: 'Start', summary: 'Show who is signed in, and what they may do', load: () => import('./whoami.ts') },
  init: { section: 'Start', summary: 'Choose organisation and environment for a directory', load: () => import('./init.ts') },
  run: { section: 'Secrets', summary: 'Run a command with secrets in its environment', load: () => import('./run.ts') },
  get: { section: 'Secrets', summary: 'Print the value of a secret', load: () => import('./get.ts') },
  set: { section: 'Secrets', summary: 'Create a secret, or give it a new value', load: () => import('./set.ts') },
  list: { section: 'Secrets', summary: 'List secrets, without their values', load: () => import('./list.ts') },
};
