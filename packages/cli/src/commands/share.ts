// svc share: a link that shows one secret to somebody without an account. Invariant: a passphrase comes from a prompt or stdin.
import { command, count, duration } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { usage } from '../errors.ts';
import { askSecret, canAsk, readStdin } from '../prompts.ts';
import { findSecret, pages } from '../secrets.ts';
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
  args: { '<name>': 'the name of the secret' },
  options: {
    '--expires <duration>': { description: 'how long the link works: 1m to 7d, 1h by default', parse: duration },
    '--views <n>': { description: 'how often it shows the value: 1 to 100, 1 by default', parse: count },
    '--passphrase': 'ask for a passphrase, or read it from stdin; the reader needs it too',
    '--list': 'list the links and grants of the secret',
    '--revoke <id>': 'end a link or grant',
  },
  examples: {
    'share WIFI_PASSWORD': 'Make a link that works once, for an hour',
    'share WIFI_PASSWORD --expires 1d --views 3 --passphrase': 'Three views within a day, with a passphrase',
    'share WIFI_PASSWORD --list': 'See which links there are',
  },
  notes: ['Whoever has the link can see the value. Send a passphrase another way.'],
  async run(context, { args: [name = ''], options }) {
    const { id } = await findSecret(context, name);
    if (options.list) return listShares(context, id);
    if (options.revoke) return revoke(context, name, id, options.revoke);
    const passphrase = options.passphrase ? await passphraseOf(context) : undefined;
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/share', {
      params: { path: { org_id, id } },
      headers: context.approved(),
      body: { kind: 'link', expires_in: options.expires ?? 3600, max_views: options.views ?? 1, passphrase },
    });
    context.out.result(data, () => {
      context.out.line(String((data as { url: string | null }).url));
      context.out.note(`It shows ${name} ${options.views ?? 1} time(s), until ${data.expires_at}. It is not shown again here.`);
    });
    return 0;
  },
});

async function passphraseOf(context: Context): Promise<string> {
  const text = canAsk(context.host)
    ? await askSecret(context.host, 'Passphrase:')
    : (await readStdin(context.host, 'The passphrase')).replace(/\r?\n$/, '');
  if (!text || text.length > 256) throw usage('A passphrase has 1 to 256 characters.');
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
      ends: (row) => row.expires_at && relative(row.expires_at, Date.now()),
    },
    'Nothing is shared.',
  );
  return 0;
}

async function revoke(context: Context, name: string, id: string, share_id: string): Promise<number> {
  await context.confirmDestruction(`The share ${share_id} of ${name} ends.`);
  const { vault, org_id } = await context.vault();
  await vault.api.DELETE('/orgs/{org_id}/secrets/{id}/shares/{share_id}', { params: { path: { org_id, id, share_id } } });
  context.out.result({ id: share_id, revoked: true }, () => context.out.success(`Ended ${share_id}.`));
  return 0;
}
