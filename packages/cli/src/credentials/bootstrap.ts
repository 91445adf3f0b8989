// The bootstrap token of a deployment, and where it is sent. Invariant: it comes from a variable, a file,
// stdin or a prompt, never from an argument; it is sent only to the address given by --url or SVC_URL. The
// token of a local `.dev.vars` needs no address: it is sent to this machine.
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { checked } from '../settings/config.ts';
import { readPrivate } from '../settings/files.ts';
import { askSecret, readStdin } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

/** Where `npm start` keeps the secrets of a local vault. */
export const DEV_VARS = '.dev.vars';

export const BOOTSTRAP_OPTIONS = {
  '--bootstrap-file <file>': `a file that contains BOOTSTRAP_TOKEN=…; default: ${DEV_VARS} in this directory`,
  '--url <url>': 'address of the vault (SVC_URL); default for a token from a file: this machine',
  '--profile <name>': 'profile to store the key in (SVC_PROFILE)',
};

export const BOOTSTRAP_NOTE =
  'The bootstrap token is read from BOOTSTRAP_TOKEN, then from the file, then from a prompt or stdin. It is never stored. It is sent only to the address in --url or SVC_URL. Without an address, a token from a file is sent to http://localhost, on the port in PORT or 8787.';

/** The token, and the address it may be sent to. */
export async function bootstrapOf(context: Context, named?: string): Promise<{ url: string; token: string }> {
  const { env, cwd } = context.host;
  const file = path.resolve(cwd, named ?? DEV_VARS);
  const fromFile = env.BOOTSTRAP_TOKEN && !named ? undefined : variablesOf(file, named !== undefined);
  const url = addressOf(context, fromFile);
  const token = fromFile?.BOOTSTRAP_TOKEN ?? (env.BOOTSTRAP_TOKEN || (await typed(context)));
  if (!/^[\x21-\x7e]{32,512}$/.test(token))
    throw usage(
      'The bootstrap token is malformed: it must have at least 32 printable characters.',
      'Use the BOOTSTRAP_TOKEN of the deployment',
    );
  return { url, token };
}

/** The variables of a file that contains a token; undefined otherwise. */
function variablesOf(file: string, isNeeded: boolean): NodeJS.Dict<string> | undefined {
  const text = readPrivate(file);
  const variables = text === undefined ? undefined : parseEnv(text.replace(/^\uFEFF/, ''));
  if (variables?.BOOTSTRAP_TOKEN) return variables;
  if (isNeeded)
    throw usage(`${clean(file)} has no BOOTSTRAP_TOKEN.`, 'npm start writes it to .dev.vars in the clone');
  return undefined;
}

/**
 * Ignores `.svc.json` and profiles: a repository must not choose where this token is sent, and a profile is
 * for a credential of its own.
 */
function addressOf(context: Context, fromFile: NodeJS.Dict<string> | undefined): string {
  const { env } = context.host;
  if (context.options.url) return checked('url', context.options.url, '--url');
  if (env.SVC_URL) return checked('url', env.SVC_URL, 'SVC_URL');
  // safety: cli-bootstrap-address
  if (!fromFile)
    throw usage(
      'No vault address is set.',
      `Pass --url https://vault.example.com. In a clone, run this in the directory that contains ${DEV_VARS}`,
    );
  return checked('url', `http://localhost:${env.PORT || fromFile.PORT || '8787'}`, 'PORT');
}

async function typed({ host }: Context): Promise<string> {
  const text = host.stdin.isTTY
    ? await askSecret(host, 'Bootstrap token:')
    : await readStdin(host, 'The bootstrap token');
  return text.trim();
}
