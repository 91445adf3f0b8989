// Sends the audit log to the target of a stream, in the Worker: the job of one stream. Invariants: a batch
// that is cut off anywhere is sent again, because its lease ends; entries that were read in D1 are sent only
// if their hash chain holds; no address, credential or entry is logged.
import { utf8 } from '../../crypto/bytes';
import type { JobContext } from '../../delivery/job';
import { type Settings, settingsOf } from '../../env';
import { ApiError } from '../../errors';
import type { Entry } from '../../gate/audit/entry';
import { unwrap } from '../../gate/request/outcome';
import { chainFrom } from '../audit/check-chain';
import { partsFrom } from '../audit/verify';
import { decrypted } from './encryption';
import { type DeliverInput, type Given, MOST_ENTRIES, type Result, type Work } from './gate/deliver';
import { MOST_BATCH } from './gate/states';
import { send } from './send';
import { type Line, lineOf } from './targets';

/** How long a job runs, and how long a batch may take for the job to continue. */
const JOB_LASTS = 20_000;
const SLOW = 2000;

/** Sends what a stream has to send. */
export async function deliver(job: JobContext): Promise<void> {
  const { env, id: stream, ask } = job;
  const settings = settingsOf(env);
  if (stream === null || 'problem' in settings) return;
  const until = Date.now() + JOB_LASTS;
  let report: DeliverInput['report'] = null;
  let more: boolean = true;
  while (more || report) {
    const input: DeliverInput = { stream, report, more };
    const asked = Date.now();
    const { disabling, work } = unwrap(await ask('log_stream.deliver', input)).data as Given;
    if (disabling) return void unwrap(await ask('log_stream.disable', { stream }));
    if (!work) return;
    const began = Date.now();
    const { result, bytes } = await attempt(job, settings, work, asked + work.lasts);
    report = { lease: work.lease, from: work.from, bytes, result };
    more = Date.now() < until && Date.now() - began < SLOW;
  }
}

interface Attempted {
  result: Result;
  bytes: number;
}

const WITHHELD: Attempted = { result: { kind: 'withheld' }, bytes: 0 };
const failed = (error: string): Attempted => ({
  result: { kind: 'failed', status: null, error, retry_after: null },
  bytes: 0,
});

/** One batch. `until`: when its request may begin at the latest. */
async function attempt(job: JobContext, settings: Settings, work: Work, until: number): Promise<Attempted> {
  const { row, from, upto } = work;
  const found = work.entries ?? (await archived(job, work).catch(() => null));
  // D1 is away, which says nothing of the target.
  if (found === null) return WITHHELD;
  if (found === 'unreadable') return failed('log_unreadable');
  // A gap that the log itself names.
  if (typeof found === 'number')
    return { result: { kind: 'taken', sequence: Math.min(found, upto), hash: null, time: null }, bytes: 0 };
  const { lines, bytes } = fitting(job.org, row, found);
  const last = found[lines.length - 1];
  if (!last) return failed('log_unreadable');
  const batch = { org: job.org, id: row.id, kind: row.kind, lines };
  const sent = await (async () => {
    const whole = decrypted(job.keys, job.org, row);
    return send(settings, whole, batch, async () => Date.now() < until);
  })().catch((error) => altered(error, job.org, row.id));
  if (sent === null) return failed('altered');
  if (!sent.taken)
    return sent.error === 'withheld'
      ? WITHHELD
      : {
          result: { kind: 'failed', status: sent.status, error: sent.error, retry_after: sent.retry_after },
          bytes,
        };
  noteLag(job, work, lines[0] as Line);
  return {
    result: { kind: 'taken', sequence: last.sequence, hash: last.hash, time: Date.parse(last.time) },
    bytes: from < last.sequence ? bytes : 0,
  };
}

/** The stored target does not open. Any other error is one of ours, and the job is repeated. */
function altered(error: unknown, org: string, resource: string): null {
  if (!(error instanceof ApiError)) throw error;
  console.error(JSON.stringify({ level: 'error', event: 'log_stream_does_not_open', org, resource }));
  return null;
}

/** How long the oldest entry of a batch waited. */
const noteLag = ({ measure }: JobContext, { row }: Work, { time }: Line): void =>
  measure('svc_log_stream_lag_seconds', [row.kind], Math.max(0, Date.now() - Date.parse(time)) / 1000);

/** What a line adds to a request around its text. */
const AROUND = 300;

/** As many of the first entries as one request holds, and its size. */
function fitting(org: string, { kind, format }: Work['row'], entries: Entry[]) {
  const isQuoted = kind === 'datadog' || kind === 'otlp';
  const lines: Line[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const line = lineOf(org, format, entry);
    const size = utf8(isQuoted ? JSON.stringify(line.text) : line.text).length + AROUND;
    // safety: log-batch-bounded
    if (lines.length && bytes + size > MOST_BATCH) break;
    lines.push(line);
    bytes += size;
  }
  return { lines, bytes };
}

/**
 * The entries of a batch that are in D1; or the last sequence of a gap that the log itself names; or that
 * they cannot be read.
 */
async function archived({ env, org }: JobContext, work: Work): Promise<Entry[] | number | 'unreadable'> {
  const { from: position, hash, to, oldest, held, missing, isWhole } = work;
  const from = position + 1;
  const trace = { route: 'job', org, credential: null, gate_calls: 0, gate_ms: 0, d1_calls: 0, code: null };
  const chain = chainFrom(org, { from, hash }, missing, isWhole && from === 1);
  const entries: Entry[] = [];
  let bytes = 0;
  for await (const part of partsFrom({ env, org, trace }, { oldest, entries: [], held }, from)) {
    if (!part.entries) return entries.length ? entries : 'unreadable';
    for (const entry of part.entries) {
      if (entry.sequence < from) continue;
      if (entry.sequence > to || entries.length === MOST_ENTRIES || bytes > MOST_BATCH)
        return entries.length ? entries : skipped();
      // safety: archived-chain-checked
      if (!chain.take(entry)) return entries.length ? entries : 'unreadable';
      entries.push(entry);
      bytes += JSON.stringify(entry).length;
    }
  }
  return entries.length ? entries : skipped();

  function skipped(): number | 'unreadable' {
    chain.skip();
    const next = chain.position().from;
    return next > from ? next - 1 : 'unreadable';
  }
}
