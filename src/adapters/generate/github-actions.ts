// A script for a `run` step of GitHub Actions: it masks the values in the log, then adds them to the
// environment of the following steps. Invariants: a value is masked before anything else is done with it; no
// value can end its own section of the file, whose delimiter is random.
import { environmentStyle, without } from '../names';
import { type Entry, format, none, nul } from './format';
import { singleQuoted } from './shell';

// safety: generated-workflow-names
const names = without(environmentStyle, (key) =>
  /^(GITHUB_|RUNNER_|NODE_OPTIONS$)/i.test(key) ? 'is a name that GitHub Actions reserves' : null,
);

const COMMAND: Record<string, string> = { '%': '%25', '\r': '%0D', '\n': '%0A' };

/** The parts of a value to mask: each non-empty line, and the whole. */
const masked = (value: string): string[] =>
  [...new Set([...value.split(/\r\n|\r|\n/), value])].filter((text) => text !== '');

/** A workflow command without line breaks. */
// safety: generated-workflow-commands
const mask = (text: string) =>
  `printf '%s\\n' ${singleQuoted(`::add-mask::${text.replace(/[%\r\n]/g, (each) => COMMAND[each] as string)}`)}\n`;

/** A delimiter that cannot be guessed and that no value contains. */
function delimiterFor({ value }: Entry): string {
  for (;;) {
    const delimiter = `ghadelimiter_${crypto.randomUUID()}`;
    if (!value.includes(delimiter)) return delimiter;
  }
}

export const githubActions = format({
  format: 'github-actions',
  filename: 'github-env.sh',
  contentType: 'text/x-shellscript',
  options: none,
  names,
  refuses: (value) =>
    nul(value) ??
    (value.endsWith('\r')
      ? 'has a value that ends with a carriage return, which a runner on Windows drops'
      : null),
  *render(entries) {
    for (const { value } of entries) for (const text of masked(value)) yield mask(text);
    for (const entry of entries) {
      const delimiter = delimiterFor(entry);
      yield `printf '%s\\n' '${entry.key}<<${delimiter}' ${singleQuoted(entry.value)} '${delimiter}' >> "$GITHUB_ENV"\n`;
    }
  },
});
