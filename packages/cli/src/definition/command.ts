// The definition of a command: its arguments, options, examples and code. Help, the reference page and
// completions are generated from it.
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { clean, secondsOf } from '../text.ts';

export interface OptionSpec {
  description: string;
  choices?: readonly string[];
  parse?: (text: string, flag: string) => unknown;
  /** May be given several times. Any other option that holds one value is refused the second time. */
  repeat?: boolean;
  /**
   * Has a meaning if it is empty. Otherwise it is refused then: it may be a variable of a script that is not
   * set.
   */
  empty?: boolean;
}

/** The configuration a command needs. It decides which common options the command has. */
export type Needs = 'nothing' | 'vault' | 'environment';

export interface Input<Options> {
  /** All commands. */
  commands: Commands;
  /** Arguments, in order. */
  args: string[];
  /** The values of `[name...]`. */
  rest: string[];
  options: Options;
}

// biome-ignore lint/suspicious/noExplicitAny: each command types its own options.
export interface Command<Options = any> {
  needs: Needs;
  /** In the syntax of commander: `<name>`, `[file]`, `<names...>`. */
  args?: Record<string, string>;
  /** By flags, in the syntax of commander. */
  options?: Record<string, string | OptionSpec>;
  /** Command lines without `svc`, and what they do. At least one. */
  examples: Record<string, string>;
  /** More paragraphs for the help. */
  notes?: string[];
  /** What its arguments name, for completion. */
  completes?: 'secrets' | 'deleted' | 'environments';
  /** Options end at the first argument: the rest belongs to another program. */
  passThrough?: boolean;
  /** Whether the command asks before it destroys something, and therefore accepts --yes. */
  confirms?: boolean;
  run(context: Context, input: Input<Options>): Promise<Outcome>;
}

/** The exit code, if it is not 0. */
export type Outcome = number | undefined;

export interface Group {
  commands: Record<string, Command & { summary: string }>;
}

export interface Entry {
  section: 'Start' | 'Secrets' | 'Access' | 'Operations';
  summary: string;
  load(): Promise<{ default: Command | Group }>;
}

export type Commands = Record<string, Entry>;

export const isGroup = (command: Command | Group): command is Group => 'commands' in command;

/** A command with its options typed. */
export const command = <Options = Record<never, never>>(spec: Command<Options>): Command => spec;

/** A command in a group. */
export const member = <Options = Record<never, never>>(
  summary: string,
  spec: Command<Options>,
): Command & { summary: string } => ({
  summary,
  ...spec,
});

// ---------------------------------------------------------------- option parsers

export function duration(text: string, flag: string): number {
  const seconds = secondsOf(text);
  if (!seconds) throw usage(`${flag} takes a duration such as 90s, 15m, 12h or 7d.`);
  return seconds;
}

export function count(text: string, flag: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`${flag} takes a whole number greater than 0.`);
  return Number(text);
}

/** A comma-separated list. */
export function list(text: string, flag: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes('')) throw usage(`${flag} has an empty entry.`);
  return parts;
}

/** Takes texts of one form. @param what what such a text is */
export const formed =
  (form: RegExp, what: string) =>
  (text: string, flag: string): string => {
    if (!form.test(text)) throw usage(`${flag} must be ${what}.`);
    return text;
  };

export function tag(text: string, flag: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`${flag} takes KEY=VALUE.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** `key=value` entries as an object. */
export function tagsOf(
  entries: [string, string][] | undefined,
  flag: string,
): Record<string, string> | undefined {
  if (!entries) return undefined;
  const keys = entries.map(([key]) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  if (twice !== undefined) throw usage(`${flag} has ${clean(twice)} twice.`);
  return Object.fromEntries(entries);
}

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** An ISO 8601 time, or a duration before now. A number alone is neither: it could be a year. */
export function moment(text: string, flag: string): string {
  const ago = /[a-z]$/.test(text) ? secondsOf(text) : undefined;
  const time = ago === undefined ? timeOf(text) : new Date(Date.now() - ago * 1000);
  if (!time || Number.isNaN(time.getTime()))
    throw usage(`${flag} takes a time such as 2026-01-31T12:00:00Z, or a duration before now such as 2h.`);
  return time.toISOString();
}

/** Date takes far more than these forms, and makes the 30th of February a day in March. */
function timeOf(text: string): Date | undefined {
  const [, day] = TIME.exec(text) ?? [];
  if (!day || !Number.isFinite(Date.parse(day)) || !new Date(day).toISOString().startsWith(day))
    return undefined;
  return new Date(text);
}
