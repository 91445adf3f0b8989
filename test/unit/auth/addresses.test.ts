// Client addresses: what is one, which range it lies in, which range holds another, and what a client is
// counted by.
import { describe, expect, it } from 'vitest';
import { clientOf, isRange, isWithin, rangesContain } from '../../../src/auth/addresses';

describe('allowed addresses: a range', () => {
  it.each([
    '203.0.113.7',
    '203.0.113.0/24',
    '0.0.0.0/0',
    '10.0.0.1/32',
    '::1',
    '2001:db8::/32',
    '::/0',
    '2001:DB8::1/128',
    '10.1.2.3/8',
  ])('accepts %s', (text) => expect(isRange(text)).toBe(true));

  it.each([
    '',
    'localhost',
    '256.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/08x',
    '10.1',
    '167772161',
    '0x0a000001',
    '010.0.0.1',
    // Nor in a range: 010 is octal to some readers and decimal to others, and 10/8 is 0.0.0.10/8 to most.
    '010.0.0.0/8',
    '10/8',
    '10.1/16',
    '167772160/8',
    '2001:db8::/129',
    '2001:db8',
    ':::',
    'fe80::1%eth0',
    ' 10.0.0.1',
    '10.0.0.1\n',
    '[::1]',
    '10.0.0.1:80',
    '*',
  ])('refuses %j', (text) => expect(isRange(text)).toBe(false));
});

describe('allowed addresses: an address in a range', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.8', '203.0.113.7', false],
    ['203.0.113.255', '203.0.113.0/24', true],
    ['203.0.114.0', '203.0.113.0/24', false],
    ['10.255.255.255', '10.1.2.3/8', true],
    ['11.0.0.0', '10.1.2.3/8', false],
    ['203.0.113.129', '203.0.113.128/25', true],
    ['203.0.113.127', '203.0.113.128/25', false],
    ['198.51.100.1', '0.0.0.0/0', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['2001:db8:0:0:0:0:0:1', '2001:DB8::1', true],
    ['2001:db8::2', '2001:db8::1', false],
    ['::1', '::/0', true],
    // An IPv4 address in IPv6 clothes is the IPv4 address, and an IPv4 address is in no IPv6 range.
    ['::ffff:203.0.113.7', '203.0.113.0/24', true],
    ['::ffff:cb00:7107', '203.0.113.7', true],
    ['::ffff:203.0.113.7', '::/0', false],
    ['203.0.113.7', '::/0', false],
    ['::1', '0.0.0.0/0', false],
    // So is one in the older clothes of RFC 4291, 2.5.5.1, spelled with dots.
    ['::203.0.113.7', '203.0.113.7', true],
    // What is no address is in no range, the widest included; nor is an address in what is no range.
    ['', '0.0.0.0/0', false],
    ['unknown', '0.0.0.0/0', false],
    ['203.0.113.7, 10.0.0.1', '0.0.0.0/0', false],
    ['203.0.113', '0.0.0.0/0', false],
    ['3405803783', '0.0.0.0/0', false],
    ['0xcb.0.113.7', '0.0.0.0/0', false],
    ['203.0.113.7', 'all', false],
    ['203.0.113.7', '', false],
  ])('%s in %s: %s', (address, range, expected) => {
    expect(isWithin(address, [range])).toBe(expected);
  });

  it('is in one of many ranges, and in none of none', () => {
    expect(isWithin('10.0.0.1', ['::1', '192.0.2.0/24', '10.0.0.0/8'])).toBe(true);
    expect(isWithin('10.0.0.1', [])).toBe(false);
  });
});

describe('allowed addresses: ranges that contain ranges', () => {
  it.each<[string[], string[], boolean]>([
    [['10.0.0.0/8'], ['10.1.0.0/16'], true],
    [['10.0.0.0/8'], ['10.1.2.3'], true],
    [['10.0.0.0/8'], ['10.0.0.0/8'], true],
    [['10.0.0.0/8'], ['10.0.0.0/7'], false],
    [['10.0.0.0/8'], ['11.0.0.0/16'], false],
    [['10.0.0.0/8'], ['0.0.0.0/0'], false],
    [['10.1.2.3'], ['10.1.2.3/32'], true],
    [['10.1.2.3'], ['10.1.2.0/24'], false],
    [['2001:db8::/32'], ['2001:db8:1::/48'], true],
    [['2001:db8:1::/48'], ['2001:db8::/32'], false],
    [['::/0'], ['10.0.0.0/8'], false],
    [['0.0.0.0/0'], ['::/0'], false],
    [['0.0.0.0/0'], ['2001:db8::1'], false],
    [['10.0.0.0/8', '192.0.2.0/24'], ['192.0.2.1', '10.0.0.1'], true],
    [['10.0.0.0/8', '192.0.2.0/24'], ['192.0.2.1', '192.0.3.1'], false],
    [['10.0.0.0/8'], ['junk'], false],
    [['junk'], ['10.0.0.0/8'], false],
    [[], ['10.0.0.1'], false],
    [['10.0.0.0/8'], [], true],
  ])('%j and %j: %s', (outer, inner, expected) => {
    expect(rangesContain(outer, inner)).toBe(expected);
  });
});

describe('rate limit: the address that a client is counted by', () => {
  it('is its IPv4 address, also in IPv6 notation', () => {
    expect(clientOf('203.0.113.7')).toBe('203.0.113.7');
    expect(clientOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
  });

  it('is the /64 of its IPv6 address', () => {
    const one = clientOf('2001:db8:1:2::1');
    expect(one).toBe('2001:db8:1:2::/64');
    expect(clientOf('2001:DB8:1:2:ffff:ffff:ffff:ffff')).toBe(one);
    expect(clientOf('2001:db8:1:3::1')).not.toBe(one);
  });

  it('is one for all clients without an address', () => {
    for (const text of ['', 'junk', '203.0.113', '1.2.3.4, 5.6.7.8']) expect(clientOf(text)).toBe('unknown');
  });
});
