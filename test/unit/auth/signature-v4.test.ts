// Signature Version 4: what our verifier computes is what aws4fetch signs, whatever the names and headers.
import { AwsV4Signer } from 'aws4fetch';
import { expect, it } from 'vitest';
import { readSigned, signatureOf } from '../../../src/auth/authentication/signature-v4';
import { randomBytes, utf8 } from '../../../src/crypto/bytes';
import { randomText } from '../../../src/crypto/generate';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const VISIBLE = `${LETTERS} ABC!"#$%&'()*+,-./:;<=>?@[]^_{|}~`;
const PATHS = `${LETTERS}-_.~!'()*+@:$&,;=%20`;
const upTo = (most: number) => (randomBytes(1)[0] as number) % most;

it('signature: agrees with the signer over random paths, headers, bodies and regions', async () => {
  for (let round = 0; round < 200; round++) {
    const secret = randomText(LETTERS, 40);
    const headers: Record<string, string> = {
      'x-amz-target': `secretsmanager.${randomText(LETTERS, 8)}`,
      'content-type': 'application/x-amz-json-1.1',
    };
    for (let n = upTo(6); n > 0; n--)
      headers[`x-${randomText(LETTERS, 1 + upTo(12))}`] = ` ${randomText(VISIBLE, 1 + upTo(40))}  x `;
    const path = randomText(PATHS.replace('%20', ''), 1 + upTo(30));
    const url = `https://vault.example.com/compat/aws/${path}%20${round % 2 ? '/' : ''}`;
    const body = randomText(VISIBLE, 1 + upTo(200));
    const signer = new AwsV4Signer({
      method: 'POST',
      url,
      headers,
      body,
      accessKeyId: 'SVCAAAAAAAAAAAAAAAAA',
      secretAccessKey: secret,
      service: 'secretsmanager',
      region: `eu-${randomText(LETTERS, 1 + upTo(9))}-1`,
      allHeaders: round % 3 > 0,
    });
    const { headers: sent } = await signer.sign();
    const parts = { url, headers: new Headers(sent), body: utf8(body) };
    const read = readSigned(parts);
    expect(read).not.toHaveProperty('type');
    if ('type' in read) continue;
    expect(await signatureOf(read, secret, parts)).toBe(read.signature);
    expect(await signatureOf(read, `${secret}x`, parts)).not.toBe(read.signature);
    expect(await signatureOf(read, secret, { ...parts, body: utf8(`${body}x`) })).not.toBe(read.signature);
  }
});

it('signature: one that botocore made is computed as there', async () => {
  // Signed by botocore 1.43 with the key of AWS's documentation.
  const parts = {
    url: 'https://vault.example.com/compat/aws/o/production',
    headers: new Headers({
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-date': '20261128T180000Z',
      'x-amz-target': 'secretsmanager.GetSecretValue',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLEAKIDEXAM/20261128/us-east-1/secretsmanager/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=${'0'.repeat(64)}`,
    }),
    body: utf8('{"SecretId": "s"}'),
  };
  const read = readSigned(parts);
  if ('type' in read) throw new Error(read.message);
  expect(await signatureOf(read, 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', parts)).toBe(
    '4cf82ebbed3d3eeede99f855266f901f5cd69673be7db3933428f8078f50e2b2',
  );
});
