// svc export: writes secrets in the format of another tool. Invariant: only the current user can read the
// file, and an existing file is replaced only with --force.
import fs from 'node:fs';
import path from 'node:path';
import type { CommonOptions } from '../context.ts';
import { command, list } from '../definition/command.ts';
import { CliError, usage } from '../errors.ts';
import { exported, FORMATS } from '../secrets/exported.ts';
import { writePrivate } from '../settings/files.ts';
import { clean, cleanLines, isPlain } from '../text.ts';

interface Options extends CommonOptions {
  format?: (typeof FORMATS)[number];
  only?: string[];
  prefix?: string[];
  output?: string;
  force?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '--format <format>': { description: 'format of the file, dotenv by default', choices: FORMATS },
    '--only <names>': { description: 'export only these secrets, separated by commas', parse: list },
    '-p, --prefix <text>': {
      description:
        'only names that begin with this, which the file leaves out; may be repeated: later ones win',
      repeat: true,
      empty: true,
    },
    '--output <file>': 'write to a file that only you can read',
    '--force': 'replace an existing file',
  },
  examples: {
    'export --format dotenv --output .env': 'Write a .env file',
    'export --prefix billing/ --output .env': 'Write the secrets billing/*, as STRIPE_KEY and so on',
    'export --format kubernetes --env staging | kubectl apply -f -': 'Create a Kubernetes Secret',
  },
  notes: ['The file contains values in plain text. svc run passes secrets to a program without a file.'],
  async run(context, { options }) {
    const { format = 'dotenv', only } = options;
    const file = options.output === undefined ? undefined : path.resolve(context.host.cwd, options.output);
    if (file !== undefined) checkTarget(file, options);
    const data = await exported(context, { format, only, prefixes: context.prefixes(options.prefix) });
    const { out } = context;
    if (file === undefined) {
      const isSafe = !out.isTerminal || isPlain(data.content);
      out.result(data, () => out.raw(isSafe ? data.content : cleanLines(data.content)));
      return 0;
    }
    writePrivate(file, data.content);
    out.result({ file, format }, () =>
      out.success(`Wrote ${options.output}. Only you can read it. Keep it out of the repository.`),
    );
    return 0;
  },
});

/**
 * Refuses a file that must not be replaced, before any value is read. A link is replaced, and not followed.
 */
function checkTarget(file: string, { output = '', force }: Options): void {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw usage(`${clean(output)} is a directory.`, 'Name a file in it');
  if (found && !force)
    throw new CliError(`${clean(output)} already exists.`, {
      exit: 'conflict',
      code: 'FILE_EXISTS',
      next: 'Replace it with --force',
    });
}
