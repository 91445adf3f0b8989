// svc login: in a browser, with an API key from stdin, or with the OIDC token of a CI job. Invariant: a
// stored credential was accepted by the vault and is bound to its origin.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommonOptions, Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { CliError, EXIT_CODES, usage } from '../errors.ts';
import { call } from '../requests/unsigned.ts';
import { originOf, readProfiles, writeProfile } from '../settings/config.ts';
import type { Credential } from '../settings/store.ts';
import { ask, askSecret, askYesNo, canAsk, readStdin } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  keyStdin?: boolean;
  browser: boolean;
}

interface DeviceStart {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

/** The longest pause between polls, in milliseconds. */
const LONGEST_PAUSE = 60_000;

interface SignedIn {
  token: string;
  expiresAt: string;
  refresh_token: string;
  member: { id: string; name: string; org_id?: string };
}

interface Caller {
  kind: string;
  id: string;
  org_id: string;
  name: string | null;
  default_environment: string | null;
}

export default command<Options>({
  needs: 'vault',
  options: {
    '--key-stdin': 'read an API key or another token from stdin and store it',
    '--no-browser': 'print the address instead of opening a browser',
  },
  examples: {
    'login --url https://vault.example.com': 'Sign in with a browser',
    'login --url https://vault.example.com --key-stdin < key.txt':
      'Store an API key on a machine without a browser',
  },
  notes: [
    "The credential is stored in the system keychain or, without one, in a file that only you can read. It is bound to the profile and to the vault's address, and is never sent to another address.",
    'In CI you do not need svc login: set SVC_URL, SVC_ORG_ID and SVC_TRUST_ID, and each command exchanges the OIDC token of the job. A token in SVC_TOKEN is used directly.',
  ],
  async run(context, { options }) {
    if (!options.keyStdin && context.host.env.SVC_TRUST_ID) return asJob(context);
    const url = await chooseVault(context, Boolean(options.keyStdin));
    const credential = options.keyStdin
      ? await keyFromStdin(context)
      : await throughBrowser(context, url, options.browser);
    const caller = await call<Caller>(context.host, url, '/whoami', { token: tokenOf(credential) });
    const place = await context.store.save(url, context.profile, credential);
    const environment = caller.default_environment ?? undefined;
    writeProfile(context.configDir, context.profile, { url, org: caller.org_id, environment });
    const where = place === 'keychain' ? 'the keychain' : context.store.fileOf(url, context.profile);
    const who = caller.name ? `${clean(caller.name)} (${caller.kind})` : caller.kind;
    context.out.result(
      {
        url,
        org_id: caller.org_id,
        kind: caller.kind,
        id: caller.id,
        name: caller.name,
        profile: context.profile,
        stored_in: place,
      },
      () => {
        context.out.success(`Signed in to ${url} as ${who}.`);
        context.out.note(`Stored the credential in ${where}.`);
      },
    );
    return EXIT_CODES.ok[0];
  },
});

/** A CI job signs in with each command, so nothing is stored. */
async function asJob(context: Context): Promise<number> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/whoami');
  context.out.result(
    {
      url: context.origin,
      org_id,
      kind: data.kind,
      id: data.id,
      name: data.name,
      profile: context.profile,
      stored_in: null,
    },
    () =>
      context.out.success(
        `The vault accepts the OIDC token of this job. Each command exchanges it; nothing is stored.`,
      ),
  );
  return EXIT_CODES.ok[0];
}

/** The address of the vault. An address that only the repository names needs confirmation. */
async function chooseVault(context: Context, isPiped: boolean): Promise<string> {
  const { SVC_TOKEN } = context.host.env;
  if (SVC_TOKEN) context.out.warn('SVC_TOKEN is set and takes precedence over the stored credential.');
  const found = context.setting('url');
  if (!found) {
    // What another command wrote to the pipe, such as a new token, is shown nowhere else.
    const piped = isPiped ? '. A token that was piped here is not stored: revoke it, and create another' : '';
    const of = context.profile === 'default' ? '' : ` for the profile ${context.profile}`;
    if (!canAsk(context.host))
      throw usage(`No vault address is set${of}.`, `Run svc login --url https://vault.example.com${piped}`);
    context.options.url = await ask(context.host, 'Address of the vault:', 'https://');
    return context.origin;
  }
  const isKnown = Object.values(readProfiles(context.configDir)).some(
    (profile) => profile.url === found.value,
  );
  if (found.source !== 'project' || isKnown) return found.value;
  const file = clean(context.project?.file ?? '');
  // safety: cli-login-project
  if (!canAsk(context.host))
    throw usage(
      `The address ${found.value} comes from ${file} and is not confirmed.`,
      `To trust it, run svc login --url ${found.value}`,
    );
  if (!(await askYesNo(context.host, `${file} sets the vault to ${found.value}. Sign in there?`)))
    throw new CliError('Not signed in.', { exit: 'failure', code: 'DECLINED' });
  return found.value;
}

async function keyFromStdin(context: Context): Promise<Credential> {
  const text = context.host.stdin.isTTY
    ? await askSecret(context.host, 'API key:')
    : await readStdin(context.host, 'The key');
  const token = text.trim();
  if (!/^svc[a-z_]{1,8}_[A-Za-z0-9]{20,400}$/.test(token))
    throw usage('stdin does not contain a vault token.', 'An API key begins with svc_live_');
  return { kind: 'token', token };
}

/** RFC 8628: shows a code here, to be confirmed in a browser. */
async function throughBrowser(context: Context, url: string, mayOpen: boolean): Promise<Credential> {
  const { host, out } = context;
  if (host.env.CI && !canAsk(host))
    throw usage(
      'Browser sign-in is not available in CI.',
      'Set SVC_TRUST_ID, SVC_ORG_ID and SVC_URL, or pass a key: svc login --key-stdin',
    );
  if (!host.stdin.isTTY) out.note('stdin is not read. To store a token from it: svc login --key-stdin');
  const started = await call<DeviceStart>(host, url, '/auth/device', {
    body: { client_name: clientName(host.env) },
  });
  const address = pageOf(started.verification_uri_complete, url);
  out.note(`Open ${address} and confirm the code ${clean(String(started.user_code))}`);
  if (mayOpen && canAsk(host)) await host.openBrowser(address).catch(() => {});
  return { kind: 'terminal', session: await poll(context, url, started) };
}

async function poll(
  { host }: Context,
  url: string,
  { device_code, expires_in, interval }: DeviceStart,
): Promise<SignedIn> {
  let pause = Math.max(1, interval);
  const until = Date.now() + expires_in * 1000;
  while (Date.now() < until) {
    // A timer takes no more than 24 days, and fires at once beyond that.
    await sleep(Math.min(pause * 1000, Math.max(0, until - Date.now()), LONGEST_PAUSE));
    try {
      return await call<SignedIn>(host, url, '/auth/device/token', { body: { device_code } });
    } catch (error) {
      const code = error instanceof CliError ? error.problem.code : undefined;
      if (code === 'SLOW_DOWN') pause += 5;
      else if (code === 'ACCESS_DENIED')
        throw new CliError('The code was refused in the browser.', { exit: 'refused', code });
      // A temporary failure does not end the login.
      else if (
        code !== 'AUTHORIZATION_PENDING' &&
        !(error instanceof CliError && error.problem.exit === 'unreachable')
      )
        throw error;
    }
  }
  throw new CliError('The code expired before it was confirmed.', {
    exit: 'signedOut',
    code: 'CODE_EXPIRED',
    next: 'Try again: svc login',
  });
}

/**
 * The confirmation page. It must be the vault's own: a hostile vault could otherwise name the page of another
 * vault with a code that it got there, and the member's confirmation would sign the hostile vault in (RFC
 * 8628, section 5.4).
 */
function pageOf(address: string, url: string): string {
  const origin = URL.canParse(address) ? new URL(address).origin : undefined;
  // safety: cli-login-page
  if (origin !== url)
    throw new CliError(`The vault at ${url} names a page of another address for confirming the code.`, {
      exit: 'failure',
      code: 'UNEXPECTED_RESPONSE',
      next:
        origin && originOf(origin)
          ? `If you trust that vault, sign in at its own address: svc login --url ${origin}`
          : `Check that ${url} is the address of a vault`,
    });
  return new URL(address).href;
}

const clientName = (env: NodeJS.ProcessEnv) =>
  `svc on ${env.HOSTNAME || process.env.COMPUTERNAME || process.platform}`
    .replace(/[^\x20-\x7e]/g, '')
    .slice(0, 60);

const tokenOf = (credential: Credential) =>
  credential.kind === 'token' ? credential.token : credential.session.token;
