// The baseline: findings of an earlier scan that are accepted. Invariant: it holds paths and keyed digests,
// and nothing of what was found; the same finding in another file is a new one.
import path from 'node:path';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { readForeign, writeForeign } from '../settings/files.ts';
import { clean } from '../text.ts';

export interface Accepted {
  path: string;
  rule: string;
  fingerprint: string;
}

/** The most bytes of a baseline. */
const MOST = 64 * 1024 * 1024;

const keyOf = ({ path, rule, fingerprint }: Accepted) => `${fingerprint} ${rule} ${path}`;

/** Whether a finding is in the baseline. */
export function baseline(context: Context, file: string): (finding: Accepted) => boolean {
  const known = new Set(readBaseline(path.resolve(context.host.cwd, file), file).map(keyOf));
  return (finding) => known.has(keyOf(finding));
}

function readBaseline(at: string, file: string): Accepted[] {
  const wrong = usage(
    `${clean(file)} is not a baseline of svc scan.`,
    `Write one with svc scan --write-baseline ${clean(file)}`,
  );
  let parsed: { version?: unknown; findings?: unknown };
  const text = readForeign(at, { most: MOST }) ?? '';
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong;
  }
  const { version, findings } = parsed ?? {};
  const isText = (each: unknown) => typeof each === 'string';
  if (version !== 1 || !Array.isArray(findings)) throw wrong;
  if (!findings.every((each) => each && [each.path, each.rule, each.fingerprint].every(isText))) throw wrong;
  return findings;
}

/** Writes the findings of a scan as a baseline. */
export function writeBaseline(context: Context, file: string, findings: Accepted[]): void {
  const unique = new Map(findings.map((finding) => [keyOf(finding), finding]));
  const sorted = [...unique]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { path, rule, fingerprint }]) => ({ path, rule, fingerprint }));
  sorted.sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
  writeForeign(
    path.resolve(context.host.cwd, file),
    `${JSON.stringify({ version: 1, findings: sorted }, null, 2)}\n`,
  );
}
