import { describe, expect, it } from 'vitest';
import {
  cutUsePath,
  isPlainPath,
  queryAsSent,
  withoutParameters,
} from '../../../src/domains/upstreams/call/path';

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
    // `fetch` would encode these, so that another path left than was judged.
    ...['/a b', '/a"b', '/a<b>', '/a`b', '/a{b}', '/a^b', '/é', '/a#b', '/a?b'],
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

  it.each(["/v1/~a!$&'()*+,;=:@[]|_-.", '/a%41%7e'])('path: %s is what fetch sends', (path) => {
    expect(isPlainPath(path)).toBe(true);
    expect(new URL(`https://api.example.com${path}`).pathname).toBe(path);
  });

  it('query: leaves byte for byte, but for what no URL holds', () => {
    for (const query of ['?a=%2F&b=c+d&&=x&{}|`^', '?', '?q=%27%zz', '?a=/?@:!$()*,;'])
      expect(queryAsSent(query)).toBe(query);
    expect(queryAsSent(`?q='a b'"<>é`)).toBe('?q=%27a%20b%27%22%3C%3E%C3%A9');
    for (const query of [`?q='a b'"<>é`, '?a=%2F&{}|`^', '?%zz'])
      expect(new URL(`https://a.example${queryAsSent(query)}`).search).toBe(queryAsSent(query));
  });

  it.each([
    ['?key=1', ''],
    ['?a=%2F&key=1&b=2', '?a=%2F&b=2'],
    ['?k%65y=1&a=+', '?a=+'],
    ['?KEY=1&a', '?a'],
    ['?key&a=key', '?a=key'],
    ['?a=1;key=2&b', '?b'],
    ['?%zz=1&keys=2', '?%zz=1&keys=2'],
  ])('query: %s without what auth sets', (query, left) =>
    expect(withoutParameters(query, ['key'])).toBe(left),
  );
});
