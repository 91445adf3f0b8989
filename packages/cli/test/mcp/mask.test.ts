// Masking: in which encodings a value is found in outputs, and in which it is not.
import { describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { waitForApproval } from '../../src/mcp/approvals.ts';
import { Masker } from '../../src/mcp/mask.ts';
import { expand, referencesIn } from '../../src/mcp/references.ts';
import { Session } from '../../src/mcp/session.ts';
import { listUpstreams } from '../../src/mcp/upstreams.ts';
import { tokensOfService } from '../tokens.ts';

const VALUE = `sk_live-"Zürich"/a\\b c&d<e>'f'+=%41\u{1f511}x`;
const PLAIN = 'correct-horse-battery-staple';
const bytes = (text: string) => Buffer.from(text);
const masked = (text: string | Buffer, value = VALUE) => {
  const masker = new Masker();
  masker.add('KEY', value);
  return masker.mask(text);
};
const utf16 = (text: string) =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).map(
    (unit) => `\\u${unit.toString(16).padStart(4, '0')}`,
  );
const folded = (text: string, width: number) =>
  (text.match(new RegExp(`.{1,${width}}`, 'gs')) ?? []).join('\n');
const xxd = (text: string) =>
  (
    bytes(text)
      .toString('hex')
      .match(/.{1,32}/g) ?? []
  )
    .map((line, at) => {
      const ascii = Buffer.from(line, 'hex')
        .toString('latin1')
        .replace(/[^\x20-\x7e]/g, '.');
      return `${(at * 16).toString(16).padStart(8, '0')}: ${(line.match(/.{1,4}/g) ?? []).join(' ').padEnd(39)}  ${ascii}`;
    })
    .join('\n');

const ENCODINGS: Record<string, (text: string) => string | Buffer> = {
  'plain text': (text) => text,
  JSON: (text) => JSON.stringify(text),
  'JSON in ASCII': (text) => utf16(text).join(''),
  'JSON within JSON': (text) => JSON.stringify(JSON.stringify({ text })),
  base64: (text) => bytes(text).toString('base64'),
  'base64, one byte before': (text) => bytes(`u${text}`).toString('base64'),
  'base64, two bytes before': (text) => bytes(`u:${text}\n`).toString('base64'),
  'base64 in lines': (text) => folded(bytes(text).toString('base64'), 20),
  'base64 in JSON, in lines': (text) => JSON.stringify(folded(bytes(text).toString('base64'), 20)),
  base64url: (text) => bytes(text).toString('base64url'),
  'percent-encoding': (text) => encodeURIComponent(text),
  'percent-encoding of every byte': (text) => bytes(text).toString('hex').replace(/../g, '%$&'),
  'percent-encoding twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'a form': (text) => new URLSearchParams({ text }).toString(),
  hexadecimal: (text) => bytes(text).toString('hex'),
  'hexadecimal in capitals, with colons': (text) =>
    bytes(text)
      .toString('hex')
      .toUpperCase()
      .replace(/..(?=.)/g, '$&:'),
  'hexadecimal of C': (text) => bytes(text).toString('hex').replace(/../g, '0x$&, '),
  'escapes of every byte': (text) => bytes(text).toString('hex').replace(/../g, '\\x$&'),
  'escapes of whole characters': (text) =>
    [...text].map((char) => `\\U${char.codePointAt(0)?.toString(16).padStart(8, '0')}`).join(''),
  'octal escapes': (text) =>
    [...bytes(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  xxd: xxd,
  HTML: (text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
  'shell, in single quotes': (text) => `'${text.replaceAll("'", "'\\''")}'`,
  'shell, with backslashes': (text) => text.replace(/[^A-Za-z0-9\x80-\u{10ffff}]/gu, '\\$&'),
  'UTF-16': (text) => Buffer.from(text, 'utf16le'),
  'reversed bytes': (text) => Buffer.from(bytes(text)).reverse(),
  'folded lines': (text) => folded(text, 7),
};

describe('masking', () => {
  it.each(Object.entries(ENCODINGS))('masking: a value is found in %s', (name, encode) => {
    for (const value of name === 'UTF-16' ? [PLAIN] : [VALUE, PLAIN]) {
      const output = encode(value);
      const shown = masked(Buffer.concat([bytes('before \n'), Buffer.from(output), bytes('\nafter')]), value);
      expect(shown).toContain('[svc:KEY]');
      expect(shown).toMatch(/^before/);
      expect(shown).toContain('after');
      for (const piece of [value, output.toString()]) expect(shown).not.toContain(piece.slice(4, 16));
    }
  });

  const within = (outers: string[], inners: string[]) =>
    outers.flatMap((outer) => inners.map((inner) => [outer, inner] as const));
  it.each(
    within(
      [
        'JSON',
        'JSON in ASCII',
        'percent-encoding',
        'a form',
        'HTML',
        'base64',
        'base64 in lines of 76',
        'base64url',
        'hexadecimal',
      ],
      [
        ...[
          'plain text',
          'JSON',
          'JSON in ASCII',
          'percent-encoding',
          'percent-encoding of every byte',
          'HTML',
          'escapes of every byte',
        ],
        ...[
          'octal escapes',
          'shell, with backslashes',
          'base64',
          'base64, one byte before',
          'base64url',
          'hexadecimal',
        ],
      ],
    ),
  )('masking: a value is found in %s of %s', (outer, inner) => {
    const encoders = {
      ...ENCODINGS,
      'base64 in lines of 76': (text: string) => folded(bytes(text).toString('base64'), 76),
    };
    const encoded = (name: string, text: string) => String(encoders[name as keyof typeof encoders]?.(text));
    for (const value of [VALUE, PLAIN, `${PLAIN}\n`]) {
      const output = encoded(outer, `{"a": "${encoded(inner, value)}"}`);
      const shown = masked(`before: ${output}\n(after)`, value);
      expect(shown).toContain('[svc:KEY]');
      expect(shown).toMatch(/^before: .*\n\(after\)$/s);
      expect(shown).not.toContain(encoded(outer, encoded(inner, value.trim())).slice(8, 24));
    }
  });

  it('masking: a reversed value is found without its final line break, by bytes and by characters, and so are its lines', () => {
    const value = `${VALUE}\n`;
    const reversed = [...VALUE].reverse().join('');
    for (const text of [
      reversed,
      `${reversed}\n`,
      bytes(value).reverse().toString('latin1'),
      `\n${reversed}`,
    ])
      expect(masked(Buffer.from(text, text.includes('ü') ? 'utf8' : 'latin1'), value)).toMatch(
        /^\s*\[svc:KEY\]\s*$/,
      );
    const lines = ['first-line-that-is-long', 'second-line-that-is-long'];
    const rev = lines.map((line) => [...line].reverse().join('')).join('\n');
    expect(masked(rev, `${lines.join('\n')}\n`)).toBe('[svc:KEY]\n[svc:KEY]');
  });

  it('masking: a value in other letter case is found, in its own form, across white space, reversed and within an encoding', () => {
    const value = 'Correct-Horse-Zürich-Staple';
    const forms = [
      value.toUpperCase(),
      value.toLowerCase(),
      value[0]?.toLowerCase() + value.slice(1),
      value.replace(/./g, (c) => (c < 'a' ? c.toLowerCase() : c.toUpperCase())),
    ];
    for (const form of forms) {
      expect(masked(`> ${form} <`, value)).toBe('> [svc:KEY] <');
      expect(masked(folded(form, 9), value)).toBe('[svc:KEY]');
      expect(masked([...form].reverse().join(''), value)).toBe('[svc:KEY]');
      expect(masked(encodeURIComponent(form), value)).toBe('[svc:KEY]');
      expect(masked(bytes(form).toString('base64'), value)).toMatch(/^\[svc:KEY\]=*$/);
    }
  });

  it('masking: an encoded value takes nothing beside it along, so that a person sees the rest of a call', () => {
    const path = '/v1/accounts/production/delete/';
    for (const encoding of ['base64', 'hex'] as const)
      for (const beside of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const text = `${path}${beside}/${bytes(PLAIN).toString(encoding)}/after/that`;
        expect(masked(text, PLAIN), text).toMatch(
          /^\/v1\/accounts\/production\/delete.*\[svc:KEY\].*fter\/that$/,
        );
      }
  });

  it('masking: a value in ISO 8859-1 is found', () => {
    expect(masked(Buffer.from('a Zürich-passphrase', 'latin1'), 'Zürich-passphrase')).toBe('a [svc:KEY]');
  });

  it('masking: other output is unchanged, whatever its bytes', () => {
    for (const text of [
      '',
      'plain',
      'ünï \u{1f511} \\u00 %4 &amp; +',
      '{"a": "\\n"}',
      'deadbeef: 7365 6372',
      'a\0b',
      '[svc:KEY]',
    ])
      expect(masked(text)).toBe(text);
  });

  it('masking: values that overlap or contain each other are masked completely', () => {
    const masker = new Masker();
    for (const [name, value] of [
      ['SHORT', 'horse'],
      ['LONG', 'correct-horse-battery'],
      ['NEXT', 'battery-staple'],
    ] as const)
      masker.add(name, value);
    expect(masker.mask('x correct-horse-battery-staple y horse')).toBe('x [svc:LONG] y [svc:SHORT]');
  });

  it('masking: long lines of a value are masked separately, and so is the value without its final line break', () => {
    const pem = `-----BEGIN PRIVATE KEY-----\n${'Ab3d'.repeat(16)}\n${'Xy9z'.repeat(16)}\n-----END PRIVATE KEY-----\n`;
    for (const text of [
      pem.trim(),
      pem.replaceAll('\n', '\r\n'),
      `1: ${'Ab3d'.repeat(16)}`,
      `${'Xy9z'.repeat(16)}  `,
      JSON.stringify({ pem }),
    ])
      expect(masked(text, pem)).not.toMatch(/Ab3dAb3d|Xy9zXy9z/);
  });

  it('masking: a cut output does not end in the beginning of a value within two encodings', () => {
    const masker = new Masker();
    masker.add('KEY', PLAIN);
    const whole = bytes(utf16(PLAIN).join('')).toString('hex');
    for (let cut = 8; cut < whole.length; cut += 24)
      expect(masker.mask(`${'.'.repeat(1000)}${whole.slice(0, cut)}`, true)).toMatch(/^\.+$/);
  });

  it('masking: a cut output does not end in the beginning of a value', () => {
    const masker = new Masker();
    masker.add('KEY', PLAIN);
    for (let cut = 1; cut < PLAIN.length; cut++) {
      const shown = masker.mask(`${'.'.repeat(1300)}${PLAIN.slice(0, cut)}`, true);
      expect(shown).toMatch(/^\.+$/);
      expect(shown.length).toBeGreaterThan(500);
    }
  });

  it('masking: tokens of the vault are masked even if the server did not use them', () => {
    for (const token of tokensOfService())
      expect(new Masker().mask(`T=${token},`)).toBe('T=[svc credential],');
  });

  it('masking: parts of a value are not masked, so that it cannot be found character by character', () => {
    expect(masked(PLAIN.slice(0, -1), PLAIN)).toBe(PLAIN.slice(0, -1));
  });

  slow('masking: a quarter of a megabyte with a hundred values takes less than a few seconds', () => {
    const masker = new Masker();
    for (let n = 0; n < 100; n++) masker.add(`K${n}`, `value-${n}-${'x'.repeat(30)}`);
    const started = process.cpuUsage();
    masker.mask(`${'%41+\\u0041 0x41 &amp; '.repeat(11_000)}value-7-${'x'.repeat(30)}`);
    const { user } = process.cpuUsage(started);
    expect(user / 1e6).toBeLessThan(8);
  });
});

describe('references', () => {
  it('reference: each name is found once, and the surrounding text is kept', () => {
    expect(referencesIn(['Bearer {{svc:A}}', '{{ svc: app/b.c-d }}{{svc:A}}', 'none'])).toEqual([
      'A',
      'app/b.c-d',
    ]);
    expect(expand('x{{svc:A}}y{{ SVC:A }}', () => '1')).toBe('x1y1');
  });

  it('reference: a reference inside a value is not expanded, and neither is $& in a replacement', () => {
    expect(expand('{{svc:A}}{{svc:B}}', (name) => (name === 'A' ? '{{svc:B}}' : '$&$1'))).toBe(
      '{{svc:B}}$&$1',
    );
    expect(expand('{{svc:A}}}', () => '{{svc:B}')).toBe('{{svc:B}}');
  });

  it('reference: one without an end takes time in proportion to its length', () => {
    const started = process.cpuUsage();
    expect(() => referencesIn([`{{svc:${' '.repeat(256 * 1024)}`])).toThrow('incomplete');
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(2);
  });

  it.each([
    '{{svc:}}',
    '{{svc:a b}}',
    '{{svc:../x y}}',
    '{{svc:A',
    '{{svc:{{svc:A}}}}',
    '{{svc:A}',
    '{{svc:-A}}',
    '{{ svc :A}}'.replace(' :', ':='),
  ])('reference: %s is refused', (text) => expect(() => referencesIn([text])).toThrow());
});

/** A session that has seen a value, and a vault that answers every GET alike. */
const sessionOf = (data: object) =>
  new Session({ org: 'org_1', api: { GET: async () => ({ data }) } } as never, ...REST);
const REST = ['https://v.example', 'staging', {} as never, '/', {}, undefined, 'svcag_x'] as const;

describe('texts that other people wrote', () => {
  const named = { name: 'a', base_url: 'https://api.example', environment: 'x' };
  const upstream = { ...named, allow: [{ methods: ['GET'], paths: [`/v1/${PLAIN}`] }] };
  const approval = {
    status: 'used',
    summary: `Asks for ${PLAIN}`,
    required: 1,
    approvals: [],
    expires_at: '',
  };

  it.each([
    [
      'list_upstreams',
      (session: Session) => listUpstreams(session),
      { data: [upstream], next_cursor: null, has_more: false },
    ],
    [
      'wait_for_approval',
      (session: Session) =>
        waitForApproval(session, 'apr_1', 1, {
          signal: AbortSignal.timeout(5000),
          progress: async () => {},
        }),
      approval,
    ],
  ])('%s: a value in them is masked', async (_, ask, data) => {
    const session = sessionOf(data);
    session.hide('KEY', PLAIN);
    const shown = JSON.stringify(await ask(session));
    expect([shown.includes('[svc:KEY]'), shown.includes(PLAIN)]).toEqual([true, false]);
  });
});
