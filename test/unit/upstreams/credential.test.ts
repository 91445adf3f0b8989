// Where the credential of a call can be, as SDKs send theirs.
import { describe, expect, it } from 'vitest';
import { newToken } from '../../../src/auth/authentication/token';
import { newId } from '../../../src/db/ids';
import { useAuthorization } from '../../../src/domains/upstreams/use-credential';

const TOKEN = newToken('api_key', newId('org'), new Uint8Array(32)).token;
const found = (headers: Record<string, string>) => useAuthorization(new Headers(headers));

describe('the credential of a call', () => {
  it.each<[string, Record<string, string>]>([
    ['openai', { Authorization: `Bearer ${TOKEN}` }],
    ['octokit', { Authorization: `token ${TOKEN}` }],
    ['a Basic user', { Authorization: `Basic ${btoa(`${TOKEN}:`)}` }],
    ['a Basic password', { Authorization: `Basic ${btoa(`me:${TOKEN}`)}` }],
    ['anthropic', { 'X-Api-Key': TOKEN }],
    ['Azure', { 'Api-Key': TOKEN }],
    ['Google', { 'X-Goog-Api-Key': TOKEN }],
    [
      'boto3',
      {
        Authorization: `AWS4-HMAC-SHA256 Credential=${TOKEN}/20261129/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`,
      },
    ],
  ])('credential: as %s sends it', (_, headers) => expect(found(headers)).toBe(`Bearer ${TOKEN}`));

  it('credential: several are refused', () => {
    for (const other of ['X-Api-Key', 'Api-Key', 'X-Goog-Api-Key'])
      expect(found({ Authorization: `Bearer ${TOKEN}`, [other]: TOKEN })).toMatchObject({
        code: 'UNAUTHENTICATED',
      });
    expect(found({ 'Api-Key': 'x', 'X-Api-Key': TOKEN })).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('credential: an Authorization header longer than any that SDKs send identifies nobody', () => {
    const signed = (length: number) => {
      const credential = `Credential=${TOKEN}/20261129/us-east-1/s3/aws4_request`;
      const names = 'a'.repeat(length - `AWS4-HMAC-SHA256 SignedHeaders=, ${credential}`.length);
      return found({ Authorization: `AWS4-HMAC-SHA256 SignedHeaders=${names}, ${credential}` });
    };
    expect([signed(8192), signed(8193)]).toEqual([`Bearer ${TOKEN}`, '']);
  });

  it('credential: what is none of ours identifies nobody', () => {
    expect(found({})).toBeNull();
    expect(found({ Cookie: `svc=${TOKEN}` })).toBeNull();
    expect(found({ Authorization: `Basic ${btoa(`${TOKEN}:${TOKEN}`)}` })).toBe('Bearer ');
    expect(found({ Authorization: `Basic ${btoa('a:b')}` })).toBe('Bearer ');
    // The id of an access key that this service made for the AWS endpoint.
    expect(
      found({ Authorization: 'AWS4-HMAC-SHA256 Credential=SVCA0123456789ABCDEF/20261129/x/s3/aws4_request' }),
    ).toBe('');
  });
});
