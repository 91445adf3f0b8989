// The integrity of the audit log: a verification by the service and its result, and the signed checkpoints
// that let anyone verify an export without trusting the service.
import type { components } from '@secrets-vault/client';
import { ShieldAlert, ShieldCheck } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { counted } from '../../counted';
import { here, useList, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Listing } from '../../ui/lists/listing';
import { CopyButton, Empty, ErrorNote, Time } from '../../ui/parts';
import { Retention } from './retention';

type Verification = components['schemas']['Verification'];
type Checkpoint = components['schemas']['Checkpoint'];
/** How many sequences a gate skips that starts without the storage of the one before. */
const SKIPPED = 110_000;
const NEVER_USED =
  'Most of these numbers were never used: a new gate skips 110,000, as many entries as the lost one can have held, so that it reuses none.';

type Missing = Verification['missing'][number];

/** The combined result of the parts of a verification. */
interface Verdict {
  to: number;
  head: number;
  checkpoints: number;
  missing: Missing[];
  broken?: Verification['broken'];
  done: boolean;
}

const reasons: Record<NonNullable<Verification['broken']>['reason'], string> = {
  entry: 'This entry does not follow the previous one, or its hash is wrong.',
  checkpoint_altered: 'The checkpoint of this entry has an invalid signature.',
  checkpoint_missing: 'The checkpoint of this entry was deleted.',
  checkpoint_differs: 'This entry is not the one that was signed.',
  cut_off: 'A checkpoint was signed for an entry that no longer exists: newer entries were removed.',
};

/** Verifies part by part, and reports after each. */
async function verify(onPart: (verdict: Verdict) => void): Promise<void> {
  const verdict: Verdict = { to: 0, head: 0, checkpoints: 0, missing: [], done: false };
  let cursor: string | undefined;
  do {
    const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/verify', {
      params: { path: here(), query: { cursor } },
    });
    verdict.to = data.checked_to;
    verdict.head = data.head.sequence;
    verdict.checkpoints += data.checkpoints;
    verdict.missing.push(...data.missing);
    verdict.broken = data.broken;
    cursor = data.broken ? undefined : (data.next ?? undefined);
    verdict.done = !cursor;
    onPart({ ...verdict });
  } while (cursor);
}

function Result({ verdict }: { verdict: Verdict }) {
  const { to, head, checkpoints, missing, broken, done } = verdict;
  if (!done)
    return (
      <div class="stack">
        <p>
          Checked {to.toLocaleString()} of {counted(head, 'entry', 'entries')}
        </p>
        <progress max={head} value={to} aria-label="Verifying" />
      </div>
    );
  if (broken)
    return (
      <div class="card verdict bad" role="alert">
        <ShieldAlert size={24} aria-hidden="true" />
        <div>
          <h3>The log is not intact: entry {broken.sequence.toLocaleString()}</h3>
          <p>{reasons[broken.reason]}</p>
          <p class="dim">
            Earlier entries are unchanged. Compare this entry with an export that you stored elsewhere.
          </p>
        </div>
      </div>
    );
  return (
    <div class="card verdict good" role="status">
      <ShieldCheck size={24} aria-hidden="true" />
      <div>
        <h3>The log is intact</h3>
        <p>
          {counted(to, 'entry', 'entries')} verified.{' '}
          {checkpoints
            ? `${counted(checkpoints, 'signed checkpoint matches', 'signed checkpoints match')}.`
            : 'There are no signed checkpoints yet.'}
        </p>
        {missing.map(({ from, to: last, reason }) => (
          <p key={from}>
            Entries {from.toLocaleString()} to {last.toLocaleString()} are lost:{' '}
            {reason === 'restore'
              ? 'the restored backup does not contain them.'
              : 'the gate lost its storage.'}
            {reason === 'gate_lost' && last - from + 1 >= SKIPPED && ` ${NEVER_USED}`}
          </p>
        ))}
      </div>
    </div>
  );
}

function Verifying() {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [error, setError] = useState<unknown>(null);
  const run = async () => {
    setError(null);
    setVerdict(null);
    await verify(setVerdict).catch(setError);
  };
  return (
    <section class="stack narrow">
      <h2>Verify the log</h2>
      <p class="dim">
        Every entry contains the hash of the previous one. The service recomputes all hashes and compares them
        with the signed checkpoints.
      </p>
      <div class="row">
        <Button kind="primary" onPress={run}>
          {verdict?.done ? 'Verify again' : 'Verify the log'}
        </Button>
      </div>
      {error ? <ErrorNote error={error} onRetry={run} /> : null}
      {verdict && <Result verdict={verdict} />}
    </section>
  );
}

function PublicKey() {
  const { data, error, refetch } = useRead(['audit-key'], (signal) =>
    vault().api.GET('/orgs/{org_id}/audit-log/key', { params: { path: here() }, signal }),
  );
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  return (
    <p class="copyable">
      <code class="grow">{data ? `${data.key_id} (Ed25519)` : '…'}</code>
      {data && <CopyButton text={data.pem} label="Copy public key" />}
    </p>
  );
}

function Checkpoints() {
  const list = useList<Checkpoint>(
    ['audit-checkpoints'],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/audit-log/checkpoints', {
        params: { path: here(), query: { limit: 50, cursor } },
        signal,
      }) as never,
  );
  return (
    <section class="stack">
      <h2>Signed checkpoints</h2>
      <p class="dim">
        A checkpoint is signed every ten minutes while there are new entries. Store some elsewhere with the
        public key, so that a later change to the log cannot be hidden. The key never changes.
      </p>
      <PublicKey />
      <Listing<Checkpoint>
        list={list}
        skeleton={3}
        label="Signed checkpoints"
        keyOf={({ sequence }) => String(sequence)}
        columns={[
          { label: 'Up to entry', width: '8rem', cell: ({ sequence }) => sequence.toLocaleString() },
          { label: 'Signed', width: '9rem', cell: ({ time }) => <Time at={time} /> },
          {
            label: 'Hash of the entry',
            width: 'minmax(10rem, 1fr)',
            wide: true,
            cell: ({ hash }) => <code class="truncate">{hash}</code>,
          },
        ]}
        empty={
          <Empty title="No checkpoints yet">
            The first one is signed within ten minutes of the first entry.
          </Empty>
        }
      />
    </section>
  );
}

export const Integrity = () => (
  <div class="stack">
    <Verifying />
    <Checkpoints />
    <Retention />
  </div>
);
