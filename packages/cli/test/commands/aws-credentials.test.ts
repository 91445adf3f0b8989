// svc aws-credentials: what credential_process of an AWS profile reads, and that it works.
import { AwsClient } from 'aws4fetch';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Machine, signedIn, succeeding } from '../harness.ts';

let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
const { ok } = succeeding(() => machine);

interface Shown {
  Version: number;
  AccessKeyId: string;
  SecretAccessKey: string;
  SessionToken: string;
  Expiration: string;
}
const credentials = async (...options: string[]): Promise<Shown> =>
  JSON.parse((await ok(['aws-credentials', ...options])).stdout);

/** A call as SDKs of AWS make it. */
async function read({ AccessKeyId, SecretAccessKey, SessionToken }: Shown, environment = 'development') {
  const aws = new AwsClient({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    service: 'secretsmanager',
    region: 'auto',
    retries: 0,
  });
  const response = await aws.fetch(`${at.url}/compat/aws/${at.org}/${environment}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.1',
      'X-Amz-Target': 'secretsmanager.GetSecretValue',
    },
    body: '{"SecretId":"DATABASE_URL"}',
    aws: { allHeaders: false },
  });
  const { SecretString, __type } = (await response.json()) as { SecretString?: string; __type?: string };
  return SecretString ?? __type;
}

beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
  await ok(['set', 'DATABASE_URL', '-e', 'development'], { stdin: 'postgres://app' });
});

describe('svc aws-credentials', () => {
  it('credentials: what AWS asks a credential_process for, for an hour, and nothing else', async () => {
    const { stdout, stderr } = await ok(['aws-credentials']);
    expect(stderr).toBe('');
    const shown: Shown = JSON.parse(stdout);
    expect(shown).toEqual({
      Version: 1,
      AccessKeyId: expect.stringMatching(/^SVCS[A-Z2-7]{72}$/),
      SecretAccessKey: expect.stringMatching(/^[A-Za-z0-9+/]{40}$/),
      SessionToken: expect.stringMatching(/^svcaws_/),
      Expiration: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(Math.round((Date.parse(shown.Expiration) - Date.now()) / 60_000)).toBe(60);
    expect(stdout).not.toContain(at.key);
    expect(await read(shown)).toBe('postgres://app');
  });

  it('bounds: a lifetime, environments and names narrow it', async () => {
    const short = await credentials('--ttl', '15m');
    expect(Math.round((Date.parse(short.Expiration) - Date.now()) / 60_000)).toBe(15);
    expect(await read(await credentials('--environments', 'production'))).toBe('AccessDeniedException');
    expect(await read(await credentials('--secrets', 'app/*'))).toBe('AccessDeniedException');
    expect(await read(await credentials('--secrets', 'DATABASE_*'))).toBe('postgres://app');
  });

  it('credential: another kind than an API key is refused, and nothing is printed for AWS to read', async () => {
    const response = await fetch(`${at.url}/api/v1/orgs/${at.org}/access-tokens`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${at.key}`, 'Content-Type': 'application/json' },
      body: '{"ttlSeconds":600}',
    });
    const { token } = (await response.json()) as { token: string };
    const ran = await machine.svc(['aws-credentials'], {
      env: { SVC_TOKEN: token, SVC_URL: at.url, SVC_ORG: at.org },
    });
    expect([ran.code === 0, ran.stdout]).toEqual([false, '']);
    expect(ran.stderr).toContain('API key');
  });
});
