// Fly.io's app secrets, by https://fly.io/docs/machines/api/app-secrets-resource/: digests in place of
// values, one POST for many, null deletes.
import { createHash } from 'node:crypto';
import { type Fake, startFake } from './server.ts';

export interface FlyFake extends Fake {
  token: string;
  app: string;
  secrets: Record<string, string>;
  version: number;
}

const error = (status: number, text: string) => ({ status, body: { error: `made up: ${text}` } });
const digest = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 16);

export async function startFly(): Promise<FlyFake> {
  const listed = (names: string[]) =>
    names.map((name) => ({
      name,
      digest: digest(fake.secrets[name] as string),
      created_at: 'x',
      updated_at: 'x',
    }));
  const fake = (await startFake(({ method, path, headers, json }) => {
    if (headers.authorization !== `Bearer ${fake.token}`) return error(401, 'unauthenticated');
    if (path !== `/v1/apps/${fake.app}/secrets`) return error(404, 'app not found');
    const all = Object.keys(fake.secrets);
    if (method === 'GET') return { status: 200, body: { secrets: all.length ? listed(all) : null } };
    if (method !== 'POST') return error(405, 'method');
    if (
      !headers['content-type']?.startsWith('application/json') ||
      typeof json?.values !== 'object' ||
      Object.keys(json).length !== 1
    )
      return error(400, 'body');
    const changes = Object.entries(json.values);
    if (
      !changes.length ||
      changes.some(
        ([name, value]) => !/^[A-Za-z_]\w*$/.test(name) || (value !== null && typeof value !== 'string'),
      )
    )
      return error(422, 'invalid');
    for (const [name, value] of changes) {
      if (value === null) delete fake.secrets[name];
      else fake.secrets[name] = value as string;
    }
    fake.version++;
    return {
      status: 200,
      body: {
        secrets: listed(changes.flatMap(([name, value]) => (value === null ? [] : [name]))),
        version: fake.version,
      },
    };
  })) as FlyFake;
  return Object.assign(fake, { token: 'fly-token', app: 'demo-app', secrets: {}, version: 0 });
}
