// Leak scans: searches pasted text or dropped files for credentials. Invariant: the content stays in the
// memory of this page and is sent only to the service, which does not store it; findings contain locations
// and redacted previews.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { forget } from '../../requests/api';
import '../../styles/integrations.css';
import { useDrop } from '../../changes/unsaved';
import { counted } from '../../counted';
import { useGuard } from '../../navigation/guard';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { DropFiles } from '../../ui/forms/drop-files';
import { Checkbox, TextArea } from '../../ui/forms/field';
import { Segments } from '../../ui/lists/filters';
import { Lines, Table } from '../../ui/lists/table';
import { Badge, Empty, ErrorNote, PageHead } from '../../ui/parts';
import { download } from '../../ui/values/download';
import { partsOf, readFiles, type Scanned, scanAll, type ToScan } from './scan';

type Finding = components['schemas']['Finding'];

const placeOf = ({ path, line, column }: Finding): string => `${path ?? 'Text'}:${line}:${column}`;

const keyOf = ({ rule, path, line, column, secret_id }: Finding) =>
  [rule, path, line, column, secret_id].join('\n');

/** The type and status of a finding. */
function What({ finding }: { finding: Finding }) {
  if (finding.secret_id)
    return (
      <>
        <Badge tone="bad">stored secret</Badge>{' '}
        <Link href={`/secrets/${finding.secret_id}`}>View secret</Link>
      </>
    );
  if (finding.revoked) return <Badge tone="good">revoked</Badge>;
  if (finding.live) return <Badge tone="bad">live token</Badge>;
  if (finding.live === false) return <Badge>invalid token</Badge>;
  return <Badge tone="warn">known format</Badge>;
}

const columns = [
  {
    label: 'Finding',
    width: 'minmax(9rem, 1.2fr)',
    cell: (finding: Finding) => (
      <Lines sub={<span class="mono">{placeOf(finding)}</span>}>{finding.rule.replaceAll('-', ' ')}</Lines>
    ),
  },
  { label: 'Type', width: 'minmax(11rem, 1fr)', cell: (finding: Finding) => <What finding={finding} /> },
  {
    label: 'Where',
    width: 'minmax(10rem, 2fr)',
    wide: true,
    cell: (finding: Finding) => (
      <span class="mono truncate" title={finding.path ?? undefined}>
        {placeOf(finding)}
      </span>
    ),
  },
  {
    label: 'Preview',
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: ({ preview }: Finding) => <code class="truncate">{preview}</code>,
  },
];

function Findings({ result }: { result: Scanned }) {
  const { findings, truncated, unread } = result;
  const stored = new Set(findings.flatMap(({ secret_id }) => secret_id ?? [])).size;
  return (
    <section class="stack" aria-live="polite">
      <h2>{findings.length ? counted(findings.length, 'finding') : 'No findings'}</h2>
      {stored > 0 && (
        <p class="note bad">
          {stored === 1
            ? 'The value of one secret was found'
            : `Values of ${counted(stored, 'secret')} were found`}
          . Rotate leaked secrets: a value in a repository stays in its history.
        </p>
      )}
      {truncated && <p class="note warn">The scan is incomplete. Scan fewer files at a time.</p>}
      {unread.length > 0 && (
        <p class="note">Not scanned, because they are too large or not text: {unread.join(', ')}</p>
      )}
      <Table
        label="Findings"
        rows={findings}
        columns={columns}
        keyOf={keyOf}
        empty={
          <Empty title="No credentials found">
            The scan covers known formats and the secrets that you can read.
          </Empty>
        }
      />
    </section>
  );
}

/** The input of a scan and its result. */
function useScan() {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<ToScan>({ files: [], unread: [] });
  const [result, setResult] = useState<Scanned | null>(null);
  const [error, setError] = useState<unknown>(null);
  useDrop('read', () => setFiles({ files: [], unread: [] }));
  useGuard(text && !result ? 'The text is not scanned yet.' : undefined);
  const change = (set: () => void) => {
    set();
    setResult(null);
    setError(null);
  };
  return {
    text,
    files,
    result,
    error,
    clear: () => change(() => {}),
    type: (typed: string) => change(() => setText(typed)),
    take: async (taken: File[]) => {
      const read = await readFiles(taken);
      change(() => setFiles(read));
    },
    run: async (isText: boolean, revoke: boolean) => {
      setError(null);
      try {
        setResult(
          await scanAll(isText ? [{ text }] : partsOf(files.files), isText ? [] : files.unread, revoke),
        );
        if (revoke) await forget('credentials');
      } catch (refused) {
        setError(refused);
      }
    },
  };
}

function Given({ isText, scan }: { isText: boolean; scan: ReturnType<typeof useScan> }) {
  const [first, ...rest] = scan.files.files;
  if (!isText)
    return (
      <DropFiles multiple onFiles={scan.take}>
        {first && (
          <>
            <strong class="mono">{first.path}</strong>
            <span class="dim">
              {rest.length ? ` and ${rest.length.toLocaleString()} more` : ''}. Drop other files to replace
              them.
            </span>
          </>
        )}
      </DropFiles>
    );
  return (
    <TextArea
      label="Text"
      secret
      class="mono"
      rows={9}
      spellcheck={false}
      value={scan.text}
      onValue={scan.type}
      hint="Paste a log, message or file before you share it"
    />
  );
}

export default function Scans() {
  const [from, setFrom] = useParameter('from');
  const [revoke, setRevoke] = useState(false);
  const [asking, setAsking] = useState(false);
  const scan = useScan();
  const isText = from !== 'files';
  const isEmpty = isText ? !scan.text : !scan.files.files.length;
  const report = () =>
    download(
      'findings.json',
      'application/json',
      JSON.stringify({ findings: scan.result?.findings ?? [] }, null, 2),
    );
  return (
    <>
      <PageHead
        title="Leak scans"
        lead="Finds credentials of more than 100 known formats, tokens of this service, and values of your secrets."
      />
      <div class="stack">
        <div class="stack narrow">
          <Segments
            label="Scan"
            value={isText ? 'text' : 'files'}
            onValue={(value) => {
              scan.clear();
              setFrom(value === 'files' ? 'files' : '');
            }}
            choices={[
              { value: 'text', label: 'Text' },
              { value: 'files', label: 'Files' },
            ]}
          />
          <Given isText={isText} scan={scan} />
          <Checkbox
            label="Revoke live tokens"
            hint="Tokens of this organisation that the scan finds are revoked immediately."
            checked={revoke}
            onChecked={setRevoke}
          />
          {scan.error ? <ErrorNote error={scan.error} /> : null}
          <div class="row">
            <Button
              kind={revoke ? 'danger' : 'primary'}
              disabled={isEmpty}
              onPress={() => (revoke ? setAsking(true) : scan.run(isText, false))}
            >
              {revoke ? 'Scan and revoke' : 'Scan'}
            </Button>
            {scan.result && scan.result.findings.length > 0 && (
              <Button onPress={report}>Download findings</Button>
            )}
            <span class="dim small">The content is not stored. The scan is recorded in the audit log.</span>
          </div>
        </div>
        {scan.result && <Findings result={scan.result} />}
      </div>
      {asking && (
        <Confirm
          title="Scan and revoke live tokens?"
          action="Scan and revoke"
          onConfirm={() => scan.run(isText, true)}
          onClose={() => setAsking(false)}
        >
          <p>
            This immediately revokes API keys, sessions, agents and other tokens of this organisation that the
            scan finds. Programs that use them will fail. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}
