// svc audit: lists entries of the audit log, and follows new ones.
import { setTimeout as sleep } from 'node:timers/promises';
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { command, count, moment } from '../definition/command.ts';
import { isUnreachable, usage } from '../errors.ts';
import { pages } from '../secrets/lookup.ts';
import { clean, safeJson } from '../text.ts';

interface Options extends CommonOptions {
  actor?: string;
  action?: string;
  resource?: string;
  outcome?: 'success' | 'denied' | 'failed';
  from?: string;
  to?: string;
  limit?: number;
  follow?: boolean;
}

type Entry = components['schemas']['AuditEntry'];

/**
 * The polling interval for new entries, in ms. It grows while there are none, because each poll is an audit
 * entry itself.
 */
const EVERY = 2_000;
const AT_MOST_EVERY = 16_000;

export default command<Options>({
  needs: 'vault',
  options: {
    '--actor <id>': 'entries by this credential or member',
    '--action <action>': 'entries with this action, such as secret.read',
    '--resource <id>': 'entries about this resource, such as sec_…',
    '--outcome <outcome>': {
      description: 'entries with this outcome',
      choices: ['success', 'denied', 'failed'],
    },
    '--from <time>': { description: 'entries since this time; 2h means two hours ago', parse: moment },
    '--to <time>': { description: 'entries until this time; 2h means two hours ago', parse: moment },
    '-n, --limit <n>': { description: 'maximum number of entries; default: 50', parse: count },
    '-f, --follow': 'show new entries as they are written',
  },
  examples: {
    'audit --action secret.read --from 1d': 'See who read secrets since yesterday',
    'audit --outcome denied --follow': 'Watch denied requests',
  },
  notes: ['With --follow and --json, each line is one entry.'],
  async run(context, { options }) {
    const { limit = 50, follow, ...filters } = options;
    if (follow && options.to) throw usage('--follow and --to cannot be combined.');
    const newest = await entries(context, filters, limit);
    if (!follow) {
      context.out.list(newest, columns, 'There are no entries.');
      return 0;
    }
    return followFrom(context, filters, newest.reverse());
  },
});

const columns = {
  time: (row: Entry) => row.time,
  actor: (row: Entry) => `${row.actor.name ?? row.actor.id ?? ''} (${row.actor.kind})`,
  action: (row: Entry) => row.action,
  resource: (row: Entry) => row.resource_name ?? row.resource,
  environment: (row: Entry) => row.environment,
  outcome: (row: Entry) => (row.outcome === 'success' ? 'success' : `${row.outcome} (${row.status})`),
  from: (row: Entry) => row.ip,
  reason: (row: Entry) => row.reason,
};

async function entries(
  context: Context,
  { actor, action, resource, outcome, from, to }: Options,
  most: number,
): Promise<Entry[]> {
  const { vault, org_id } = await context.vault();
  return pages(most, async (limit, cursor) => {
    const query = { actor, action, resource, outcome, from, to, limit, cursor };
    const { data } = await vault.api.GET('/orgs/{org_id}/audit-log', { params: { path: { org_id }, query } });
    return data as { data: Entry[]; next_cursor: string | null };
  });
}

/** Prints entries, oldest first, until interrupted. Leaves out the entries that its own polling creates. */
async function followFrom(context: Context, filters: Options, first: Entry[]): Promise<number> {
  const { vault } = await context.vault();
  const { data: self } = await vault.api.GET('/whoami');
  const isOwn = (entry: Entry) =>
    entry.actor.id === self.id && (entry.action === 'audit.read' || entry.action === 'caller.read');
  let last = 0;
  /** Returns whether any entry was printed. */
  const print = (found: Entry[]): boolean => {
    const fresh = found.filter(({ sequence }) => sequence > last);
    last = fresh.at(-1)?.sequence ?? last;
    const shown = fresh.filter((entry) => !isOwn(entry));
    for (const entry of shown) printEntry(context, entry);
    return shown.length > 0;
  };
  print(first);
  let since = first.at(-1)?.time ?? new Date().toISOString();
  let isWarned = false;
  for (let pause = EVERY; ; ) {
    await sleep(pause);
    try {
      const found = (await entries(context, { ...filters, from: since }, Number.POSITIVE_INFINITY)).reverse();
      pause = print(found) ? EVERY : Math.min(pause * 2, AT_MOST_EVERY);
      since = found.at(-1)?.time ?? since;
      isWarned = false;
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      if (!isWarned)
        context.out.warn('The vault cannot be reached. svc keeps following, and misses no entry.');
      isWarned = true;
    }
  }
}

function printEntry({ out }: Context, entry: Entry): void {
  if (out.json) out.raw(`${safeJson(entry)}\n`);
  else
    out.line(
      Object.values(columns)
        .map((of) => clean(String(of(entry) ?? '-')))
        .join('  '),
    );
}
