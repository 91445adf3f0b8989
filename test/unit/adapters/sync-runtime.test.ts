// What syncs need of the runtime beside fetch: signatures, checksums, and JSON whose numbers keep their
// digits.
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { expect, it } from 'vitest';
import type { EachTarget, SyncAdapter } from '../../../src/adapters/sync/adapter';
import { awsSecretsManager } from '../../../src/adapters/sync/aws-secrets-manager';
import type { Fetch } from '../../../src/adapters/sync/call';
import { createClient } from '../../../src/adapters/sync/client';
import { gcpSecretManager } from '../../../src/adapters/sync/gcp-secret-manager';

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Opens a target whose platform answers as `say` does. */
function opened(adapter: SyncAdapter, given: object, say: (sent: Sent) => object) {
  const sent: Sent[] = [];
  const fetch: Fetch = async (url, { headers = {}, body = '' }) => {
    const request = { url, headers, body: String(body) };
    sent.push(request);
    return { status: 200, headers: new Headers(), text: JSON.stringify(say(request)), ms: 0 };
  };
  const config = adapter.config.parse(given) as never;
  const client = createClient({ vendor: adapter.vendor(config), base: undefined, fetch });
  return {
    sent,
    target: adapter.open(client, config) as EachTarget & { write: (...args: unknown[]) => Promise<unknown> },
  };
}

const put = {
  target: 'A',
  value: '123456789',
  remote: { target: 'A' },
  token: '00000000-0000-4000-8000-000000000000',
};

it('sync: gcp-secret-manager signs its assertion and sums its payload in the runtime', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const key = {
    project_id: 'demo-project',
    private_key: await exportPKCS8(privateKey),
    client_email: 'sync@demo-project.iam.gserviceaccount.com',
    token_uri: 'https://oauth2.googleapis.com/token',
  };
  const { sent, target } = opened(gcpSecretManager, { serviceAccountJson: key }, () => ({
    access_token: 'made-up',
    name: 'x',
  }));
  await target.put(put);
  const [token, added] = sent as [Sent, Sent];
  const { payload } = await jwtVerify(new URLSearchParams(token.body).get('assertion') as string, publicKey, {
    audience: key.token_uri,
  });
  expect(payload.iss).toBe(key.client_email);
  expect(JSON.parse(added.body)).toEqual({ payload: { data: 'MTIzNDU2Nzg5', dataCrc32c: '3808858755' } });
  expect(added.headers.Authorization).toBe('Bearer made-up');
});

it('sync: aws-secrets-manager signs its calls, and keeps the digits of foreign numbers in the runtime', async () => {
  const keys = {
    accessKeyId: 'AKIDMADEUP',
    secretAccessKey: 'made-up',
    region: 'eu-west-1',
    secretName: 'all',
  };
  const { sent, target } = opened(awsSecretsManager, keys, () => ({
    SecretString: '{"ID":12345678901234567890,"A":"before"}',
  }));
  await target.write([put], []);
  const [, written] = sent as [Sent, Sent];
  expect(JSON.parse(written.body).SecretString).toBe('{"ID":12345678901234567890,"A":"123456789"}');
  expect(written.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDMADEUP\/\d{8}\/eu-west-1\/secretsmanager\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=[0-9a-f]{64}$/,
  );
  expect(written.url).toBe('https://secretsmanager.eu-west-1.amazonaws.com/');
});
