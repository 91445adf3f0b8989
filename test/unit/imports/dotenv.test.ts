// Text with assignments: read as npm dotenv reads it, in linear time.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are what is imported.
import dotenv from 'dotenv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDotenv } from '../../../src/adapters/import/dotenv';
import { slow } from '../../support/slow';

const read = (text: string) =>
  Object.fromEntries([...new Map(parseDotenv(text))].filter(([name]) => name !== '__proto__'));

/** What the library parses is an ordinary object: `__proto__` is lost there. */
const theirs = (text: string) => ({ ...dotenv.parse(text) });

const pieces = [
  ...[
    'A',
    'B_1',
    'c.d-e',
    '-',
    'export ',
    'export',
    '=',
    ' = ',
    ':',
    ': ',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\n\n',
    '#',
    ' # c',
  ],
  ...[
    "'",
    '"',
    '`',
    '\\',
    "\\'",
    '\\"',
    '\\n',
    '\\r',
    'x',
    'é',
    '$A',
    '${B}',
    '=v',
    "='v'",
    '="a\nb"',
    '=`a`',
    '\uFEFF',
    '\u00A0',
    '{}',
    '~',
  ],
];

describe('dotenv', () => {
  slow('import: agrees with npm dotenv on any text of awkward pieces', () => {
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (whole) => {
        expect(read(whole), JSON.stringify(whole)).toEqual(theirs(whole));
      }),
      { numRuns: 30_000 },
    );
  });

  it('import: agrees with npm dotenv on ordinary files', () => {
    const text = [
      ...[
        '# a comment',
        'A=1',
        "B='two words' # c",
        'C="line\\nbreak"',
        'export D=four',
        'E=',
        'F: six',
        'G="a',
        'b"',
        'H=it is # no',
      ],
      ...[
        "I='it\\'s'",
        'J=`back`',
        'A=again',
        'L = spaced  ',
        'no assignment',
        'M="# no comment"',
        'N=$A${B}',
        'K="unclosed',
      ],
    ].join('\n');
    expect(read(text)).toEqual(theirs(text));
    expect(read(text)).toMatchObject({
      A: 'again',
      C: 'line\nbreak',
      D: 'four',
      G: 'a\nb',
      L: 'spaced',
      N: '$A${B}',
    });
  });

  it('import: __proto__ and constructor are names like any other', () => {
    expect([...parseDotenv('__proto__=a\nconstructor=b')]).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
  });

  it.each([
    ['line ends', '\n'.repeat(500_000)],
    ['spaces', `A=${' '.repeat(500_000)}x`],
    ['keys without an end', 'A'.repeat(500_000)],
    ['keys and line ends', 'A\n\n\n'.repeat(150_000)],
    ['export', 'export '.repeat(80_000)],
    ['opening quotes', "A='x\n".repeat(100_000)],
    ['quotes of three kinds', `A='x\nB="y\nC=\`z\n`.repeat(30_000)],
    ['escaped quotes', `A='${"\\' x".repeat(100_000)}\n`.repeat(2)],
    ['escaped quotes on many lines', "A='\\'x\\'y\n".repeat(50_000)],
    ['line separators', "A='x\u2028".repeat(60_000)],
  ])('import: takes linear time for %s', (_, text) => {
    // The work that is done is counted by steps of the parser, not by the clock: each step moves on, so there
    // are no more than lines.
    let assignments = 0;
    for (const _assignment of parseDotenv(text)) assignments++;
    expect(assignments).toBeLessThanOrEqual(text.length);
  });
});
