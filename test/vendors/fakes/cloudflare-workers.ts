// Secrets of a Worker, by
// https://developers.cloudflare.com/api/resources/workers/subresources/scripts/subresources/secrets/: values
// never come back, and each write makes a version and deploys it. One bulk request has up to 100 operations.
import { ok, refused, unauthorized } from './cloudflare.ts';
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface CloudflareWorkersFake extends Fake {
  token: string;
  account: string;
  script: string;
  secrets: Record<string, string>;
  versions: number;
  /** Whether the API has the bulk call, or how it refuses it. */
  bulk: true | 404 | 405;
  /** Whether the newest version is deployed. */
  deployed: boolean;
}

const LARGEST = 5120;

/** What is wrong with a secret; null where nothing is. */
function problem(name: unknown, secret: unknown): FakeAnswer | null {
  const { name: own, text, type, ...rest } = (secret ?? {}) as Record<string, unknown>;
  if (typeof own !== 'string' || own !== name || type !== 'secret_text' || typeof text !== 'string')
    return refused(400, 10021);
  if (Object.keys(rest).length || !/^[A-Za-z_]\w*$/.test(own)) return refused(400, 10021);
  return Buffer.byteLength(text) > LARGEST ? refused(400, 10054) : null;
}

export async function startCloudflareWorkers(): Promise<CloudflareWorkersFake> {
  const patch = ({ headers, json }: FakeRequest): FakeAnswer => {
    if (fake.bulk !== true) return refused(fake.bulk, 7000);
    // A merge patch by the documentation; Cloudflare's own client sends plain JSON.
    if (!/^application\/(merge-patch\+)?json$/.test(headers['content-type'] ?? ''))
      return refused(415, 10001);
    const { secrets, ...rest } = (json ?? {}) as { secrets?: Record<string, unknown> };
    if (typeof secrets !== 'object' || secrets === null || Object.keys(rest).length)
      return refused(400, 10001);
    const entries = Object.entries(secrets);
    if (!entries.length || entries.length > 100) return refused(400, 10001);
    for (const [name, secret] of entries) {
      const wrong = secret === null ? null : problem(name, secret);
      if (wrong) return wrong;
    }
    if (!fake.deployed) return refused(400, 10215);
    for (const [name, secret] of entries) {
      if (secret === null) delete fake.secrets[name];
      else fake.secrets[name] = (secret as { text: string }).text;
    }
    fake.versions++;
    return ok(
      Object.fromEntries(Object.keys(fake.secrets).map((name) => [name, { name, type: 'secret_text' }])),
    );
  };
  const fake = (await startFake((request) => {
    const { method, path, headers, json } = request;
    const denied = unauthorized(request, fake.token);
    if (denied) return denied;
    const base = `/client/v4/accounts/${fake.account}/workers/scripts/${fake.script}`;
    if (!path.startsWith(`${base}/secrets`)) return refused(404, 10007);
    if (path === `${base}/secrets-bulk`) return method === 'PATCH' ? patch(request) : refused(405, 10405);
    if (path === `${base}/secrets` && method === 'GET')
      return ok(Object.keys(fake.secrets).map((name) => ({ name, type: 'secret_text' })));
    if (!fake.deployed) return refused(400, 10215);
    if (path === `${base}/secrets` && method === 'PUT') {
      if (!headers['content-type']?.startsWith('application/json')) return refused(400, 10001);
      const wrong = problem(json?.name, json);
      if (wrong) return wrong;
      fake.secrets[json.name] = json.text;
      fake.versions++;
      return ok({ name: json.name, type: 'secret_text' });
    }
    const name = decodeURIComponent(path.slice(`${base}/secrets/`.length));
    if (method !== 'DELETE' || !path.startsWith(`${base}/secrets/`)) return refused(405, 10405);
    if (!(name in fake.secrets)) return refused(404, 10056);
    delete fake.secrets[name];
    fake.versions++;
    return ok(null);
  })) as CloudflareWorkersFake;
  return Object.assign(fake, {
    token: 'cloudflare-token',
    account: '0123456789abcdef0123456789abcdef',
    script: 'demo-worker',
    secrets: {},
    versions: 0,
    bulk: true as const,
    deployed: true,
  });
}
