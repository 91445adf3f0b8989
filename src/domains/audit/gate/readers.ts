// The last readers of a secret, from the gate's counters. Invariant: a caller limited to environments or
// names sees only readers whose audit entries it may see.
import { type Caller, reaches } from '../../../auth/authorize';
import type { SecretRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { type Reading, readers } from '../../../gate/archive/readers';
import type { Entry } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import { callerOf, memberOf } from '../../../gate/identity/caller';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId, slugOf } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { shows, viewOf } from '../view';
import { readerOut } from '../wire';

interface ReadersInput {
  limit: number;
  /** `time:reader` of the last reader on the previous page. */
  after: string | null;
}

/** The readers of a secret, through single and bulk reads, each once, newest first. */
function readersOf({ core }: Call<unknown>, row: SecretRow): { reader: string; reading: Reading }[] {
  const all = readers(core).of(row.id);
  for (const [reader, reading] of readers(core).of(row.environment_id)) {
    if (!row.name.startsWith(reading.prefix ?? '') || !mayHaveRead(core, reader, reading, row)) continue;
    const known = all.get(reader);
    // The version of a bulk read is known only if the secret has not changed since.
    const bulk = { ...reading, version: row.updated_at <= reading.at ? row.version : null };
    const newest = known && known.at > bulk.at ? known : bulk;
    all.set(reader, { ...newest, count: bulk.count + (known?.count ?? 0) });
  }
  return [...all]
    .map(([reader, reading]) => ({ reader, reading }))
    .sort((a, b) => b.reading.at - a.reading.at || (a.reader < b.reader ? -1 : 1));
}

/**
 * Whether a bulk read included this secret, as far as is known. A reader limited to some names is judged by
 * its current reach.
 */
function mayHaveRead(core: Core, reader: string, { actor, isLimited }: Reading, row: SecretRow): boolean {
  if (!isLimited) return true;
  const caller = holderOf(core, reader.split(':')[0] as string, actor.kind);
  return caller !== null && reaches(caller, ['secrets:read'], row.environment_id, row.name);
}

function holderOf(core: Core, id: string, kind: string): Caller | null {
  if (kind === 'member') return memberOf(core, id, core.rows.get('member', id));
  const row = core.rows.get('credential', id);
  return row && callerOf(core, lineageOf(core, row));
}

const list: Operation<ReadersInput> = {
  readsLog: true,
  subject: ({ core, ask }) => ({ resource: core.rows.get('secret', namedId(ask, 'secret'))?.id ?? null }),
  read(call): Outcome {
    const { core, ask, caller, input } = call;
    const row = core.rows.get('secret', namedId(ask, 'secret'));
    if (!row || row.deleted_at !== null) return fail(refuse('NOT_FOUND'));
    const view = viewOf(caller, (id) => slugOf(core, id));
    const environment = slugOf(core, row.environment_id);
    // safety: readers-within-view
    const isShown = ({ actor, prefix }: Reading) =>
      shows(view, { actor, environment, resource_name: prefix === null ? row.name : null } as Entry);
    const placeOf = ({ reader, reading }: { reader: string; reading: Reading }) => `${reading.at}:${reader}`;
    const all = readersOf(call, row).filter(({ reading }) => isShown(reading));
    const [at, ...rest] = (input.after ?? '').split(':');
    const after =
      input.after === null
        ? all
        : all.filter((one) => isAfter(one.reading.at, one.reader, Number(at), rest.join(':')));
    const page = after.slice(0, input.limit);
    const last = page.at(-1);
    return ok({
      items: page.map(({ reading }) => readerOut(reading)),
      next: last && after.length > page.length ? placeOf(last) : null,
    });
  },
};

const isAfter = (at: number, reader: string, lastAt: number, last: string) =>
  at < lastAt || (at === lastAt && reader > last);

export const readerOperations = { 'audit.readers': list };
