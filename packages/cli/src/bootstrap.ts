// The bootstrap token of a deployment, and where it is sent. Invariant: it comes from a variable, a file, stdin or a prompt, never from an
// argument; it goes to an address that --url or SVC_URL names. Only the token of a local `.dev.vars` needs none: it goes to this machine.
import path from 'node:path';
import { parseEnv } from 'node:util';
import { checked } from './config.ts';
import type { Context } from './context.ts';
import { usage } from './errors.ts';
import { readPrivate } from './files.ts';
import { askSecret, readStdin } from './prompts.ts';
import { clean } from './text.ts';

/** Where `npm start` keeps the secrets of a local vault. */
export const DEV_VARS = '.dev.vars';

export const BOOTSTRAP_OPTIONS = {
  '--bootstrap-file <file>': `a file with BOOTSTRAP_TOKEN=…; ${DEV_VARS} of this directory by default`,
  '--url <url>': 'the vault (SVC_URL); this machine for the token of a file',
  '--profile <name>': 'the profile to store the key in (SVC_PROFILE)',
};

export const BOOTSTRAP_NOTE =
  'The bootstrap token comes from BOOTSTRAP_TOKEN, else from the file, else from a prompt or stdin. It is not stored. It goes only to the address of --url or SVC_URL; without one, the token of a file goes to http://localhost, at the port of PORT or 8787.';

/** The token, and the address that it is for. */
export async function bootstrapOf(context: Context, named?: string): Promise<{ url: string; token: string }> {
  const { env, cwd } = context.host;
  const file = path.resolve(cwd, named ?? DEV_VARS);
  const fromFile = env.BOOTSTRAP_TOKEN && !named ? undefined : variablesOf(file, named !== undefined);
  const url = addressOf(context, fromFile);
  const token = fromFile?.BOOTSTRAP_TOKEN ?? (env.BOOTSTRAP_TOKEN || (await typed(context)));
  if (!/^[\x21-\x7e]{32,512}$/.test(token))
    throw usage('The bootstrap token is malformed: it has 32 or more printable characters.', 'It is BOOTSTRAP_TOKEN of the deployment');
  return { url, token };
}

/** What a file of variables holds, if it has a token. */
function variablesOf(file: string, isNeeded: boolean): NodeJS.Dict<string> | undefined {
  const text = readPrivate(file);
  const variables = text === undefined ? undefined : parseEnv(text.replace(/^\uFEFF/, ''));
  if (variables?.BOOTSTRAP_TOKEN) return variables;
  if (isNeeded) throw usage(`${clean(file)} has no BOOTSTRAP_TOKEN.`, 'npm start writes it into .dev.vars of the clone');
  return undefined;
}

/** Never what `.svc.json` or a profile says: a repository names no address for this token, and a profile names that of another vault. */
function addressOf(context: Context, fromFile: NodeJS.Dict<string> | undefined): string {
  const { env } = context.host;
  if (context.options.url) return checked('url', context.options.url, '--url');
  if (env.SVC_URL) return checked('url', env.SVC_URL, 'SVC_URL');
  // safety: cli-bootstrap-address
  if (!fromFile)
    throw usage('No vault is named.', `Name it: --url https://vault.example.com. In a clone, run this where npm start wrote ${DEV_VARS}`);
  return checked('url', `http://localhost:${env.PORT || fromFile.PORT || '8787'}`, 'PORT');
}

async function typed({ host }: Context): Promise<string> {
  const text = host.stdin.isTTY ? await askSecret(host, 'Bootstrap token:') : await readStdin(host, 'The bootstrap token');
  return text.trim();
}
