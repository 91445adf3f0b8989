// Interactive prompts. Invariants: prompts are shown only in an interactive terminal; a typed secret is not
// shown; a prompt is written to stderr, so that stdout holds only the result.
import { CliError, usage } from '../errors.ts';
import type { Host, Input, Sink } from '../host.ts';
import { clean } from '../text.ts';

const interrupted = () => new CliError('Interrupted.', { exit: 'interrupted', code: 'INTERRUPTED' });

/** Whether there is an interactive terminal for prompts. */
export const canAsk = ({ stdin, stderr }: Host): boolean => Boolean(stdin.isTTY && stderr.isTTY);

/** The streams of a prompt. A terminal of unknown width gets 80 columns. */
function streams({ stdin, stderr }: Host) {
  if (!stderr.columns) Object.defineProperty(stderr, 'columns', { value: 80, configurable: true });
  return { input: stdin as Input & NodeJS.ReadStream, output: stderr as Sink & NodeJS.WriteStream };
}

async function answer<Value>(asked: Promise<Value | symbol>): Promise<Value> {
  const given = await asked;
  if (typeof given === 'symbol') throw interrupted();
  return given as Value;
}

export async function ask(host: Host, message: string, initial?: string): Promise<string> {
  const { text } = await import('@clack/prompts');
  return (
    (await answer<string>(text({ message: clean(message), initialValue: initial, ...streams(host) }))) ?? ''
  );
}

/** A yes-or-no question; no is the default. */
export async function askYesNo(host: Host, message: string): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  return answer<boolean>(confirm({ message: clean(message), initialValue: false, ...streams(host) }));
}

/**
 * A secret, typed or pasted on one line. Further pasted lines would be lost or reach the shell: they are
 * consumed and the value is refused.
 */
export async function askSecret(host: Host, message: string): Promise<string> {
  const { password } = await import('@clack/prompts');
  const stdin = host.stdin as NodeJS.ReadStream;
  let hasEnded = false;
  let hasMore = false;
  const seen = (chunk: Buffer) => {
    const [, end = '', rest = ''] = /^[^\r\n]*(\r\n?|\n)?(.*)$/s.exec(chunk.toString()) ?? [];
    hasMore ||= hasEnded || rest !== '';
    hasEnded ||= end !== '';
  };
  stdin.on('data', seen);
  try {
    const given = (await answer<string>(password({ message: clean(message), ...streams(host) }))) ?? '';
    stdin.setRawMode?.(true);
    stdin.resume();
    await new Promise((done) => setTimeout(done, 40));
    // safety: cli-pasted-lines
    if (hasMore)
      throw usage(
        'The prompt accepts only one line, but several were pasted.',
        'Pass the value on stdin: svc set NAME < FILE',
      );
    return given;
  } finally {
    stdin.off('data', seen);
    stdin.pause();
    stdin.setRawMode?.(false);
  }
}

const MOST = 1024 * 1024;

/** All of stdin as text. @param what the name of the input in errors */
export async function readStdin(host: Host, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of host.stdin) {
    chunks.push(Buffer.from(chunk));
    size += chunks.at(-1)?.length ?? 0;
    if (size > MOST) throw usage(`${what} from stdin is over 1 MiB.`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usage(`${what} from stdin is not UTF-8 text.`, 'Encode it, for example with base64');
  }
}

/**
 * A JSON object from stdin. An error does not repeat the text, which may contain credentials.
 * @param next what to do instead
 */
export async function readObject(host: Host, what: string, next: string): Promise<Record<string, unknown>> {
  const text = await readStdin(host, what);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Refused below, without the message of the parser, which quotes the text.
  }
  throw usage('stdin does not contain a JSON object.', next);
}

/**
 * Removes the line break that echo adds to a single line; text of several lines, such as a PEM file, is
 * unchanged.
 */
export const withoutEchoedBreak = (text: string): string => text.replace(/^([^\r\n]*)\r?\n$/, '$1');

/** A choice from a list. */
export async function choose(
  host: Host,
  message: string,
  among: string[],
  initial?: string,
): Promise<string> {
  const { select } = await import('@clack/prompts');
  const options = among.map((value) => ({ value, label: clean(value) }));
  return answer<string>(
    select({ message: clean(message), options, initialValue: initial, ...streams(host) }),
  );
}
