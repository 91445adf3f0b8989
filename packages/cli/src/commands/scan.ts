// svc scan: finds credentials in files before they are committed. Invariants: a finding is shown as a
// location and a redacted preview; the exit code is 0 only if everything that was asked for was scanned.
import path from 'node:path';
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { CliError, EXIT_CODES, usage } from '../errors.ts';
import { notDocumented } from '../requests/answers.ts';
import { baseline, writeBaseline } from '../scan/baseline.ts';
import { prefixOf } from '../scan/git.ts';
import { isLog, merged, type SarifLog, type SarifResult } from '../scan/sarif.ts';
import { filesAt, IGNORE_FILE, type Left, stagedFiles } from '../scan/sources.ts';
import { batches, halves, inFile, type Part, type Source } from '../scan/text.ts';
import { counted, safeJson } from '../text.ts';

interface Options extends CommonOptions {
  staged?: boolean;
  revokeLive?: boolean;
  sarif?: boolean;
  baseline?: string;
  writeBaseline?: string;
}

type Finding = components['schemas']['Scan']['findings'][number];

/** A finding, and its result in SARIF. */
interface Found {
  finding: Finding;
  result: SarifResult;
}

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '[paths...]': 'files and directories; default: the files that git tracks here' },
  options: {
    '--staged': 'scan the files staged in git, for a pre-commit hook',
    '--revoke-live': 'revoke live tokens of your organisation that the scan finds',
    '--sarif': 'print findings as SARIF 2.1.0, for code scanning',
    '--baseline <file>': 'leave out the findings in this file',
    '--write-baseline <file>': 'write the findings to this file, to accept them',
  },
  examples: {
    scan: 'Scan the files that git tracks in this directory',
    'scan --staged': 'Scan the files of the next commit',
    'scan logs/app.log': 'Scan one file',
    'scan --sarif > svc.sarif': 'Write a SARIF file for code scanning',
  },
  notes: [
    `The exit code is ${EXIT_CODES.findings[0]} if the scan found credentials, and ${EXIT_CODES.failure[0]} if something could not be scanned. To install a pre-commit hook: printf '#!/bin/sh\\nexec svc scan --staged\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
    `A line that contains svc:allow is left out, and so are paths that ${IGNORE_FILE} names, in the format of .gitignore.`,
    'File contents are sent to your vault, which does not store them. Binary files are scanned too.',
  ],
  async run(context, { rest: paths, options }) {
    if (options.staged && paths.length > 0) throw usage('--staged and paths cannot be combined.');
    if (options.baseline && options.writeBaseline)
      throw usage('--baseline and --write-baseline cannot be combined.');
    if (options.revokeLive)
      await context.confirmDestruction(
        'This revokes every live token that the scan finds, including the token that svc uses.',
      );
    const left: Left = { ignored: 0, missed: [] };
    const files = options.staged
      ? stagedFiles(context, left)
      : fromRoot(context, filesAt(context, paths, left), options);
    const isAccepted = options.baseline ? baseline(context, options.baseline) : () => false;
    const scanned = await scan(context, options, files, left);
    const findings = scanned.found.filter(({ finding }) => !isAccepted(acceptedOf(finding)));
    if (options.writeBaseline)
      writeBaseline(
        context,
        options.writeBaseline,
        findings.map(({ finding }) => acceptedOf(finding)),
      );
    if (options.sarif) printSarif(context, scanned.logs, findings);
    else print(context, findings, scanned.files);
    const { ignored, missed } = left;
    const accepted = scanned.found.length - findings.length;
    if (ignored > 0)
      context.out.note(`${counted(ignored, 'file is', 'files are')} ignored by ${IGNORE_FILE}.`);
    if (accepted > 0) context.out.note(`${counted(accepted, 'finding is', 'findings are')} in the baseline.`);
    const isClean = findings.length === 0 || options.writeBaseline !== undefined;
    // safety: cli-scan-complete
    if (missed.length > 0 && isClean) throw incomplete(missed);
    if (missed.length > 0) context.out.warn(incomplete(missed).message);
    return isClean ? 0 : EXIT_CODES.findings[0];
  },
});

const acceptedOf = ({ path, rule, fingerprint }: Finding) => ({ path: path ?? '', rule, fingerprint });

interface Scanned {
  found: Found[];
  logs: SarifLog[];
  files: number;
}

/** Scans all files. A part that is too much for one request is scanned again in halves. */
async function scan(
  context: Context,
  options: Options,
  files: Iterable<Source>,
  left: Left,
): Promise<Scanned> {
  const scanned: Scanned = { found: [], logs: [], files: 0 };
  const seen = new Set<string>();
  /** The text of a file that showed a finding first: other texts of the file may show the same. */
  const readings = new Map<string, number | undefined>();
  const paths = new Set<string>();
  const ask = async (batch: Part[]): Promise<void> => {
    const { log, truncated } = await answered(context, options, batch);
    if (truncated) {
      const smaller = smallerThan(batch);
      for (const each of smaller) await ask(each);
      if (smaller.length > 0) return;
      const missed = `${batch[0]?.path} (more than one scan can examine)`;
      if (!left.missed.includes(missed)) left.missed.push(missed);
    }
    scanned.logs.push(log);
    const reading = batch[0]?.reading;
    for (const each of foundIn(log, batch)) {
      const { path, line, column, rule, secret_id, fingerprint } = each.finding;
      const value = [path, rule, secret_id, fingerprint].join('\n');
      if (!readings.has(value)) readings.set(value, reading);
      if (readings.get(value) !== reading) continue;
      const key = [path, line, column, rule, secret_id].join('\n');
      // Parts of a long file overlap.
      if (!seen.has(key)) scanned.found.push(each);
      seen.add(key);
    }
  };
  for (const batch of batches(files)) {
    for (const { path } of batch) paths.add(path);
    await ask(batch);
  }
  return { ...scanned, files: paths.size };
}

/** The batch in smaller ones; empty if it cannot be made smaller. */
function smallerThan(batch: Part[]): Part[][] {
  if (batch.length > 1) return [batch.slice(0, batch.length >> 1), batch.slice(batch.length >> 1)];
  return (batch[0] && halves(batch[0]))?.map((half) => [half]) ?? [];
}

async function answered(context: Context, { revokeLive }: Options, batch: Part[]) {
  const { vault, org_id } = await context.vault();
  const { data, response } = await vault.api.POST('/orgs/{org_id}/scans', {
    params: { path: { org_id }, query: { format: 'sarif' } },
    body: { files: batch.map(({ path, content }) => ({ path, content })), revoke_live: revokeLive },
  });
  const log: unknown = data;
  if (!isLog(log)) throw notDocumented(response.status);
  const [{ invocations }] = log.runs;
  return {
    log,
    truncated: invocations.some(({ toolExecutionNotifications }) => toolExecutionNotifications.length > 0),
  };
}

/** The findings of a response, with their positions in the files. */
function foundIn(log: SarifLog, batch: Part[]): Found[] {
  const [run] = log.runs;
  const isPart = batch.length === 1;
  return run.results.map((result) => {
    const [{ physicalLocation }] = result.locations;
    const { region, artifactLocation } = physicalLocation;
    const part = isPart ? (batch[0] as Part) : { line: 1, column: 1 };
    const start = inFile(part, { line: region.startLine, column: region.startColumn });
    const end = inFile(part, { line: region.endLine, column: region.endColumn });
    const moved = {
      startLine: start.line,
      startColumn: start.column,
      endLine: end.line,
      endColumn: end.column,
    };
    const path = decodeURIComponent(artifactLocation.uri);
    return {
      finding: { rule: result.ruleId, path, ...start, ...result.properties } as Finding,
      result: { ...result, locations: [{ physicalLocation: { ...physicalLocation, region: moved } }] },
    };
  });
}

const incomplete = (missed: string[]) =>
  new CliError(
    `${counted(missed.length, 'file was', 'files were')} not scanned: ${missed.slice(0, 10).join(', ')}.`,
    {
      exit: 'failure',
      code: 'SCAN_INCOMPLETE',
      next: `Make each file smaller, or name it in ${IGNORE_FILE}`,
    },
  );

function print({ out }: Context, found: Found[], files: number): void {
  out.list(
    found.map(({ finding }) => finding),
    {
      place: (row) => `${row.path}:${row.line}:${row.column}`,
      rule: (row) => row.rule,
      secret: (row) =>
        row.secret_name === undefined ? undefined : `${row.secret_name} (${row.environment})`,
      preview: (row) => row.preview,
      credential: (row) => row.credential_id,
      state: (row) =>
        row.revoked ? 'revoked' : row.live === undefined ? undefined : row.live ? 'live' : 'not live',
    },
    `No credentials found in ${counted(files, 'file')}.`,
    { files },
  );
  if (found.some(({ finding }) => finding.live && !finding.revoked && finding.credential_id))
    out.note('End a live credential, and see what it did, with svc contain and its id.');
  if (found.length > 0)
    out.note('Replace what leaked where it was issued. A line that is no leak can be marked with svc:allow.');
}

/** One log for all files. */
function printSarif({ out }: Context, logs: SarifLog[], found: Found[]): void {
  const log = merged(
    logs,
    found.map(({ result }) => result),
  );
  out.raw(`${safeJson(log, 2)}\n`);
}

/** The same files, for SARIF and baselines with paths from the root of the repository. */
function* fromRoot(
  context: Context,
  files: Iterable<Source>,
  { sarif, baseline, writeBaseline }: Options,
): Generator<Source> {
  if (!sarif && !baseline && !writeBaseline) return yield* files;
  const { cwd } = context.host;
  const prefix = prefixOf(context);
  for (const file of files) {
    const below = path.relative(cwd, path.resolve(cwd, file.path)).split(path.sep).join('/');
    yield { ...file, path: path.posix.join(prefix, below) };
  }
}
