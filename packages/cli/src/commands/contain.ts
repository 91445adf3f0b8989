// svc contain: revokes a leaked credential and everything below it, and reports what they did. Invariant: the
// dry run shows what the containment would answer; a token is read from stdin and written nowhere.
import type { components } from '@secrets-vault/client';
import { PermissionError } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { endingIn, rowsOf, warn } from '../credentials/incidents.ts';
import { command, moment } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { askSecret, readStdin } from '../terminal/prompts.ts';
import { clean, counted } from '../text.ts';

interface Options extends CommonOptions {
  since?: string;
  rotateGenerated?: boolean;
  dryRun?: boolean;
  tokenStdin?: boolean;
}

type Wanted = { id: string } | { token: string };

/** The credential to contain: by its id, or by its token from stdin. */
async function wantedBy({ host }: Context, id: string | undefined, { tokenStdin }: Options): Promise<Wanted> {
  if ((id === undefined) !== (tokenStdin === true))
    throw usage('Pass the id of a credential, or --token-stdin.');
  if (id !== undefined) return { id };
  const text = host.stdin.isTTY ? await askSecret(host, 'Leaked token:') : await readStdin(host, 'The token');
  return { token: text.trim() };
}

/** Contains the credential, or only asks what that would do. */
async function contain(
  context: Context,
  wanted: Wanted,
  { since, rotateGenerated }: Options,
  dry_run?: true,
) {
  const { vault, org_id } = await context.vault();
  const body = { since, rotate: rotateGenerated ? ('generated' as const) : undefined, dry_run };
  const { data } =
    'id' in wanted
      ? await vault.api.POST('/orgs/{org_id}/credentials/{id}/contain', {
          params: { path: { org_id, id: wanted.id } },
          body,
        })
      : await vault.api.POST('/orgs/{org_id}/credentials/contain', {
          params: { path: { org_id } },
          body: { ...body, ...wanted },
        });
  return data;
}

/** The graph of a credential; null for a caller that may not list credentials. */
async function graphOf(
  context: Context,
  id: string,
): Promise<components['schemas']['CredentialGraph'] | null> {
  const { vault, org_id } = await context.vault();
  try {
    const { data } = await vault.api.GET('/orgs/{org_id}/credentials/{id}/graph', {
      params: { path: { org_id, id } },
    });
    return data;
  } catch (error) {
    if (error instanceof PermissionError) return null;
    throw error;
  }
}

const COLUMNS = ['what', 'name', 'which'];

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '[id]': 'id of the credential: key_…, tok_…, agt_…, prv_…, bgt_…, ses_…, trs_…, scm_…' },
  options: {
    '--token-stdin': 'read the leaked token itself from stdin, instead of an id',
    '--dry-run': 'only show what would end, what it did, and what would be rotated',
    '--since <time>': {
      description: 'report activity since this time; 2h means two hours ago',
      parse: moment,
    },
    '--rotate-generated': 'rotate the secrets that it read, if the vault generated their current values',
  },
  examples: {
    'contain tok_0HrZKtC4bqXw2vJm8yNd1L --dry-run': 'See what would end, and what it read',
    'contain tok_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke a credential and all its descendants',
    'contain --token-stdin < leaked.txt': 'Revoke the credential that a token belongs to',
    'contain key_0HrZKtC4bqXw2vJm8yNd1L --since 1d --rotate-generated':
      'Also rotate the secrets that it read since yesterday',
  },
  notes: ['If it is interrupted, run it again: it continues where it stopped.'],
  async run(context, { args: [id], options }) {
    const { out } = context;
    const wanted = await wantedBy(context, id, options);
    if (options.dryRun) {
      const data = await contain(context, wanted, options, true);
      const graph = await graphOf(context, data.credential.id);
      out.result({ ...data, ...(graph && { children: graph.children }) }, () => {
        out.table(COLUMNS, rowsOf(data, graph));
        out.note(`Nothing was changed. ${counted(endingIn(data, graph), 'credential')} would end.`);
        warn(context, data);
      });
      return 0;
    }
    const what = 'id' in wanted ? clean(wanted.id) : 'the credential of this token';
    await context.confirmDestruction(
      `This permanently revokes ${what} and every credential that descends from it.`,
    );
    const data = await contain(context, wanted, options);
    out.result(data, () => {
      out.table(COLUMNS, rowsOf(data, null));
      out.success(`Revoked ${counted(data.revoked.length, 'credential')}.`);
      if (data.incident_id) out.note(`Follow it with svc incident show ${data.incident_id}`);
      if (data.remaining)
        out.warn(
          `${counted(data.remaining, 'credential is', 'credentials are')} not revoked yet. Run the command again.`,
        );
      warn(context, data);
    });
    return 0;
  },
});
