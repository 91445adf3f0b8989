// svc promote: gives an environment the values of another one. Invariants: no value leaves the vault; what is
// promoted is what the dry run showed, or nothing.
import type { CommonOptions, Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { notDocumented } from '../requests/answers.ts';
import { tagIn } from '../requests/seen.ts';
import { secretNamed } from '../secrets/lookup.ts';
import { counted } from '../text.ts';

interface Options extends CommonOptions {
  from?: string;
  to?: string;
  prefix?: string;
  prune?: boolean;
  dryRun?: boolean;
}

const OUTCOMES = ['created', 'updated', 'removed', 'unchanged'] as const;
type Promoted = Record<(typeof OUTCOMES)[number], string[]>;

export default command<Options>({
  needs: 'vault',
  confirms: true,
  completes: 'secrets',
  args: { '[names...]': 'names of the secrets; or use --prefix' },
  options: {
    '--from <slug>': 'environment to promote from',
    '--to <slug>': 'environment to promote to',
    '-p, --prefix <text>': {
      description: 'promote all names that begin with this; "" for every name',
      empty: true,
    },
    '--prune': 'delete the secrets there, of those chosen, that the first environment does not have',
    '--dry-run': 'show what would be promoted, without writing anything',
  },
  examples: {
    'promote --prefix "" --from staging --to production --dry-run': 'See what production would get',
    'promote DATABASE_URL SMTP_PASSWORD --from staging --to production': 'Promote two secrets',
  },
  notes: [
    'All of them are promoted in one change, or none. No value is read or shown.',
    'New secrets also get the type, description and tags.',
  ],
  async run(context, { rest: names, options }) {
    const { from, to, prefix, prune } = options;
    if (!from || !to)
      throw usage('Both --from and --to are required.', 'svc promote NAME --from ENV --to ENV');
    if (names.length > 0 === (prefix !== undefined)) throw usage('Pass either names or --prefix.');
    const chosen = names.length > 0 ? { names: [...new Set(names.map(secretNamed))] } : { prefix };
    const body = { from, ...chosen, prune };
    const { vault, org_id } = await context.vault();
    const params = { path: { org_id, environment: to } };
    const path = '/orgs/{org_id}/environments/{environment}/promote' as const;
    const dry = await vault.api.POST(path, { params, body: { ...body, dryRun: true } });
    if (options.dryRun) return report(context, dry.data, from, to, true);
    const { updated, removed } = dry.data;
    const what = effect(dry.data);
    if (!what) return report(context, dry.data, from, to, false);
    if (updated.length + removed.length > 0) await context.confirmDestruction(`In ${to}, ${what}.`);
    else await context.confirmProduction(`In ${to}, ${what}.`, to);
    const headers = { ...context.approved(), 'If-Match': shownTag(dry.response) };
    const { data } = await vault.api.POST(path, { params, headers, body });
    return report(context, data, from, to, false);
  },
});

/** What a promotion does, in words; empty for nothing. */
const effect = ({ updated, removed, created }: Promoted): string =>
  [
    { names: updated, one: 'secret will get a new value', many: 'secrets will get new values' },
    { names: removed, one: 'secret will be deleted', many: 'secrets will be deleted' },
    { names: created, one: 'secret will be created', many: 'secrets will be created' },
  ]
    .filter(({ names }) => names.length > 0)
    .map(({ names, one, many }) => `${counted(names.length, one, many)}: ${names.join(', ')}`)
    .join('; ');

/** The tag of what a dry run showed. Without one, which a proxy may have dropped, nothing is promoted. */
function shownTag(response: Response): string {
  const tag = tagIn(response);
  // safety: cli-promote-tag
  if (tag === null) throw notDocumented(response.status);
  return tag;
}

function report({ out }: Context, promoted: Promoted, from: string, to: string, dryRun: boolean): number {
  out.result({ from, to, dry_run: dryRun, ...promoted }, () => {
    const rows = OUTCOMES.flatMap((outcome) =>
      promoted[outcome].map((name) => [
        name,
        dryRun && outcome !== 'unchanged' ? `would be ${outcome}` : outcome,
      ]),
    );
    out.table(['name', 'outcome'], rows);
    const counts = OUTCOMES.map((outcome) => `${promoted[outcome].length} ${outcome}`).join(', ');
    out.note(
      dryRun
        ? `Dry run from ${from} to ${to}: nothing was written. There would be ${counts}.`
        : `Promoted from ${from} to ${to}: ${counts}.`,
    );
  });
  return 0;
}
