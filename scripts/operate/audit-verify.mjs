// `npm run audit:verify -- FILE.ndjson --checkpoints FILE --key FILE`: verifies an export of the audit log
// without the service: hash chain, order, completeness and signed checkpoints. For auditors: one file,
// Node.js 20 or later, `canonicalize`, no network. Invariants: it states only what the files prove, and calls
// a log intact only where checkpoints cover it; of several faults, it names the one with the lowest sequence;
// it reads the log line by line, regardless of its size.
import { createHash, createPublicKey, verify } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import canonicalize from 'canonicalize';

const USAGE = `Use: npm run audit:verify -- FILE.ndjson --checkpoints FILE --key FILE [--first SEQUENCE] [--last SEQUENCE] [--accept-uncovered] [--json]
  FILE.ndjson     GET /orgs/ORG/audit-log?format=ndjson, or an export of entries past retention; newest or oldest entry first
  --checkpoints   GET /orgs/ORG/audit-log/checkpoints (fetch them before the log), or checkpoints that you stored earlier
  --key           GET /orgs/ORG/audit-log/key, as JWK or PEM; preferably a copy that you stored earlier
  --first         the first sequence that the file must contain, if neither the log nor the checkpoints begin there
  --last          the last sequence that the file must contain, if there are checkpoints of newer entries
  --json          print one JSON object
  --help          print this
  --accept-uncovered  exit with 0 although no checkpoint covers part of the log, such as its newest entries
Exit code: 0 intact, 1 not intact, 2 wrong use, 3 no fault found, but checkpoints do not cover all of it.`;

/**
 * @typedef {{ sequence: number, hash: string, prev_hash: string, time: string, format?: number, missing?:
 *   Stretch[] }} Entry
 */
/** @typedef {{ from: number, to: number, reason: string }} Stretch */
/** @typedef {{ org: string, sequence: number, hash: string, time: string, signature: string }} Checkpoint */
/** @typedef {{ from: number, to: number, kind: 'before' | 'unsigned' }} Uncovered */
/** @typedef {{ kind: string, sequence: number, line: number | null, message: string }} Fault */

/** Wrong usage, or an invalid file. */
class UsageError extends Error {}

const sha256 = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex');

/** The hash of an entry, by its format; null if the format is unknown. @param {Entry} entry */
function hashOf({ hash: _, ...entry }) {
  if (entry.format === undefined) return sha256(JSON.stringify(entry));
  return entry.format === 2 ? sha256(/** @type {string} */ (canonicalize(entry))) : null;
}

// ---------------------------------------------------------------- checkpoints

/** @param {string} file */
function readText(file) {
  try {
    return fs.readFileSync(path.resolve(process.env.INIT_CWD ?? '', file), 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
}

/** @param {string} file */
function readKey(file) {
  const text = readText(file);
  try {
    const json = text.trimStart().startsWith('{') ? JSON.parse(text) : null;
    const key = createPublicKey(json ? { key: json.jwk ?? json, format: 'jwk' } : text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {}
  throw new UsageError(`${file} contains no Ed25519 public key, neither as JWK nor as PEM.`);
}

/** One JSON value, or one per line. @param {string} text */
function valuesOf(text) {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => JSON.parse(line));
  }
}

/**
 * Checkpoints, on their own, in pages or as the data of events.
 * @param {any} value
 * @returns {Checkpoint[]}
 */
function checkpointsIn(value) {
  if (Array.isArray(value)) return value.flatMap(checkpointsIn);
  if (Array.isArray(value?.data)) return value.data.flatMap(checkpointsIn);
  if (value?.checkpoint) return checkpointsIn(value.checkpoint);
  const one = value?.data?.signature ? { org: value.org_id, ...value.data } : value;
  if (
    [one?.org, one?.time, one?.signature].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(one.sequence) &&
    isHash(one.hash)
  )
    return [one];
  throw new UsageError('The file of --checkpoints contains something other than checkpoints.');
}

/**
 * Genuine checkpoints by sequence, and the first fault.
 * @param {string} file
 * @param {import('node:crypto').KeyObject} key
 */
function readCheckpoints(file, key) {
  let values;
  try {
    values = valuesOf(readText(file));
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`${file} is not JSON.`);
  }
  /** @type {Map<number, Checkpoint>} */
  const checkpoints = new Map();
  const faults = new Faults();
  for (const one of values.flatMap(checkpointsIn)) {
    const { org, sequence, hash, time, signature } = one;
    const message = Buffer.from(/** @type {string} */ (canonicalize({ hash, org, sequence, time })));
    const say = (/** @type {string} */ what) =>
      faults.note('checkpoint', sequence, null, `The checkpoint of entry ${sequence} ${what}.`);
    if (!verify(null, message, key, Buffer.from(signature, 'base64')))
      say('was altered or signed by another key');
    else if (checkpoints.has(sequence) && checkpoints.get(sequence)?.hash !== hash)
      say('contradicts another signed checkpoint');
    else checkpoints.set(sequence, one);
  }
  const orgs = new Set([...checkpoints.values()].map(({ org }) => org));
  if (orgs.size > 1) throw new UsageError('The checkpoints are those of several organisations.');
  return { checkpoints, org: [...orgs][0] ?? null, fault: faults.first };
}

/** Keeps the fault with the lowest sequence. */
class Faults {
  /** @type {Fault | null} */
  first = null;

  /** @param {string} kind @param {number} sequence @param {number | null} line @param {string} message */
  note(kind, sequence, line, message) {
    if (!this.first || sequence < this.first.sequence) this.first = { kind, sequence, line, message };
  }
}

// ---------------------------------------------------------------- the log

/** Walks a log line by line. */
class Walk {
  entries = 0;
  /** Sequences of entries that a checkpoint confirms. @type {Set<number>} */
  confirmed = new Set();
  faults = new Faults();
  /** The entry read last, and the oldest and the newest. @type {Entry | null} */
  last = null;
  /** @type {Entry | null} */
  oldest = null;
  /** @type {Entry | null} */
  newest = null;
  /** @type {{ from: number, to: number, line: number }[]} */
  gaps = [];
  /**
   * The lost ranges according to the newest entry that records them.
   * @type {{ by: number, stretches: Stretch[] }}
   */
  lost = { by: 0, stretches: [] };

  /** @param {1 | -1} direction 1: oldest first. @param {Map<number, Checkpoint>} checkpoints */
  constructor(direction, checkpoints) {
    this.direction = direction;
    this.checkpoints = checkpoints;
  }

  /**
   * Whether a checkpoint covers the entry that records the lost ranges: it signs that entry or a later one,
   * and none is missing in between. Otherwise whoever removed entries could have written it.
   */
  isLossSigned() {
    const { by } = this.lost;
    const end = Math.min(...this.gaps.flatMap(({ from }) => (from > by ? [from - 1] : [])), Infinity);
    return [...this.confirmed].some((sequence) => by <= sequence && sequence <= end);
  }

  /** @param {string} text @param {number} line */
  take(text, line) {
    const entry = entryIn(text);
    if (entry === 'checkpoint') return;
    if (!entry) {
      const expected = (this.last?.sequence ?? 0) + this.direction;
      this.faults.note(
        'malformed',
        expected,
        line,
        `Line ${line} is not an audit entry in the service's export format, or is truncated.`,
      );
      return;
    }
    this.entries++;
    this.check(entry, line);
    if (entry.missing && entry.sequence > this.lost.by)
      this.lost = { by: entry.sequence, stretches: entry.missing };
    this.follow(entry, line);
  }

  /** Checks the entry on its own. @param {Entry} entry @param {number} line */
  check(entry, line) {
    const { sequence, hash, time } = entry;
    const signed = this.checkpoints.get(sequence);
    if (hash !== hashOf(entry))
      this.faults.note(
        'altered',
        sequence,
        line,
        `Entry ${sequence} of ${time} was altered: its hash does not match its contents.`,
      );
    else if (signed && signed.hash !== hash)
      this.faults.note(
        'altered',
        sequence,
        line,
        `Entry ${sequence} of ${time} is not the one signed in the checkpoint of ${signed.time}.`,
      );
    else if (signed) this.confirmed.add(sequence);
  }

  /** Checks the entry against the one before it. @param {Entry} entry @param {number} line */
  follow(entry, line) {
    const { last, direction } = this;
    const steps = last ? (entry.sequence - last.sequence) * direction : 1;
    if (last && steps <= 0) return this.backwards(entry, line);
    const [older, newer] = direction > 0 ? [last, entry] : [entry, last];
    if (older && newer && steps > 1)
      this.gaps.push({ from: older.sequence + 1, to: newer.sequence - 1, line });
    else if (older && newer && newer.prev_hash !== older.hash)
      this.faults.note(
        ...['altered', older.sequence, direction > 0 ? line - 1 : line],
        `Entry ${older.sequence} of ${older.time} was altered or replaced: entry ${newer.sequence}, which follows it, has a different prev_hash.`,
      );
    this.last = entry;
    if (!this.oldest || entry.sequence < this.oldest.sequence) this.oldest = entry;
    if (!this.newest || entry.sequence > this.newest.sequence) this.newest = entry;
  }

  /** An entry out of order. @param {Entry} entry @param {number} line */
  backwards({ sequence, time }, line) {
    const gap = this.gaps.find(({ from, to }) => from <= sequence && sequence <= to);
    const isBeyond = sequence < (this.oldest?.sequence ?? 0) || sequence > (this.newest?.sequence ?? 0);
    if (!gap && !isBeyond)
      return this.faults.note(
        'duplicated',
        sequence,
        line,
        `Entry ${sequence} of ${time} is in the log twice.`,
      );
    this.faults.note(
      'reordered',
      sequence,
      line,
      `Entry ${sequence} of ${time} is out of place: the log was reordered.`,
    );
    if (!gap) return;
    this.gaps.splice(this.gaps.indexOf(gap), 1);
    for (const part of [
      { ...gap, to: sequence - 1 },
      { ...gap, from: sequence + 1 },
    ])
      if (part.from <= part.to) this.gaps.push(part);
  }
}

/** @param {string} text @returns {Entry | 'checkpoint' | null} */
function entryIn(text) {
  try {
    const value = JSON.parse(text);
    // The last line of an export of entries past retention.
    if (value?.checkpoint && value.sequence === undefined) return 'checkpoint';
    // Another notation could repeat a field and mean different things to different readers.
    const isPlain = JSON.stringify(value) === text;
    const isEntry =
      Number.isSafeInteger(value?.sequence) &&
      value.sequence > 0 &&
      // It is printed: it must not steer a terminal.
      isTime(value.time) &&
      [value.hash, value.prev_hash].every(isHash);
    return isPlain && isEntry ? value : null;
  } catch {
    return null;
  }
}

/**
 * The lines of a file, read piece by piece. Only a line feed ends a line: newer Node releases also end lines
 * at U+2028.
 * @param {string} file
 */
async function* linesOf(file) {
  let rest = '';
  for await (const piece of fs.createReadStream(file, { encoding: 'utf8' })) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest) yield rest;
}

const isTime = (/** @type {unknown} */ value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
const isHash = (/** @type {unknown} */ value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/**
 * Whether the oldest entry comes first, by the first and the last line.
 * @param {string} file
 * @returns {1 | -1}
 */
function directionOf(file) {
  const size = 4 * 1024 * 1024;
  const fd = fs.openSync(file, 'r');
  try {
    const end = fs.fstatSync(fd).size;
    const piece = (/** @type {number} */ at) => {
      const bytes = Buffer.alloc(Math.min(size, end));
      fs.readSync(fd, bytes, 0, bytes.length, at);
      return bytes
        .toString('utf8')
        .split('\n')
        .map(entryIn)
        .filter((entry) => entry !== null && entry !== 'checkpoint');
    };
    const first = piece(0)[0];
    const last = piece(Math.max(0, end - size)).at(-1);
    return first && last && first.sequence > last.sequence ? -1 : 1;
  } finally {
    fs.closeSync(fd);
  }
}

// ---------------------------------------------------------------- the verdict

/**
 * Judges the gaps: entries lost, according to the log itself, or removed.
 * @param {Walk} walk
 * @returns {Stretch[]}
 */
function judgeGaps(walk) {
  const isSigned = walk.isLossSigned();
  const { stretches } = isSigned ? walk.lost : { stretches: [] };
  /** @type {Stretch[]} */
  const lost = [];
  for (const gap of walk.gaps) {
    let at = gap.from;
    for (let stretch; at <= gap.to; at = stretch.to + 1) {
      const place = at;
      stretch = stretches.find(({ from, to }) => from <= place && place <= to);
      if (!stretch) break;
      lost.push({ from: at, to: Math.min(stretch.to, gap.to), reason: stretch.reason });
    }
    if (at <= gap.to)
      walk.faults.note(
        'removed',
        at,
        gap.line,
        `Entry ${at} was removed${at < gap.to ? `, and all up to ${gap.to}` : ''}: nothing in the log accounts for it.`,
      );
  }
  if (walk.lost.by && !isSigned && walk.gaps.length && walk.faults.first?.kind === 'removed')
    walk.faults.first.message += ` Entry ${walk.lost.by} records lost entries, but no checkpoint covers it yet.`;
  // An entry that the log records as lost but that exists was inserted.
  for (const { from, to } of stretches) {
    const inside = presentIn(walk, from, to);
    if (inside !== null)
      walk.faults.note('inserted', inside, null, `Entry ${inside} was inserted: the log records it as lost.`);
  }
  return lost;
}

/**
 * The first sequence of a range that has an entry.
 * @param {Walk} walk
 * @param {number} from
 * @param {number} to
 */
function presentIn({ oldest, newest, gaps }, from, to) {
  let at = Math.max(from, oldest?.sequence ?? 1);
  const end = Math.min(to, newest?.sequence ?? 0);
  for (const gap of [...gaps].sort((a, b) => a.from - b.from))
    if (gap.from <= at && at <= gap.to) at = gap.to + 1;
  return at <= end ? at : null;
}

/**
 * Where the log begins. Returns the sequences before it whose absence nothing accounts for, if there are any.
 * @param {Walk} walk @param {{ org: string | null, first: number | null }} expected @param {Stretch[]} lost
 *   @returns {Uncovered[]}
 */
function judgeBegin(walk, { org, first }, lost) {
  const oldest = /** @type {Entry} */ (walk.oldest);
  let begin = oldest.sequence;
  for (let stretch; begin > 1; begin = stretch.from) {
    const place = begin - 1;
    stretch = walk.isLossSigned()
      ? walk.lost.stretches.find(({ from, to }) => from <= place && place <= to)
      : undefined;
    if (!stretch || (first !== null && place < first)) break;
    lost.push({ ...stretch, to: place });
  }
  const before = walk.checkpoints.get(begin - 1);
  const earliest = Math.min(...walk.checkpoints.keys());
  const say = (/** @type {string} */ why) =>
    walk.faults.note('cut_off', begin - 1 || 1, null, `The log was cut off before entry ${begin}: ${why}.`);
  if (first !== null) {
    if (begin > first) say(`it is to begin at entry ${first}`);
  } else if (begin > 1 && earliest < begin - 1) say(`a checkpoint confirms entry ${earliest}`);
  // Lost entries between the two are in no file, so their hashes cannot be compared.
  if (before && begin === oldest.sequence && before.hash !== oldest.prev_hash)
    walk.faults.note(
      'altered',
      oldest.sequence,
      null,
      `Entry ${oldest.sequence} does not follow the previous entry, which a checkpoint confirms.`,
    );
  if (oldest.sequence === 1 && org !== null && oldest.prev_hash !== sha256(`svc/v1/audit/${org}`))
    walk.faults.note('altered', 1, null, 'Entry 1 is not the beginning of the log of this organisation.');
  const isAccountedFor = begin === 1 || first !== null || begin - 1 === before?.sequence;
  return isAccountedFor ? [] : [{ from: 1, to: begin - 1, kind: 'before' }];
}

/** Where the log ends. @param {Walk} walk @param {number | null} last */
function judgeEnd(walk, last) {
  const { sequence } = /** @type {Entry} */ (walk.newest);
  const signed = Math.max(0, ...walk.checkpoints.keys());
  const needed = last ?? signed;
  if (sequence >= needed) return;
  const why =
    last === null
      ? `a checkpoint of ${walk.checkpoints.get(signed)?.time} confirms entry ${signed}`
      : `it is to end at entry ${last}`;
  walk.faults.note('cut_off', sequence + 1, null, `The log was cut off after entry ${sequence}: ${why}.`);
}

/** @param {string} name @param {string | undefined} text */
function numberOf(name, text) {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new UsageError(`--${name} must be a sequence.`);
  return value;
}

/** @param {string[]} args */
async function check(args) {
  const { values, positionals } = parse(args);
  const [name] = positionals;
  if (name === undefined || positionals.length > 1 || !values.checkpoints || !values.key)
    throw new UsageError(USAGE);
  const expected = { first: numberOf('first', values.first), last: numberOf('last', values.last) };
  const { checkpoints, org, fault } = readCheckpoints(values.checkpoints, readKey(values.key));
  const file = path.resolve(process.env.INIT_CWD ?? '', name);
  if (!fs.existsSync(file) || !fs.statSync(file).isFile()) throw new UsageError(`${name} cannot be read.`);
  const walk = new Walk(directionOf(file), checkpoints);
  if (fault) walk.faults.note(fault.kind, fault.sequence, fault.line, fault.message);
  let line = 0;
  for await (const text of linesOf(file)) walk.take(text, ++line);
  if (walk.entries === 0 && !walk.faults.first && checkpoints.size === 0)
    throw new UsageError(`${name} contains no audit entries.`);
  if (walk.entries === 0) {
    walk.faults.note('cut_off', 1, null, 'The log contains no entries, but there are checkpoints of some.');
    return { values, result: resultOf(walk, org, [], []) };
  }
  const missing = judgeGaps(walk);
  const uncovered = [...judgeBegin(walk, { org, first: expected.first }, missing), ...unsignedIn(walk)];
  judgeEnd(walk, expected.last);
  return { values, result: resultOf(walk, org, missing, uncovered) };
}

/** @param {string[]} args */
function parse(args) {
  const text = /** @type {const} */ ({ type: 'string' });
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        checkpoints: text,
        key: text,
        first: text,
        last: text,
        json: { type: 'boolean', default: false },
        'accept-uncovered': { type: 'boolean', default: false },
      },
    });
  } catch {
    throw new UsageError(USAGE);
  }
}

/**
 * The entries of each unbroken run after its last checkpoint: no signature covers them.
 * @param {Walk} walk
 * @returns {Uncovered[]}
 */
function unsignedIn({ oldest, newest, gaps, confirmed }) {
  const ends = [...gaps.map(({ from }) => from - 1), newest?.sequence ?? 0].sort((a, b) => a - b);
  const starts = [oldest?.sequence ?? 1, ...gaps.map(({ to }) => to + 1)].sort((a, b) => a - b);
  const signed = [...confirmed].sort((a, b) => a - b);
  return ends.flatMap((to, i) => {
    const start = /** @type {number} */ (starts[i]);
    const from = Math.max(start, (signed.findLast((sequence) => sequence <= to) ?? 0) + 1);
    return from <= to ? [/** @type {const} */ ({ from, to, kind: 'unsigned' })] : [];
  });
}

/** @param {Walk} walk @param {string | null} org @param {Stretch[]} missing @param {Uncovered[]} uncovered */
function resultOf(walk, org, missing, uncovered) {
  const { entries, confirmed, oldest, newest, checkpoints, faults } = walk;
  const sequences = [...checkpoints.keys()];
  const place = (/** @type {Entry | null} */ entry) =>
    entry && { sequence: entry.sequence, time: entry.time };
  return {
    ok: !faults.first,
    org,
    entries,
    first: place(oldest),
    last: place(newest),
    checkpoints: confirmed.size,
    unsigned: uncovered.reduce(
      (sum, { from, to, kind }) => sum + (kind === 'unsigned' ? to - from + 1 : 0),
      0,
    ),
    uncovered,
    missing: missing
      .sort((a, b) => a.from - b.from)
      .map(({ from, to, reason }) => {
        const signed = sequences.filter((sequence) => from <= sequence && sequence <= to);
        return { from, to, reason, confirmed_through: signed.length ? Math.max(...signed) : null };
      }),
    ...(faults.first && { broken: faults.first }),
  };
}

const reasons = { restore: 'a restore', gate_lost: 'the loss of a gate' };
/** How many sequences a gate skips that starts without the storage of the one before. */
const SKIPPED = 110_000;
const neverUsed =
  'Most of these numbers were never used: a new gate skips 110,000, as many entries as the lost one can have held, so that it reuses none.';
const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n} ${n === 1 ? one : many}`;

/** @param {ReturnType<typeof resultOf>} result */
function sentence({ ok, entries, first, last, checkpoints, unsigned, uncovered, missing, broken }) {
  if (!ok) return `NOT INTACT: ${broken?.message}${broken?.line ? ` (line ${broken.line})` : ''}`;
  const place = (/** @type {typeof first} */ at) => `${at?.sequence} (${at?.time})`;
  const range = `${plural(entries, 'entry', 'entries')} from ${place(first)} to ${place(last)}`;
  const signed = `${plural(checkpoints, 'checkpoint', 'checkpoints')} ${checkpoints === 1 ? 'confirms' : 'confirm'}`;
  const verdict = checkpoints
    ? `${signed} ${unsigned ? `${entries - unsigned} of ` : ''}${range}.`
    : `No checkpoint confirms ${range}.`;
  const lost = missing.map(({ from, to, reason, confirmed_through: through }) => {
    const why = reasons[/** @type {keyof typeof reasons} */ (reason)] ?? reason;
    const most = reason === 'gate_lost' && to - from + 1 >= SKIPPED ? ` ${neverUsed}` : '';
    return ` Lost with ${why}: ${from} to ${to}${through === null ? '' : `, signed through ${through}`}.${most}`;
  });
  const open = uncovered.length ? 'NOT COVERED' : 'INTACT';
  const begin = Math.min(first?.sequence ?? 1, ...missing.map(({ from }) => from));
  const absent =
    begin > 1 && !uncovered.some(({ kind }) => kind === 'before')
      ? ` Entries before ${begin} are not in the file.`
      : '';
  return `${open}: ${verdict}${lost.join('')}${absent}${uncovered.map(doubt).join('')}`;
}

/** What may be wrong without a checkpoint that would show it. @param {Uncovered} uncovered */
const doubt = ({ from, to, kind }) =>
  kind === 'before'
    ? ` Nothing shows what came before entry ${to + 1}: entries may be missing there. Add the checkpoint of entry ${to}, or pass --first ${to + 1}.`
    : ` No checkpoint covers ${from === to ? `entry ${from}` : `entries ${from} to ${to}`}: they may be forged, and later ones may be missing.`;

/** @param {ReturnType<typeof resultOf>} result @param {boolean} [acceptsUncovered] */
const exitCodeOf = ({ ok, uncovered }, acceptsUncovered) =>
  !ok ? 1 : uncovered.length && !acceptsUncovered ? 3 : 0;

for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error) => {
    // Nobody reads the output any more: the exit code still tells the result.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE') throw error;
  });
if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
try {
  const { values, result } = await check(process.argv.slice(2));
  process.stdout.write(`${values.json ? JSON.stringify(result) : sentence(result)}\n`);
  process.exitCode = exitCodeOf(result, values['accept-uncovered']);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
