// What is done with a recorded history: it is checked, and violations are put into it that the checker must
// find.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** @typedef {import('./caller.mjs').Line} Line */

/**
 * Builds the checker. Returns what checks a history; null where Go or its modules are missing.
 * @returns {((lines: Line[], page?: string) => { isLinearizable: boolean, said: string }) | null}
 */
export function buildChecker() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'linearizability-'));
  const built = path.join(dir, 'checker');
  const cwd = path.join(import.meta.dirname, 'checker');
  if (spawnSync('go', ['build', '-o', built, '.'], { cwd, stdio: 'ignore' }).status !== 0) return null;
  return (lines, page) => {
    const file = path.join(dir, 'history.jsonl');
    fs.writeFileSync(file, textOf(lines));
    const options = page ? ['-html', page] : [];
    const { status, stdout, stderr } = spawnSync(built, [...options, file], { encoding: 'utf8' });
    if (status !== 0 && status !== 1) throw new Error(`The checker gave no verdict: ${stdout}${stderr}`);
    return { isLinearizable: status === 0, said: stdout };
  };
}

/** @param {Line[]} lines */
export const textOf = (lines) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
/** @param {string} text @returns {Line[]} */
export const linesOf = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Whether an operation ended before another began. @param {Line} one @param {Line} other */
const isBefore = (one, other) => one.return !== null && one.return < other.call;

/** A history in which one operation has another output. @param {Line[]} lines @param {Line} at */
const withOutput = (lines, at, output) => lines.map((line) => (line === at ? { ...line, output } : line));

/** The operations of each object. @param {Line[]} lines @param {string} kind @returns {Line[][]} */
const objectsOf = (lines, kind) => [
  ...Map.groupBy(
    lines.filter(({ object }) => object.startsWith(`${kind} `)),
    ({ object }) => object,
  ).values(),
];

/** Whether a replica answered it. @param {Line} line */
const isOfReplica = ({ region }) => region !== undefined && region !== 'gate';
const ofAny = () => true;

/** @param {Line[]} lines @param {(line: Line) => boolean} isOf */
function staleRead(lines, isOf) {
  for (const object of objectsOf(lines, 'secret')) {
    const reads = object.filter(({ input, output }) => input.op === 'read' && output?.id);
    for (const [older, newer, later] of triples(reads, isOf))
      if (older.output?.id === newer.output?.id && older.output?.version < newer.output?.version)
        return withOutput(lines, later, older.output);
  }
  return null;
}

/** @param {Line[]} lines @param {(line: Line) => boolean} isOf */
function lateAdmission(lines, isOf) {
  for (const object of objectsOf(lines, 'credential')) {
    const ends = object.filter(({ input, output }) => input.op === 'revoke' && output);
    for (const end of ends) {
      const use = object.find(
        (line) =>
          line.input.op === 'use' &&
          isOf(line) &&
          isBefore(end, line) &&
          (end.input.id === undefined || end.input.id === line.input.id),
      );
      if (use) return withOutput(lines, use, { status: 200 });
    }
  }
  return null;
}

/**
 * Violations: each makes of a linearizable history one that is not; null if the history has no place for it.
 * @type {Record<string, (lines: Line[]) => Line[] | null>}
 */
export const violations = {
  'a stale read': (lines) => staleRead(lines, ofAny),
  'a stale read of a replica': (lines) => staleRead(lines, isOfReplica),
  'a lost update'(lines) {
    for (const object of objectsOf(lines, 'secret'))
      for (const write of object.filter(({ input, output }) => input.value && output?.version > 2)) {
        const { id, version } = write.output;
        const wasRead = ({ output }) => output?.value && output.id === id && output.version === version - 1;
        if (object.some((read) => wasRead(read) && isBefore(read, write)))
          return withOutput(lines, write, { ...write.output, version: version - 1 });
      }
    return null;
  },
  'a request that is admitted after the reply to a revocation': (lines) => lateAdmission(lines, ofAny),
  'a request that a replica admits late': (lines) => {
    // What replicas refuse, the gate says.
    const asked = lateAdmission(lines, ({ region }) => region !== undefined);
    return asked?.map((line, at) => (line === lines[at] ? line : { ...line, region: 'oc' })) ?? null;
  },
  'a use past the bound'(lines) {
    for (const object of [...objectsOf(lines, 'budget'), ...objectsOf(lines, 'bound')]) {
      const used = object.filter(({ output }) => output?.status === 200).length;
      const refused = object.find(({ output }) => output && output.status !== 200);
      if (refused && used === refused.input.limit) return withOutput(lines, refused, { status: 200 });
    }
    return null;
  },
  'a refusal below the bound'(lines) {
    for (const object of objectsOf(lines, 'budget')) {
      const uses = object.filter(({ output }) => output?.status === 200);
      const early = uses.find((use) => uses.some((other) => isBefore(use, other)));
      if (early) return withOutput(lines, early, { status: 429 });
    }
    return null;
  },
};

/**
 * Reads of which each ended before the next began, the third one of some kind.
 * @param {Line[]} reads @param {(line: Line) => boolean} isOf
 */
function* triples(reads, isOf) {
  for (const one of reads)
    for (const two of reads.filter((read) => isBefore(one, read))) {
      const three = reads.find((read) => isBefore(two, read) && isOf(read));
      if (three) yield [one, two, three];
    }
}
