// What a running service prints.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lineReader } from '../../../../scripts/operate/start/log-lines.mjs';

const entry = {
  level: 'info',
  time: '2026-01-02T03:04:05.678Z',
  request_id: 'req_1',
  method: 'GET',
  route: '/api/v1/orgs/{org_id}',
  status: 200,
  ms: 3.14,
};
const read = (lines, colour = false) => lines.map(lineReader(colour)).filter((line) => line !== undefined);

describe('log', () => {
  it('has one aligned line a request, also for those that are logged as errors', () => {
    const [a, b] = read([
      JSON.stringify({ ...entry, credential: 'key_1' }),
      JSON.stringify({ ...entry, level: 'error', method: 'DELETE', status: 500, code: 'INTERNAL' }),
    ]);
    assert.match(a, /^\d\d:\d\d:\d\d 200 GET {4}\/api\/v1\/orgs\/\{org_id\} +3\.1 ms .*key_1 req_1$/);
    assert.match(b, /^\d\d:\d\d:\d\d 500 DELETE .*INTERNAL req_1$/);
    assert.equal(a.indexOf('/api'), b.indexOf('/api'));
    assert.equal(a.indexOf(' ms'), b.indexOf(' ms'));
  });

  it('has colour only if that is asked for, and no other terminal control', () => {
    const hostile = JSON.stringify({ ...entry, route: '/\x1b[2J\u0007\u202e' });
    assert.ok(read([hostile], true)[0].includes('\x1b[32m200\x1b[0m'));
    assert.doesNotMatch(read([hostile, 'plain \x1b[2J\x07']).join(''), /\p{Cc}|\u202e/u);
  });

  it('has one line a minute for a database that fails, without the stack', () => {
    const failed = (what) => [
      `e = workerd/util/sqlite.c++:1757: failed: SQLite failed; dbErrorMessage(err, db) = ${what}`,
      'stack: /a/workerd@3bd3cfb',
    ];
    const readOnly = failed('attempt to write a readonly database: SQLITE_READONLY');
    const full = failed('database or disk is full: SQLITE_FULL');
    let time = 0;
    const line = lineReader(false, true, () => time);
    const said = (lines) => lines.map(line).filter((text) => text !== undefined);
    const first = said([...readOnly, ...readOnly, 'between', ...full, ...readOnly]);
    assert.match(
      first[0],
      /STATE_DIR: attempt to write a readonly database \(SQLITE_READONLY\)\. npm run doctor/,
    );
    assert.deepEqual([first.length, first[1]], [3, 'between']);
    assert.match(first[2], /SQLITE_FULL/);
    const [text, stack] = failed('unable to open database file: SQLITE_CANTOPEN (extended: SQLITE_CANTOPEN)');
    const opening = text.replace('(err, db)', '(prepareResult, db)');
    assert.match(
      said([opening, stack, opening, stack]).join('\n'),
      /^The runtime [^\n]*\(SQLITE_CANTOPEN\)[^\n]*$/,
    );
    time = 61_000;
    assert.equal(said([...readOnly, ...readOnly]).length, 1);
    assert.deepEqual(said(['other', 'stack: of something else']), ['other', 'stack: of something else']);
  });

  it('keeps other lines as they are, without the messages of tools', () => {
    const chatter = ['Using secrets defined in .dev.vars', ''];
    assert.deepEqual(
      read([
        '',
        'one',
        '',
        '',
        '{"not":"a request"}',
        ...chatter,
        'two',
        '    at Object.fetch (src/index.ts:1:1)',
      ]),
      ['one', '', '{"not":"a request"}', 'two', '    at Object.fetch (src/index.ts:1:1)'],
    );
  });
});
