// Tables and help at any width of the terminal.
import { expect, it } from 'vitest';
import { Output } from '../../src/terminal/output.ts';
import { tableLines } from '../../src/terminal/table.ts';
import { clean, safeJson, widthOf, wrapped } from '../../src/text.ts';
import { Machine } from '../harness.ts';

const plain = (text: string) => text;
const ID = 'key_0HrZKtC4bqXw2vJm8yNd1L';
const header = ['id', 'name', 'scopes'];
const rows = [
  [ID, 'web server', 'secrets:read secrets:list secrets:write environments:read'],
  [ID, '秘密の鍵', '*'],
];

it('table: columns are aligned if the terminal has room, wide characters included', () => {
  const lines = tableLines(header, rows, 200, plain);
  expect(lines).toHaveLength(3);
  expect(
    lines.map((line) => widthOf(line.slice(0, line.indexOf('  ', ID.length + 2))) >= ID.length + 2),
  ).toEqual([true, true, true]);
  expect(widthOf(lines[2]?.slice(0, lines[2].indexOf('*')) ?? '')).toBe(
    (lines[1] ?? '').indexOf('secrets:read'),
  );
});

it.each([60, 70, 80, 100])(
  'table: long cells are wrapped between words in %i columns, and ids stay whole',
  (columns) => {
    const lines = tableLines(header, rows, columns, plain);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    expect(lines.join('\n').match(new RegExp(ID, 'g'))).toHaveLength(2);
    for (const scope of (rows[0]?.[2] ?? '').split(' ')) expect(lines.join('\n')).toContain(scope);
  },
);

it('table: rows become blocks if the terminal is too narrow for the columns', () => {
  expect(tableLines(header, rows, 40, plain)).toEqual([
    `id:     ${ID}`,
    'name:   web server',
    'scopes: secrets:read secrets:list secrets:write environments:read',
    '',
    `id:     ${ID}`,
    'name:   秘密の鍵',
    'scopes: *',
  ]);
});

it('table: a word without a space is broken only if it is longer than an id', () => {
  const url = `https://hooks.example.com/${'x'.repeat(80)}`;
  const lines = tableLines(['id', 'url'], [[ID, url]], 60, plain);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
  expect(
    lines
      .slice(1)
      .map((line) => line.slice(ID.length).trim())
      .join(''),
  ).toBe(url);
});

it('wrap: text keeps its words', () => {
  expect(wrapped('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrapped('', 7)).toEqual(['']);
  expect(wrapped('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
});

it.each([60, 80, 120])('help: notes and options fit a terminal of %i columns', async (columns) => {
  const machine = new Machine();
  const shown: string[] = [];
  const stdout = { isTTY: true, columns, write: (text: string) => shown.push(text) > 0 };
  await machine.svc(['trust', 'create', '--help'], { host: { stdout: stdout as never } });
  const [help = ''] = shown.join('').split('\nExamples:');
  expect(help).toContain('SVC_TRUST_ID');
  for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
});

it('table: all rows are one write, however many there are', () => {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) > 0 };
  const out = new Output({ env: {}, stdout, stderr: stdout } as never, false);
  out.table(
    ['a', 'b'],
    [
      [1, 'x'],
      [2, undefined],
    ],
  );
  out.table(['a'], []);
  expect(written).toEqual(['1\tx\n2\t-\n', '']);
  const rows = Array.from({ length: 150_000 }, () => ['x']);
  expect(tableLines(['a'], rows, 80, String)).toHaveLength(150_001);
});

it('escape sequences: letters and marks without a shape are visible too', () => {
  const hidden = 'a\u3164b\u2800\u115f\u1160\uffa0\u034f\u17b4\u17b5\u{e0100}c';
  expect(clean(hidden)).toBe(
    'a\\u{3164}b\\u{2800}\\u{115f}\\u{1160}\\u{ffa0}\\u{34f}\\u{17b4}\\u{17b5}\\u{e0100}c',
  );
  expect(JSON.parse(safeJson(hidden))).toBe(hidden);
  expect(safeJson(hidden)).toMatch(/^[\x20-\x7e]+$/);
  expect(clean('한글 é 鍵 ❤\ufe0f')).toBe('한글 é 鍵 ❤\ufe0f');
});
