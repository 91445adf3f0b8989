// svc export: writes secrets in the format of another tool. Invariant: only the current user can read the file, and an existing file is
// replaced only with --force.
import fs from 'node:fs';
import path from 'node:path';
import { command, list } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { CliError } from '../errors.ts';
import { writePrivate } from '../files.ts';
import { clean, cleanLines, isPlain } from '../text.ts';

export const FORMATS = [
  'dotenv',
  'json',
  'yaml',
  'shell',
  'docker-env',
  'compose-secrets',
  'kubernetes',
  'external-secrets',
  'helm',
  'tfvars',
  'tfvars-json',
  'ansible',
  'systemd',
  'github-actions',
  'dev-vars',
  'properties',
] as const;

interface Options extends CommonOptions {
  format?: (typeof FORMATS)[number];
  only?: string[];
  output?: string;
  force?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '--format <format>': { description: 'format of the file, dotenv by default', choices: FORMATS },
    '--only <names>': { description: 'export only these secrets, separated by commas', parse: list },
    '--output <file>': 'write to a file that only you can read',
    '--force': 'replace an existing file',
  },
  examples: {
    'export --format dotenv --output .env': 'Write a .env file',
    'export --format kubernetes --env staging | kubectl apply -f -': 'Create a Kubernetes Secret',
  },
  notes: ['The file contains values in plain text. svc run passes secrets to a program without a file.'],
  async run(context, { options }) {
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/integrations/generate', {
      params: { path: { org_id } },
      headers: context.approved(),
      body: { format: options.format ?? 'dotenv', environmentId: await context.environment(), names: options.only },
    });
    const { out } = context;
    if (options.output === undefined) {
      const isSafe = !out.isTerminal || isPlain(data.content);
      out.result(data, () => out.raw(isSafe ? data.content : cleanLines(data.content)));
      return 0;
    }
    const file = path.resolve(context.host.cwd, options.output);
    if (!options.force && fs.existsSync(file))
      throw new CliError(`${clean(options.output)} already exists.`, {
        exit: 'conflict',
        code: 'FILE_EXISTS',
        next: 'Replace it with --force',
      });
    writePrivate(file, data.content);
    out.result({ file, format: options.format ?? 'dotenv' }, () =>
      out.success(`Wrote ${options.output}. Only you can read it. Keep it out of the repository.`),
    );
    return 0;
  },
});
