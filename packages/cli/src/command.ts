// The form of a command: what it takes, an example, and what it does. Help, the reference page and completions are made from it.
import type { Context } from './context.ts';
import { usage } from './errors.ts';
import { secondsOf } from './text.ts';

export interface OptionSpec {
  description: string;
  choices?: readonly string[];
  parse?: (text: string, flag: string) => unknown;
  /** May be given several times. */
  repeat?: boolean;
}

/** What a command needs of the configuration, and so which common options it has. */
export type Needs = 'nothing' | 'vault' | 'environment';

export interface Input<Options> {
  /** Arguments in their order. */
  args: string[];
  /** What `[name...]` takes. */
  rest: string[];
  options: Options;
}

// biome-ignore lint/suspicious/noExplicitAny: each command types its own options.
export interface Command<Options = any> {
  needs: Needs;
  /** As commander spells them: `<name>`, `[file]`, `<names...>`. */
  args?: Record<string, string>;
  /** By their flags, as commander spells them. */
  options?: Record<string, string | OptionSpec>;
  /** Command lines without `svc`, and what they do. One at least. */
  examples: Record<string, string>;
  /** Further paragraphs of the help. */
  notes?: string[];
  /** Options end at the first argument: what follows belongs to another program. */
  passThrough?: boolean;
  /** Whether it asks before it destroys something, and so takes --yes. */
  confirms?: boolean;
  run(context: Context, input: Input<Options>): Promise<Outcome>;
}

/** An exit code, where it is not 0. */
export type Outcome = number | undefined;

export interface Group {
  commands: Record<string, Command & { summary: string }>;
}

export const isGroup = (command: Command | Group): command is Group => 'commands' in command;

/** A command with its options typed. */
export const command = <Options = Record<never, never>>(spec: Command<Options>): Command => spec;

/** A command of a group. */
export const member = <Options = Record<never, never>>(summary: string, spec: Command<Options>): Command & { summary: string } => ({
  summary,
  ...spec,
});

// ---------------------------------------------------------------- parsers of options

export function duration(text: string, flag: string): number {
  const seconds = secondsOf(text);
  if (!seconds) throw usage(`${flag} takes a duration such as 90s, 15m, 12h or 7d.`);
  return seconds;
}

export function count(text: string, flag: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`${flag} takes a whole number above 0.`);
  return Number(text);
}

/** A comma-separated list. */
export const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

export function tag(text: string, flag: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`${flag} takes KEY=VALUE.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** A time in ISO 8601, or how long ago. */
export function moment(text: string, flag: string): string {
  const ago = secondsOf(text);
  const time = ago === undefined ? new Date(text) : new Date(Date.now() - ago * 1000);
  if (Number.isNaN(time.getTime())) throw usage(`${flag} takes a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h.`);
  return time.toISOString();
}
