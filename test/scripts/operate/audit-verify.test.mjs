// `npm run audit:verify` on logs as the service exports them, whole and tampered with in every way: what is
// wrong is named, and the exit code says so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import { env, project } from '../service.mjs';
import { slow } from '../slow.mjs';

const ORG = 'org_0000000000000000000000';
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const jwk = publicKey.export({ format: 'jwk' });

/** The hash of an entry: over the order of its fields up to 0.4.0, over canonical JSON since. */
const hashed = (entry) => ({
  ...entry,
  hash: sha256(entry.format === 2 ? canonicalize(entry) : JSON.stringify(entry)),
});
const signed = ({ sequence, hash }, key = privateKey) => {
  const time = '2026-03-01T00:00:00.000Z';
  const message = Buffer.from(canonicalize({ org: ORG, sequence, hash, time }));
  return {
    org: ORG,
    sequence,
    hash,
    time,
    key_id: 'k',
    signature: sign(null, message, key).toString('base64'),
  };
};

/**
 * A log, oldest first: sequences from `first` on, those up to `old` as release 0.4.0 wrote them; `fields` by
 * sequence.
 */
function logOf({ first = 1, last = 20, old = 8, prev = sha256(`svc/v1/audit/${ORG}`), fields = {} } = {}) {
  const entries = [];
  for (let sequence = first, prev_hash = prev; sequence <= last; sequence++) {
    const base = {
      id: `aud_${sequence}`,
      sequence,
      time: `2026-01-01T00:00:${String(sequence).padStart(2, '0')}.000Z`,
      action: 'secret.read',
      reason: 'ü "q" \u2028',
    };
    const entry = hashed({ ...(sequence > old && { format: 2 }), ...base, ...fields[sequence], prev_hash });
    prev_hash = entry.hash;
    entries.push(entry);
  }
  return entries;
}

const lines = (values) =>
  values.map((value) => `${typeof value === 'string' ? value : JSON.stringify(value)}\n`).join('');
const write = (name, text) => {
  fs.writeFileSync(path.join(dir, name), text);
  return path.join(dir, name);
};

/** Runs the verifier on a log, its checkpoints and a key. */
function run(entries, checkpoints, { key = JSON.stringify({ key_id: 'k', jwk }), args = [] } = {}) {
  const files = [
    write('log.ndjson', lines(entries)),
    ...[
      '--checkpoints',
      write('checkpoints.json', typeof checkpoints === 'string' ? checkpoints : lines(checkpoints)),
    ],
    ...['--key', write('key.json', key)],
  ];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/operate/audit-verify.mjs', ...files, ...args],
    {
      cwd: project,
      env,
      encoding: 'utf8',
    },
  );
  return { status, said: stdout.trim(), fault: stderr.trim() };
}

const log = logOf();
const marks = [log[4], log[9], log[17]].map((entry) => signed(entry));
/** In both directions: each tampering is found in either. */
const both = (name, expected, tampered, checkpoints = marks) => {
  for (const order of ['oldest', 'newest'])
    it(`${name} (${order} first)`, order === 'oldest' ? {} : slow(120_000), () => {
      const entries = tampered(structuredClone(log));
      const { status, said } = run(order === 'oldest' ? entries : entries.reverse(), checkpoints, {
        args: ['--json'],
      });
      const { ok, broken } = JSON.parse(said);
      assert.deepEqual(
        [status, ok, broken?.kind, broken?.sequence],
        [1, false, expected[0], expected[1][order] ?? expected[1]],
        said,
      );
    });
};

const accept = ['--accept-uncovered'];
const begin = '1 (2026-01-01T00:00:01.000Z)';
const end = '20 (2026-01-01T00:00:20.000Z)';

describe('audit verifier: a log that is whole', () => {
  it('is intact in either direction, with entries of earlier releases, in one line', () => {
    for (const entries of [log, log.toReversed()]) {
      const { status, said } = run(entries, [...marks, signed(log[19])]);
      assert.deepEqual(
        [status, said],
        [0, `INTACT: 4 checkpoints confirm 20 entries from ${begin} to ${end}.`],
      );
    }
  });

  it('takes checkpoints as pages or events, and the key as JWK or PEM', () => {
    const all = [...marks, signed(log[19])];
    const events = all.map(({ org: org_id, ...data }, n) => ({
      sequence: n,
      type: 'AUDIT_CHECKPOINT',
      org_id,
      data,
    }));
    for (const checkpoints of [
      JSON.stringify({ data: all, next_cursor: null }, null, 2),
      JSON.stringify(all),
      JSON.stringify({ data: events }),
    ])
      for (const key of [JSON.stringify(jwk), publicKey.export({ type: 'spki', format: 'pem' })])
        assert.equal(run(log, checkpoints, { key }).status, 0);
  });

  it('reports the entries lost in a restore, if a signed entry records them', () => {
    const missing = [{ from: 6, to: 9, reason: 'restore' }];
    const restored = logOf({ fields: { 12: { action: 'org.adopt', missing } } });
    const entries = restored.filter(({ sequence }) => sequence < 6 || sequence > 9);
    for (const order of [entries, entries.toReversed()]) {
      const { status, said } = run(
        order,
        [restored[4], restored[8], restored[19]].map((entry) => signed(entry)),
      );
      assert.equal(status, 0, said);
      assert.match(
        said,
        /^INTACT: 2 checkpoints confirm 16 entries .* Lost with a restore: 6 to 9, signed through 9\.$/,
      );
    }
  });

  it('begins after a cut and a loss with the checkpoint before both', () => {
    const missing = [{ from: 6, to: 9, reason: 'restore' }];
    const restored = logOf({ fields: { 12: { action: 'org.adopt', missing } } });
    const { status, said } = run(
      restored.slice(9),
      [restored[4], restored[19]].map((entry) => signed(entry)),
    );
    assert.equal(status, 0, said);
    assert.match(said, / Lost with a restore: 6 to 9\. Entries before 6 are not in the file\.$/);
  });

  it('says of the numbers that a new gate skipped that most were never used', () => {
    const stretch = (to) => [{ from: 6, to, reason: 'gate_lost' }];
    for (const [to, isTold] of [
      [9, false],
      [110_005, true],
    ]) {
      const before = log.slice(0, 5);
      const alarm = { action: 'integrity.alarm', missing: stretch(to), time: '2026-01-01T00:01:00.000Z' };
      const after = logOf({ first: to + 1, last: to + 1, prev: before[4].hash, fields: { [to + 1]: alarm } });
      const { status, said } = run(
        [...before, ...after],
        [before[4], after[0]].map((entry) => signed(entry)),
      );
      assert.equal(status, 0, said);
      assert.match(said, new RegExp(`Lost with the loss of a gate: 6 to ${to}\\.`));
      assert.equal(said.includes('Most of these numbers were never used'), isTold, said);
    }
  });

  it('begins after a cut with a checkpoint, and ends at the expected entry', () => {
    const rest = log.slice(5);
    assert.equal(run(rest, marks, { args: accept }).status, 0);
    assert.equal(run(rest.slice(0, 5), marks).status, 1);
    const { status, said } = run([...rest.slice(0, 5), JSON.stringify({ checkpoint: marks[1] })], marks, {
      args: ['--last', '10'],
    });
    assert.deepEqual([status, said.includes('from 6 ')], [0, true], said);
    assert.match(said, / Entries before 6 are not in the file\.$/);
    // An export: its last line, and that of the export before.
    const last = { checkpoint: marks[1] };
    assert.equal(run([...rest.slice(0, 5), last], [{ checkpoint: marks[0] }, last]).status, 0);
    assert.equal(run([...rest.slice(0, 4), last], [{ checkpoint: marks[0] }, last]).status, 1);
    assert.equal(run(log.slice(6), marks).status, 1);
    assert.equal(run(log.slice(6, 18), marks, { args: ['--first', '7'] }).status, 0);
    assert.equal(run(log.slice(7), marks, { args: ['--first', '7'] }).status, 1);
  });
});

describe('audit verifier: a log that checkpoints do not cover', () => {
  const uncovered = (entries, checkpoints, args = []) => {
    const { status, said } = run(entries, checkpoints, { args });
    const { uncovered: found, ok } = JSON.parse(
      run(entries, checkpoints, { args: ['--json', ...args] }).said,
    );
    return {
      status,
      said,
      found,
      ok,
      accepted: run(entries, checkpoints, { args: [...accept, ...args] }).status,
    };
  };

  it('exits with 3 for the newest entries, names them, and exits with 0 if asked to accept them', () => {
    const { status, said, found, ok, accepted } = uncovered(log, marks);
    assert.deepEqual([status, ok, accepted, found], [3, true, 0, [{ from: 19, to: 20, kind: 'unsigned' }]]);
    assert.equal(
      said,
      `NOT COVERED: 3 checkpoints confirm 18 of 20 entries from ${begin} to ${end}. No checkpoint covers entries 19 to 20: they may be forged, and later ones may be missing.`,
    );
  });

  it('exits with 3 for a log forged after the last checkpoint', () => {
    const forged = logOf({ fields: { 19: { action: 'nothing.happened' } } });
    assert.deepEqual([uncovered(forged, marks).status, uncovered(forged, []).status], [3, 3]);
    assert.match(
      uncovered(forged, []).said,
      /^NOT COVERED: No checkpoint confirms 20 entries .* covers entries 1 to 20: they may be forged/,
    );
  });

  it('exits with 3 for a log cut off at its beginning, unless a checkpoint or --first accounts for it', () => {
    const rest = log.slice(6, 18);
    const later = marks.slice(1);
    const { status, said, found, accepted } = uncovered(rest, later);
    assert.deepEqual([status, accepted, found], [3, 0, [{ from: 1, to: 6, kind: 'before' }]]);
    assert.match(
      said,
      / Nothing shows what came before entry 7: .* Add the checkpoint of entry 6, or pass --first 7\.$/,
    );
    assert.equal(uncovered(rest, later, ['--first', '7']).status, 0);
    assert.equal(uncovered(rest, [signed(log[5]), ...later]).status, 0);
  });

  it('exits with 3 for a log cut off after its last checkpoint and before its end', () => {
    const { status, found } = uncovered(log.slice(0, 19), marks);
    assert.deepEqual([status, found], [3, [{ from: 19, to: 19, kind: 'unsigned' }]]);
  });

  it('accepts no fault', () => {
    assert.equal(run(log.toSpliced(3, 1), marks, { args: accept }).status, 1);
  });
});

describe('audit verifier: a log that was tampered with', () => {
  const edit = (sequence, fields) => (entries) =>
    entries.map((entry) => (entry.sequence === sequence ? { ...entry, ...fields } : entry));
  const rehash = (sequence, fields) => (entries) =>
    entries.map((entry) => {
      if (entry.sequence !== sequence) return entry;
      const { hash: _, ...rest } = { ...entry, ...fields };
      return hashed(rest);
    });
  const without =
    (from, to = from) =>
    (entries) =>
      entries.filter(({ sequence }) => sequence < from || sequence > to);

  both('altered: an entry', ['altered', 13], edit(13, { action: 'nothing.happened' }));
  both('altered: an entry of an earlier release', ['altered', 3], edit(3, { action: 'nothing.happened' }));
  both('altered: an entry with a new hash', ['altered', 13], rehash(13, { action: 'nothing.happened' }));
  both('altered: the mark of its format taken away, with its hash as it was', ['altered', 13], (entries) =>
    entries.map(({ format, ...entry }) =>
      entry.sequence === 13 ? entry : { ...(format && { format }), ...entry },
    ),
  );
  both(
    'altered: the mark of its format taken away, and a hash by the earlier rule',
    ['altered', 13],
    (entries) =>
      entries.map((entry) => {
        if (entry.sequence !== 13) return entry;
        const { format: _, hash: __, ...rest } = entry;
        return hashed({ ...rest, action: 'nothing.happened' });
      }),
  );
  both('altered: an unknown format', ['altered', 13], edit(13, { format: 3 }));
  both('altered: the whole log from an entry on, with right hashes', ['altered', 10], (entries) => {
    let prev = '';
    return entries.map((entry) => {
      const { hash: _, ...rest } = entry;
      const next =
        entry.sequence < 7
          ? entry
          : hashed({ ...rest, action: entry.sequence === 7 ? 'x' : rest.action, prev_hash: prev });
      prev = next.hash;
      return next;
    });
  });
  both('altered: the log of another organisation', ['altered', 1], () =>
    logOf({ prev: sha256('svc/v1/audit/org_other') }),
  );
  both('malformed: a field that is said twice', ['malformed', 13], (entries) =>
    entries.map((entry) =>
      entry.sequence === 13 ? `{"action":"x",${JSON.stringify(entry).slice(1)}` : entry,
    ),
  );
  both('removed: one entry', ['removed', 12], without(12));
  both('removed: many entries', ['removed', 12], without(12, 15));
  both('duplicated: an entry', ['duplicated', 12], (entries) =>
    entries.flatMap((entry) => (entry.sequence === 12 ? [entry, entry] : [entry])),
  );
  both('duplicated: an entry, elsewhere', ['duplicated', 12], (entries) =>
    entries.toSpliced(16, 0, entries[11]),
  );
  both('reordered: two entries', ['reordered', { oldest: 12, newest: 13 }], (entries) => {
    [entries[11], entries[12]] = [entries[12], entries[11]];
    return entries;
  });
  both('cut off: the newest entries', ['cut_off', 18], without(18, 20));
  both('cut off: the oldest entries', ['cut_off', 6], without(1, 6));
  both(
    'removed: an entry that speaks of a loss does not account for it while nothing signs it',
    ['removed', 12],
    (entries) => {
      const forged = logOf({
        fields: { 20: { action: 'org.adopt', missing: [{ from: 12, to: 13, reason: 'restore' }] } },
      });
      return [...entries.slice(0, 19), forged[19]].filter(
        ({ sequence }) => sequence !== 12 && sequence !== 13,
      );
    },
  );
  // The checkpoint after the gap covers nothing before it.
  both(
    'removed: a forged entry before a gap does not account for it, whatever is signed after it',
    ['removed', 12],
    (entries) => {
      const forged = logOf({
        fields: { 11: { action: 'org.adopt', missing: [{ from: 12, to: 15, reason: 'restore' }] } },
      });
      return [...entries.slice(0, 10), forged[10], ...entries.slice(15)];
    },
  );
  both(
    'cut off: a forged entry does not account for what was before it, whatever is signed after a gap',
    ['removed', 9],
    (entries) => {
      const all = [
        { from: 1, to: 6, reason: 'restore' },
        { from: 9, to: 10, reason: 'restore' },
      ];
      const forged = logOf({ first: 7, prev: entries[5].hash, fields: { 8: { missing: all } } });
      return [...forged.slice(0, 2), ...entries.slice(10)];
    },
    [marks[2]],
  );
  both(
    'inserted: an entry that the log says is lost',
    ['inserted', 6],
    () => logOf({ fields: { 12: { missing: [{ from: 6, to: 9, reason: 'restore' }] } } }),
    [signed(logOf({ fields: { 12: { missing: [{ from: 6, to: 9, reason: 'restore' }] } } })[17])],
  );
  both('checkpoint: an altered one', ['checkpoint', 9], (entries) => entries, [{ ...marks[1], sequence: 9 }]);
  both('checkpoint: one by another key', ['checkpoint', 10], (entries) => entries, [
    signed(log[9], generateKeyPairSync('ed25519').privateKey),
  ]);
  both('checkpoint: two of one entry that contradict each other', ['checkpoint', 10], (entries) => entries, [
    signed({ sequence: 10, hash: sha256('x') }),
    marks[1],
  ]);

  it('malformed: an entry whose time is no time, which would be printed', () => {
    const time = '2026\u001b[2K\rINTACT: 3 checkpoints confirm 20 entries.';
    const { status, said } = run(rehash(20, { time })(structuredClone(log)), marks);
    assert.deepEqual([status, said.includes('INTACT: 3')], [1, false], said);
  });

  it('cut off: in the middle of a line', () => {
    const text = lines(log);
    const { status, said } = run([text.slice(0, -40)], marks);
    assert.deepEqual([status, said.includes('line 20')], [1, true], said);
  });

  it('cut off: a log without entries', () => assert.equal(run([], marks).status, 1));
});

describe('audit verifier: wrong use', () => {
  it('exits with 2 and says why', () => {
    assert.deepEqual(
      [run(log, 'nothing').status, run(log, '{"a":1}').status, run(log, marks, { key: '{}' }).status],
      [2, 2, 2],
    );
    assert.equal(run(log, marks, { args: ['--last', 'x'] }).status, 2);
    assert.equal(run([], []).status, 2);
    const { hash: _, ...unhashed } = marks[0];
    for (const one of [
      { data: { signature: 5 } },
      { org_id: ORG, data: unhashed },
      { ...marks[0], hash: '1' },
    ])
      assert.equal(run(log, [one]).status, 2);
    const { status, stderr } = spawnSync(process.execPath, ['scripts/operate/audit-verify.mjs'], {
      cwd: project,
      env,
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr.startsWith('Use: npm run audit:verify')], [2, true]);
  });
});
