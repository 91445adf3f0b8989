// What the health check asks of an organisation's gate: can its storage be written, and does D1 hold the last
// change that the gate made there? If it does not, the database is another one, such as a restored backup,
// and changes are refused until it is adopted. It also notices a clock that was set back: until it is right,
// what has expired would be alive again. Invariants: it changes nothing that callers see; a change that is
// under way is never taken for a difference.
import { type RowKind, sweepAt, tableName } from '../../db/rows';
import { isClockBehind } from '../audit/clock';
import type { Core } from '../core';
import type { Vitals } from '../request/call';
import { backlogs } from '../tasks/backlog';
import { epochOf } from './fence';
import { type Intent, intents } from './intents';
import { isLater, marks, type Newest, newest } from './marks';

/** The last row that a change left in D1 or, with `gone`, removed from it. */
interface LastChange {
  kind: RowKind;
  id: string;
  gone: boolean;
}

const KEY = 'last_change';
/** How long a difference must last: rows that have ended leave D1 and the gate one after the other. */
const LASTING = 250;

/**
 * Records the last row of a commit, in its transaction. Rows that leave by themselves, such as session
 * tokens, say nothing later.
 */
export function noteChange({ meta }: Core, { puts, gone }: Intent): void {
  const put = puts.findLast(({ kind, row }) => sweepAt(kind, row as never) === null);
  const last: LastChange | undefined = put
    ? { kind: put.kind, id: put.row.id, gone: false }
    : gone[0] && { ...gone[0], gone: true };
  if (!last) return;
  const text = JSON.stringify(last);
  if (meta.get(KEY) !== text) meta.set(KEY, text);
}

export async function vitalsOf(core: Core): Promise<Vitals> {
  backlogs(core).warn(core.org, core.now());
  if (await difference(core)) {
    await new Promise((done) => setTimeout(done, LASTING));
    const lasting = await difference(core);
    if (lasting === 'behind') marks(core).isBehind = true;
    if (lasting) return lasting;
  }
  // On a full disk a gate reads and answers, but each request fails, because its audit entry cannot be
  // written.
  // safety: vitals-write
  core.meta.set('asked', String(core.now()));
  return isClockBehind(core) ? 'clock' : 'well';
}

/**
 * How D1 differs: later changes, another epoch, or another last row. An unresponsive D1 is no difference: the
 * health check tests D1 itself.
 */
async function difference(core: Core): Promise<'behind' | 'diverged' | null> {
  if (isChanging(core)) return null;
  const before = core.meta.get(KEY);
  const last = before === null ? null : (JSON.parse(before) as LastChange);
  // The table is one of the schema's names.
  const table = last ? tableName(last.kind) : '';
  const own = last?.kind === 'org' ? 'id = ?1 and ?2 = ?1' : 'org_id = ?1 and id = ?2';
  const stored = await core.database
    .all<{ epoch: number | null; mac: string | null } & Newest>({
      sql: `select ${newest}, (select epoch from fences where org_id = ?1) epoch, ${last ? `(select mac from ${table} where ${own})` : '?2'} mac`,
      params: [core.org, last?.id ?? null],
    })
    .catch(() => null);
  const epochs = [epochOf(core), Number(core.meta.get('raising') ?? 1)];
  if (!stored || isChanging(core) || core.meta.get(KEY) !== before) return null;
  const [{ epoch, mac, ...latest } = { epoch: null, mac: null, mark: null, sequence: null }] = stored;
  if (isLater(core, latest)) return 'behind';
  if (epoch === null || !epochs.includes(epoch) || (latest.mark ?? 0) < marks(core).applied())
    return 'diverged';
  if (!last) return null;
  const row = core.rows.get(last.kind, last.id);
  // A row that has left the gate since says nothing.
  return (row ? mac !== row.mac : last.gone && mac !== null) ? 'diverged' : null;
}

function isChanging(core: Core): boolean {
  const open = intents(core);
  return open.isPaused || open.running.size > 0 || open.unsettled().length > 0;
}
