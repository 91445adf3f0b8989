// Where an upstream may send: never to this service, whatever the spelling.
import { describe, expect, it } from 'vitest';
import { baseUrlOf, problemsOf } from '../../../src/domains/upstreams/config';
import { namesIn, placedBy } from '../../../src/domains/upstreams/references';
import { UpstreamIn } from '../../../src/domains/upstreams/wire';
import { largestUpstream } from '../../support/integrations/upstreams';

const here = { allowPrivate: false, publicUrl: 'https://vault.example.com' };

it('bounds: the largest upstream that the tests send is one', () => {
  const { success, error } = UpstreamIn.safeParse({ ...largestUpstream(), environment: 'production' });
  expect([success, error?.issues]).toEqual([true, undefined]);
});

describe('loops: this service is no upstream', () => {
  it.each([
    'https://vault.example.com',
    'https://VAULT.example.com/api',
    'https://vault.example.com.',
    'https://vault.example.com:443',
    'https://ｖault.example.com',
  ])('refuses %s', (base_url) => {
    const token = {
      type: 'oauth2_client_credentials',
      token_url: base_url,
      client_id: '',
      client_secret: '',
    };
    expect(problemsOf({ base_url, auth: [token as never] }, here).map(({ path }) => path)).toEqual([
      'base_url',
      'auth.0.token_url',
    ]);
  });

  it('takes its neighbours', () => {
    for (const base_url of [
      'https://vault.example.com:8443',
      'https://example.com',
      'https://api.example.com',
    ])
      expect(problemsOf({ base_url }, here)).toEqual([]);
  });
});

describe('base URL', () => {
  it('is stored without a slash at the end, with its host in lower case', () => {
    expect(baseUrlOf('https://API.example.com/')).toBe('https://api.example.com');
    expect(baseUrlOf('https://api.example.com:443/v1/')).toBe('https://api.example.com/v1');
  });
});

describe('references', () => {
  it.each([
    ['Bearer {{A}}', ['A']],
    ['{{a/b.c}}{{D}}', ['a/b.c', 'D']],
    ['none', []],
    ['{ } single', []],
    ['{{}}', null],
    ['{{A', null],
    ['A}}', null],
    ['{{{A}}}', null],
    ['{{a b}}', null],
    ['{{../A}}', null],
    ['{{env:A}}', null],
  ])('in %s are %j', (text, names) => expect(namesIn(text)).toEqual(names));

  it('are sorted, each once', () => {
    const auth = [
      { type: 'header' as const, name: 'X', value: '{{B}}{{A}}' },
      { type: 'basic' as const, username: '{{B}}', password: '' },
    ];
    expect(placedBy(auth)).toEqual(['A', 'B']);
  });
});
