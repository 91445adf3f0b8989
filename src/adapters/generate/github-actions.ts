// A script for a `run` step of GitHub Actions: it masks the values in the log, then puts them into the environment of the steps that follow.
// Invariants: a value is masked before anything else is done with it; no value can end its own part of the file, whose delimiter is random.
import { environmentStyle, without } from '../names';
import { type Entry, format, none, nul } from './format';
import { singleQuoted } from './shell';

// safety: generated-workflow-names
const names = without(environmentStyle, (key) =>
  /^(GITHUB_|RUNNER_|NODE_OPTIONS$)/i.test(key) ? 'is a name that GitHub Actions keeps for itself' : null,
);

const COMMAND: Record<string, string> = { '%': '%25', '\r': '%0D', '\n': '%0A' };

/** What is masked of a value: each line that is not empty, and the whole. */
const masked = (value: string): string[] => [...new Set([...value.split(/\r\n|\r|\n/), value])].filter((text) => text !== '');

/** A workflow command, which holds no line break of its own. */
// safety: generated-workflow-commands
const mask = (text: string) =>
  `printf '%s\\n' ${singleQuoted(`::add-mask::${text.replace(/[%\r\n]/g, (each) => COMMAND[each] as string)}`)}\n`;

/** A delimiter that nobody can know, and that stands in no value. */
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
    nul(value) ?? (value.endsWith('\r') ? 'has a value that ends with a carriage return, which a runner on Windows drops' : null),
  *render(entries) {
    for (const { value } of entries) for (const text of masked(value)) yield mask(text);
    for (const entry of entries) {
      const delimiter = delimiterFor(entry);
      yield `printf '%s\\n' '${entry.key}<<${delimiter}' ${singleQuoted(entry.value)} '${delimiter}' >> "$GITHUB_ENV"\n`;
    }
  },
});
