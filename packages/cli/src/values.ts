// Values that go in: from a prompt or stdin, or made by the vault. Invariant: none comes from an argument, and a generated one is shown
// only where it was asked for.
import { count, type OptionSpec } from './command.ts';
import type { CommonOptions, Context } from './context.ts';
import { usage } from './errors.ts';
import { askSecret, canAsk, readStdin, withoutEchoedBreak } from './prompts.ts';
import { type SecretInfo, valueInArgument } from './secrets.ts';

export interface ValueOptions extends CommonOptions {
  generate?: boolean;
  length?: number;
  charset?: string;
  show?: boolean;
  raw?: boolean;
}

/** Takes what should not be there, so that it can be refused with what to do. */
export const VALUE_ARGUMENT = { '[value...]': 'refused: a value never stands on the command line' };

export const VALUE_OPTIONS: Record<string, string | OptionSpec> = {
  '--generate': 'let the vault generate the value',
  '--length <n>': { description: 'characters to generate', parse: count },
  '--charset <set>': 'what they are: alphanumeric, letters, digits, hex, base64url, ascii, or the characters themselves',
  '--show': 'print a generated value',
  '--raw': 'keep every byte of stdin, a last line break too',
};

export const VALUE_NOTE =
  'A value of one line from stdin loses its last line break, which echo adds. A value of several lines stays as it is.';

/** Refuses values in arguments, and options that mean nothing together. */
export function checkValueOptions({ generate, length, charset, show, raw }: ValueOptions, extra: string[]): void {
  // safety: cli-value-in-argv
  if (extra.length > 0) throw valueInArgument();
  if (!generate && (length || charset || show)) throw usage('--length, --charset and --show go with --generate.');
  if (generate && raw) throw usage('--raw is for a value from stdin, not with --generate.');
}

/** The value that a person types or a program sends. */
export async function givenValue(context: Context, name: string, raw: boolean): Promise<string> {
  if (canAsk(context.host)) return askSecret(context.host, `Value of ${name}:`);
  if (context.host.stdin.isTTY) throw usage('There is no value.', 'Pass it through stdin: svc set NAME < FILE');
  const text = await readStdin(context.host, 'The value');
  const value = raw ? text : withoutEchoedBreak(text);
  if (value === '') throw usage('stdin is empty.', 'Pass the value through stdin: svc set NAME < FILE');
  return value;
}

/** Reports a secret whose value may have been generated. */
export function reportGenerated(
  { out }: Context,
  { show }: ValueOptions,
  word: string,
  data: SecretInfo & { value?: string | null },
): void {
  const { value, ...shown } = data;
  out.result(show ? data : shown, () => {
    out.success(`${word} ${shown.name} in ${shown.environment}, version ${shown.version}.`);
    if (show && value) out.line(value);
  });
}

/** How a change in production is put to a person. */
export const replaces = ({ name, environment, version }: SecretInfo): string =>
  `${name} in ${environment} gets a new value, after version ${version}.`;
