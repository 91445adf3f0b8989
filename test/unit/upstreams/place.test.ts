// Secrets in a call: where they go, and which are refused.
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/crypto/digest';
import type { UpstreamAuth } from '../../../src/db/upstreams';
import { filler, place } from '../../../src/domains/upstreams/call/fill';
import { needsBody, signed } from '../../../src/domains/upstreams/call/sign';
import type { PlacedValue } from '../../../src/domains/upstreams/call/use-plan';
import { ApiError } from '../../../src/errors';

const upstream = { id: 'ups_1', name: 'api', base_url: 'https://api.example.com/v1' };
const KEY = 'sk_live_1234567890';
const values = (texts: Record<string, string>, isChosen = false): Record<string, PlacedValue> =>
  Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { value, isChosen }]));
const call = { path: '/a%2Fb', query: '?x=%2F', headers: [['accept', '*/*']] as [string, string][] };
const put = (auth: UpstreamAuth[], texts: Record<string, string> = { KEY }, more = {}, isChosen = false) =>
  place({ upstream, auth, values: values(texts, isChosen) }, { ...call, ...more });
const header = (value = 'Bearer {{KEY}}', guessable?: boolean): UpstreamAuth => ({
  type: 'header',
  name: 'Authorization',
  value,
  ...(guessable !== undefined && { guessable }),
});
const refusal = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return (error as ApiError).refusal?.code;
  }
  return null;
};

describe('placing', () => {
  it('placing: a header, with the path and the query as they were', () => {
    expect(put([header()])).toEqual({
      url: 'https://api.example.com/v1/a%2Fb?x=%2F',
      headers: [
        ['accept', '*/*'],
        ['authorization', `Bearer ${KEY}`],
      ],
      masked: [KEY],
    });
  });

  it('placing: Basic credentials, masked as they are sent too', () => {
    const { headers, masked } = put([{ type: 'basic', username: 'me', password: '{{KEY}}' }]);
    expect(headers.at(-1)).toEqual(['authorization', `Basic ${btoa(`me:${KEY}`)}`]);
    expect(masked).toEqual([btoa(`me:${KEY}`), KEY]);
    expect(
      refusal(() =>
        put([{ type: 'basic', username: '{{KEY}}', password: 'x' }], { KEY: 'a:b:c:d:e:f:g:h:i' }),
      ),
    ).toBe('VALUE_NOT_REPRESENTABLE');
  });

  it('placing: a parameter takes the place of the caller’s', () => {
    const { url } = put(
      [{ type: 'query', name: 'key', value: '{{KEY}}' }],
      { KEY: 'a&b=c d#é-1234567890' },
      {
        query: '?k%65y=mine&x=1&KEY=2',
      },
    );
    expect(url).toBe('https://api.example.com/v1/a%2Fb?x=1&key=a%26b%3Dc%20d%23%C3%A9-1234567890');
  });

  it('placing: a header takes the place of the caller’s', () => {
    const auth: UpstreamAuth = { type: 'header', name: 'X-Token', value: '{{KEY}}' };
    const { headers } = put([auth], { KEY }, { headers: [['x-token', 'mine']] });
    expect(headers).toEqual([['x-token', KEY]]);
  });

  it('placing: a template is filled once, and only what auth says is one', () => {
    const { headers, url } = put(
      [header('{{A}} {{B}}')],
      { A: '{{B}}-1234567890', B: 'b-12345678901234' },
      {
        query: '?q={{B}}',
      },
    );
    expect(headers.at(-1)?.[1]).toBe('{{B}}-1234567890 b-12345678901234');
    expect(url).toContain('?q={{B}}');
    expect(refusal(() => put([header('{{toString}}')]))).toBe('USE_NOT_ALLOWED');
  });

  it('placing: blanks and line breaks at the ends are not sent, and the rest is masked', () => {
    const { headers, masked } = put([header()], { KEY: ` \t${KEY}\r\n` });
    expect(headers.at(-1)?.[1]).toBe(`Bearer ${KEY}`);
    expect(masked).toEqual([KEY]);
  });

  it.each([
    ['line feed', 'sk_live_\n1234567890'],
    ['carriage return', 'sk_live_1234567890\rX-A: b'],
    ['NUL', 'sk_live_\0_1234567890'],
  ])('placing: a value with a %s in it is refused in a header', (_, value) => {
    expect(refusal(() => put([header()], { KEY: value }))).toBe('VALUE_NOT_REPRESENTABLE');
    expect(refusal(() => put([{ type: 'query', name: 'k', value: '{{KEY}}' }], { KEY: value }))).toBeNull();
  });

  it('placing: short values are refused, guessable ones unless auth says so', () => {
    expect(refusal(() => put([header(undefined, true)], { KEY: '1234567' }))).toBe('VALUE_NOT_REPRESENTABLE');
    expect(refusal(() => put([header(undefined, true)], { KEY: '  1234567  \n' }))).toBe(
      'VALUE_NOT_REPRESENTABLE',
    );
    expect(refusal(() => put([header(undefined, true)], { KEY: '12345678' }))).toBeNull();
    expect(refusal(() => put([header()], { KEY: '123456789012345' }))).toBe('VALUE_NOT_REPRESENTABLE');
    expect(refusal(() => put([header()], { KEY: '1234567890123456' }))).toBeNull();
    expect(refusal(() => put([header()], { KEY }, {}, true))).toBe('VALUE_NOT_REPRESENTABLE');
    expect(refusal(() => put([header(undefined, true)], { KEY }, {}, true))).toBeNull();
    expect(refusal(() => put([header()], { KEY: 'x'.repeat(16_385) }))).toBe('VALUE_NOT_REPRESENTABLE');
  });

  it('placing: a refusal never shows the value', () => {
    try {
      filler({ values: values({ KEY: 'hunter2' }) }, {}).fill('{{KEY}}');
    } catch (error) {
      expect(JSON.stringify((error as ApiError).refusal)).not.toContain('hunter2');
    }
  });
});

describe('AWS signatures', () => {
  // The example of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
  const s3: UpstreamAuth = {
    type: 'aws_sigv4',
    access_key_id: '{{ID}}',
    secret_access_key: '{{SECRET}}',
    region: 'us-east-1',
    service: 's3',
  };
  const plan = {
    upstream: { ...upstream, base_url: 'https://examplebucket.s3.amazonaws.com' },
    auth: [s3],
    values: values({ ID: 'AKIAIOSFODNN7EXAMPLE', SECRET: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }),
  };
  const at = '20130524T000000Z';
  const placed = (headers: [string, string][], path = '/test$file.text', query = '') =>
    place(plan, { path, query, headers });

  it('signature: is that of the request as it is sent', async () => {
    const { headers } = await signed(
      plan,
      'GET',
      placed([['x-amz-date', 'theirs']], '/', '?max-keys=2&prefix=J'),
      null,
      at,
    );
    const all = new Headers(headers);
    expect(all.get('x-amz-date')).toBe(at);
    expect(all.get('x-amz-content-sha256')).toBe(sha256(''));
    expect(all.get('authorization')).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  it('signature: covers the body, or the hash that the caller said', async () => {
    expect(needsBody(plan, [])).toBe(true);
    expect(needsBody(plan, [['x-amz-content-sha256', 'x']])).toBe(false);
    const body = new TextEncoder().encode('hello');
    const { headers } = await signed(plan, 'PUT', placed([]), body, at);
    expect(new Headers(headers).get('x-amz-content-sha256')).toBe(sha256('hello'));
    const given = await signed(plan, 'PUT', placed([['x-amz-content-sha256', 'UNSIGNED-PAYLOAD']]), null, at);
    expect(new Headers(given.headers).get('x-amz-content-sha256')).toBe('UNSIGNED-PAYLOAD');
  });

  it.each(['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 'x', ''])(
    'signature: a hash %j is refused',
    async (hash) => {
      await expect(signed(plan, 'PUT', placed([['x-amz-content-sha256', hash]]), null, at)).rejects.toThrow(
        ApiError,
      );
    },
  );

  it('signature: an unsigned body leaves over https alone', async () => {
    const http = { ...plan, upstream: { ...plan.upstream, base_url: 'http://127.0.0.1:9000' } };
    const unsigned = place(http, {
      path: '/',
      query: '',
      headers: [['x-amz-content-sha256', 'UNSIGNED-PAYLOAD']],
    });
    await expect(signed(http, 'PUT', unsigned, null, at)).rejects.toThrow(ApiError);
  });

  it('signature: the caller’s session token is not sent, that of auth is', async () => {
    const given = placed([['x-amz-security-token', 'theirs']]);
    expect(given.headers).toEqual([]);
    const auth: UpstreamAuth = { ...s3, session_token: '{{TOKEN}}' };
    const own = {
      ...plan,
      auth: [auth],
      values: { ...plan.values, ...values({ TOKEN: 'session-token-1234567890' }) },
    };
    const { headers, masked } = await signed(
      own,
      'GET',
      place(own, { path: '/', query: '', headers: [] }),
      null,
      at,
    );
    expect(new Headers(headers).get('x-amz-security-token')).toBe('session-token-1234567890');
    expect(masked).toContain('session-token-1234567890');
    expect(masked).toContain('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY');
  });
});
