import { describe, expect, it } from 'vitest';
import { cutUsePath, isPlainPath } from '../../../src/domains/upstreams/call/path';

const at = 'https://vault.example.com/api/v1/orgs/org_1/use/stripe';

describe('upstream paths', () => {
  it.each([
    '/',
    '/v1/charges',
    '/v1/a%2Fb',
    '/v1/100%25',
    '/v1/100%25zz',
    '/v1/...',
    '/v1/a.b/.well-known',
    '/v1//a',
    '/v1/a@b:c',
    '/%E2%82%AC',
  ])('path: %s is sent as it is', (path) => expect(isPlainPath(path)).toBe(true));

  it.each([
    ...['', 'v1', '//evil.example', '/%2Fevil.example', '/%252Fevil.example', '\\evil', '/a\\b', '/a%5Cb'],
    ...['/a/../b', '/a/..', '/.', '/a/./b', '/a/%2e%2e/b', '/a/.%2E/b', '/a/%252e%252e/b', '/a/%2f..%2fb'],
    ...['/a/%25252e%25252e/b', '/a/..;/b', '/a/..%3Bx=1/b', '/a/.;x/b', '/a/..;%0a/b'],
    ...['/a%0d%0aHost:evil', '/a%00', '/a%250d', '/a\r\nb', '/a%7f', '/a%', '/a%2', '/a%zz', '/%2525252541'],
  ])('path: %j is refused', (path) => expect(isPlainPath(path)).toBe(false));

  it('path: is cut as it was written', () => {
    expect(cutUsePath(`${at}/v1/%2e%2e//a?b=%2F&c`)).toEqual({
      org: 'org_1',
      upstream: 'stripe',
      rest: '/v1/%2e%2e//a',
      query: '?b=%2F&c',
    });
    expect(cutUsePath(at)).toEqual({ org: 'org_1', upstream: 'stripe', rest: '/', query: '' });
    expect(cutUsePath(`${at}?a=/x`)).toEqual({ org: 'org_1', upstream: 'stripe', rest: '/', query: '?a=/x' });
  });

  it.each([
    'https://vault.example.com/api/v1/orgs/../use/stripe/v1',
    'https://vault.example.com/api/v1/orgs/org_1/use/%73tripe/v1',
    'https://vault.example.com/api/v1/orgs/org_1/use/..%2fsecrets',
    'https://vault.example.com/x/api/v1/orgs/org_1/use/stripe/v1',
    'https://vault.example.com/api/v1/orgs/org_1/use/',
    'https://vault.example.com?/api/v1/orgs/org_1/use/stripe/v1',
  ])('path: %s is no call to an upstream', (url) => expect(cutUsePath(url)).toBeNull());
});
