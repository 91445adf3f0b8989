// What is found by structure and not by a start: JWTs, private keys, service accounts; the checks; and that
// no text takes long.
import { describe, expect, it } from 'vitest';
import { candidatesOf } from '../../../src/domains/scans/engine/candidates';
import { awsAccountOf, hasChecksum, isAwsKeyId, isRandom } from '../../../src/domains/scans/engine/checks';
import { find } from '../../../src/domains/scans/engine/find';
import { formats } from '../../../src/domains/scans/engine/formats';
import { positions } from '../../../src/domains/scans/engine/lines';
import { MOST_CANDIDATES, MOST_FINDINGS, scanFiles } from '../../../src/domains/scans/engine/scan';
import { slow } from '../../support/slow';

/** A value that nothing but its name marks. */
const RANDOM = ['q7Zx91Lw0K', 'dP3vB8nT5y'].join('');

const rules = (text: string) => find(text).map(({ rule }) => rule);
const base64Url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (header: unknown, payload: unknown = { sub: '1' }) =>
  `${base64Url(header)}.${base64Url(payload)}.${'s'.repeat(43)}`;
const key = (label: string, bytes: Uint8Array, eol = '\n') =>
  [`-----BEGIN ${label}-----`, Buffer.from(bytes).toString('base64'), `-----END ${label}-----`].join(eol);
const der = Uint8Array.from({ length: 120 }, (_, at) => (at ? (at * 37) & 255 : 0x30));

describe('checks of credentials', () => {
  it('GitHub checksum: the published example holds, with one character changed it does not', () => {
    const token = ['ghp_', 'zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ', '0mLq17'].join('');
    expect(hasChecksum(token)).toBe(true);
    expect(rules(token)).toEqual(['github-pat']);
    expect(hasChecksum(token.replace('zQ', 'zR'))).toBe(false);
  });

  it('AWS key id: the number of its account, as published', () => {
    expect(awsAccountOf(['ASIA', 'QNZGKIQY56JQ7WML'].join(''))).toBe('029608264753');
    expect(awsAccountOf(['AKIA', 'SP2TPHJSQH3FJRUX'].join(''))).toBe('171436882533');
    expect(awsAccountOf(['AKIA', 'H777777777777777'].join(''))).toBe('549755813887');
    // A number of 13 digits is no account's.
    expect(awsAccountOf(['AKIA', 'P777777777777777'].join(''))).toBe(null);
    expect(isAwsKeyId(['AKIA', 'IOSFODNN7', 'EXAMPLE'].join(''))).toBe(false);
  });

  it('random value: identifiers, hashes and UUIDs are none', () => {
    for (const text of [
      ...[
        'exports.id_pkcs9_at_userPKCS12',
        'd41d8cd98f00b204e9800998ecf8427e',
        '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
      ],
      ...[
        'MyVeryLongClassNameV2Handler',
        'process.env.SECRET_TOKEN_1',
        'aaaaaaaaaaaaaaaaaaaaaaaa1',
        '12345678901234567890',
      ],
    ])
      expect(isRandom(text), text).toBe(false);
    expect(isRandom(RANDOM)).toBe(true);
  });
});

describe('structure', () => {
  it('JWT: is found if header and payload decode, and the header names an algorithm', () => {
    expect(find(`Bearer ${jwt({ alg: 'HS256' })} x`)).toMatchObject([
      { rule: 'jwt', at: 7, length: jwt({ alg: 'HS256' }).length },
    ]);
    expect(rules(jwt({ alg: 'none' }).replace(/s+$/, ''))).toEqual(['jwt']);
    for (const miss of [
      jwt({ typ: 'JWT', key: 'none' }),
      jwt({ alg: 1 }),
      jwt({ alg: 'ES256' }, []),
      jwt({ alg: 'EdDSA', typ: 'dpop+jwt' }),
    ])
      expect(rules(miss), miss).toEqual([]);
    expect(rules(jwt({ alg: 'HS256' }).replace('.', '!'))).toEqual([]);
    expect(rules(`x${jwt({ alg: 'HS256' })}`)).toEqual([]);
  });

  it('private key: is found in each spelling if its body is one', () => {
    for (const label of ['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'ENCRYPTED PRIVATE KEY']) {
      const pem = key(label, der);
      expect(find(`a\n${pem}\n`)).toMatchObject([{ rule: 'private-key', at: 2, length: pem.length }]);
      expect(rules(JSON.stringify({ pem }))).toEqual(['private-key']);
      expect(rules(key(label, der, '\r\n'))).toEqual(['private-key']);
    }
    const openssh = new TextEncoder().encode(`openssh-key-v1\0${'k'.repeat(80)}`);
    expect(rules(key('OPENSSH PRIVATE KEY', openssh))).toEqual(['private-key']);
    expect(rules(key('PGP PRIVATE KEY BLOCK', der))).toEqual(['private-key']);
    for (const miss of [
      ...[
        key('PUBLIC KEY', der),
        key('CERTIFICATE', der),
        key('PRIVATE KEY', der.subarray(1)),
        key('PRIVATE KEY', der.subarray(0, 20)),
      ],
      ...['-----BEGIN PRIVATE KEY-----', `-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----`],
    ])
      expect(rules(miss), miss).toEqual([]);
  });

  it('service account: is found together with its private key', () => {
    const account = { type: 'service_account', private_key: `${key('PRIVATE KEY', der)}\n` };
    expect(rules(JSON.stringify(account, null, 2))).toEqual(['gcp-service-account', 'private-key']);
    expect(rules(JSON.stringify({ type: 'service_account', project_id: 'p' }))).toEqual([]);
    expect(rules(JSON.stringify({ ...account, type: 'authorized_user' }))).toEqual(['private-key']);
  });

  it('line break in JSON: a credential after it is found', () => {
    const id = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');
    expect(rules(JSON.stringify(`a\n${id}`))).toEqual(['aws-access-key-id']);
    expect(rules(`n${id}`)).toEqual([]);
  });

  it('guess: is dropped next to another finding', () => {
    expect(rules(`token = "${['sk_live_', 'a8Kd02LmQz71PwXn49VbTr63'].join('')}"`)).toEqual([
      'stripe-secret-key',
    ]);
    expect(rules(`token = "${RANDOM}"`)).toEqual(['assigned-secret']);
  });

  it('letters outside ASCII: places stay right', () => {
    const text = `${'İ'.repeat(20)} TOKEN = "${RANDOM}"`;
    expect(find(text)).toMatchObject([{ rule: 'assigned-secret', at: text.indexOf(RANDOM), length: 20 }]);
  });
});

describe('positions', () => {
  it('line and column count from 1, the column in UTF-16 code units', () => {
    const at = positions('ab\n\n😀c');
    expect([0, 2, 3, 4, 6].map(at)).toEqual([
      { line: 1, column: 1 },
      { line: 1, column: 3 },
      { line: 2, column: 1 },
      { line: 3, column: 1 },
      { line: 3, column: 3 },
    ]);
  });
});

describe('candidates for stored values', () => {
  const values = (text: string) =>
    new Set(candidatesOf(text).flatMap((list) => list.map(({ value }) => value)));

  it('are found in every notation of a value in a text', () => {
    const value = 'p4ss=wörd:/x';
    for (const text of [
      ...[
        value,
        `X=${value}`,
        `X: ${value}`,
        `x = "${value}";`,
        `{"x":"${value}"}`,
        `'${value}'`,
        `say ${value}.`,
        `(${value})`,
        `\`${value}\``,
      ],
      ...[`don't "${value}" it's`, `X=${value}\r\n`, `postgres://u:p@h/${'d'} ${value}`, `[${value}, 1]`],
    ])
      expect(values(text).has(value), text).toBe(true);
    const lines = 'line one is long\n\tline two\n';
    expect(values(JSON.stringify({ lines })).has(lines)).toBe(true);
    expect(values(`  ${lines}`).has(lines.trim())).toBe(true);
    expect(values('user:hunter2-hunter2@db.example.com').has('hunter2-hunter2')).toBe(true);
  });

  it('have 8 characters or more', () => {
    expect([...values('1234567 "abcdefg" X=abcdefg')].filter((value) => !/[ "=]/.test(value))).toEqual([]);
    expect(values('😀😀😀😀').size).toBe(0);
    expect(values('😀😀😀😀😀😀😀😀').size).toBe(1);
  });

  it('are bounded, the likeliest first', () => {
    const words = Array.from({ length: 30_000 }, (_, n) => `word-number-${n}`).join(' ');
    const { candidates, truncated } = scanFiles(
      [
        { path: 'a', content: words },
        { path: 'b', content: `SECRET=${'the value of a secret'}` },
      ],
      { tag: new Uint8Array(32), proof: new Uint8Array(32) },
    );
    expect([candidates.size, truncated]).toEqual([MOST_CANDIDATES, true]);
    expect(candidates.get('the value of a secret')).toEqual([{ file: 1, at: 7 }]);
  });
});

describe('hostile texts', () => {
  const MiB = 1_048_576;
  const fill = (text: string, length = MiB) => text.repeat(Math.ceil(length / text.length)).slice(0, length);

  slow('take linear time: 1 MiB of the most frequently tried text', () => {
    const texts = [
      ...[
        'A',
        '-eyJ',
        '.eyJ',
        'eyJhbGciOiJIUzI1NiJ9.',
        'eyJhbGciOiJhbGciOiJ9.e30.',
        `eyJ${'A'.repeat(4000)}.`,
      ],
      ...[
        '-----',
        '-----BEGIN ',
        '-----BEGIN PRIVATE KEY-----',
        '"service_account"',
        '"private_key"',
        '"service_account""private_key"',
      ],
      ...[
        '\\"',
        '"\\',
        '\'"`',
        'a=b:',
        '://a:b@',
        'x1=',
        ' ',
        '\n',
        'a\n',
        'İ',
        'secret    = ',
        `${'token='}A1b2C3d4E5f6G7h8J9k0L1m2N3p4Q5r6S7t8 `,
      ],
      ...[`svc_live_${'0'.repeat(66)} `, 'Authorization: Basic QWxhZGRpbjpvcGVuc2VzYW1l ', '1234567890:AA'],
    ];
    for (const text of texts) {
      const { found, candidates } = scanFiles([{ path: null, content: fill(text) }], {
        tag: new Uint8Array(32),
        proof: new Uint8Array(32),
      });
      expect(found.length).toBeLessThanOrEqual(MOST_FINDINGS);
      expect(candidates.size).toBeLessThanOrEqual(MOST_CANDIDATES);
    }
  });

  slow('take linear time: the start of each format, again and again', () => {
    for (const { starts } of formats)
      for (const start of starts)
        for (const text of [start, `${start}=`, `-${start}0a`, `${start}${'aB3_-'.repeat(30)} `])
          expect(find(fill(text, MiB / 16)).length).toBeGreaterThanOrEqual(0);
  });
});
