// svc share: creates a link that shows one secret to a person without an account. Invariant: a passphrase
// comes from a prompt or stdin.
import type { CommonOptions, Context } from '../context.ts';
import { command, count, duration } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { findSecret, pages } from '../secrets/lookup.ts';
import { askSecret, canAsk, readStdin } from '../terminal/prompts.ts';
import { relative } from '../text.ts';

interface Options extends CommonOptions {
  expires?: number;
  views?: number;
  passphrase?: boolean;
  list?: boolean;
  revoke?: string;
}

export default command<Options>({
  needs: 'environment',
  confirms: true,
  completes: 'secrets',
  args: { '<name>': 'name of the secret' },
  options: {
    '--expires <duration>': {
      description: 'how long the link is valid, 1m to 7d; default: 1h',
      parse: duration,
    },
    '--views <n>': {
      description: 'how many times the link shows the value, 1 to 100; default: 1',
      parse: count,
    },
    '--passphrase': 'protect the link with a passphrase, from a prompt or stdin',
    '--list': 'list the links and grants of the secret',
    '--revoke <id>': 'revoke a link or grant',
  },
  examples: {
    'share WIFI_PASSWORD': 'Create a link that works once, within an hour',
    'share WIFI_PASSWORD --expires 1d --views 3 --passphrase':
      'Allow three views within a day, with a passphrase',
    'share WIFI_PASSWORD --list': 'List the links and grants',
  },
  notes: ['Anyone with the link can see the value. Send the passphrase through another channel.'],
  async run(context, { args: [name = ''], options }) {
    checkOptions(options);
    const { id } = await findSecret(context, name);
    if (options.list) return listShares(context, id);
    if (options.revoke !== undefined) return revoke(context, name, id, options.revoke);
    const passphrase = options.passphrase ? await passphraseOf(context) : undefined;
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/share', {
      params: { path: { org_id, id } },
      headers: context.approved(),
      body: { kind: 'link', expires_in: options.expires ?? 3600, max_views: options.views ?? 1, passphrase },
    });
    context.out.result(data, () => {
      context.out.line(String((data as { url: string | null }).url));
      context.out.note(
        `The link shows ${name} ${options.views ?? 1} time(s), until ${data.expires_at}. svc does not show the link again.`,
      );
    });
    return 0;
  },
});

/** Refuses options that would be ignored. */
function checkOptions(options: Options): void {
  const action = options.list ? 'list' : options.revoke !== undefined ? 'revoke' : undefined;
  const others = (['revoke', 'expires', 'views', 'passphrase'] as const).filter(
    (one) => one !== action && options[one] !== undefined,
  );
  if (action && others.length > 0)
    throw usage(`--${action} cannot be combined with ${others.map((one) => `--${one}`).join(', ')}.`);
}

async function passphraseOf(context: Context): Promise<string> {
  const text = canAsk(context.host)
    ? await askSecret(context.host, 'Passphrase:')
    : (await readStdin(context.host, 'The passphrase')).replace(/\r?\n$/, '');
  if (!text || text.length > 256) throw usage('A passphrase must have 1 to 256 characters.');
  return text;
}

async function listShares(context: Context, id: string): Promise<number> {
  const { vault, org_id } = await context.vault();
  const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
    const { data } = await vault.api.GET('/orgs/{org_id}/secrets/{id}/shares', {
      params: { path: { org_id, id }, query: { limit, cursor } },
    });
    return data as {
      data: {
        id: string;
        kind: string;
        views?: number;
        max_views?: number;
        expires_at: string | null;
        grantee?: { type: string; id: string };
      }[];
      next_cursor: string | null;
    };
  });
  context.out.list(
    rows,
    {
      id: (row) => row.id,
      kind: (row) => row.kind,
      views: (row) => (row.max_views === undefined ? undefined : `${row.views} of ${row.max_views}`),
      grantee: (row) => row.grantee?.id,
      expires: (row) => row.expires_at && relative(row.expires_at, Date.now()),
    },
    'There are no shares.',
  );
  return 0;
}

async function revoke(context: Context, name: string, id: string, share_id: string): Promise<number> {
  await context.confirmDestruction(`This revokes the share ${share_id} of ${name}.`);
  const { vault, org_id } = await context.vault();
  await vault.api.DELETE('/orgs/{org_id}/secrets/{id}/shares/{share_id}', {
    params: { path: { org_id, id, share_id } },
  });
  context.out.result({ id: share_id, revoked: true }, () => context.out.success(`Revoked ${share_id}.`));
  return 0;
}
