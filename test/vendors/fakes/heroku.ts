// Heroku's config vars, by https://devcenter.heroku.com/articles/platform-api-reference#config-vars: one map
// an app; each PATCH is a release.
import { type Fake, startFake } from './server.ts';

export interface HerokuFake extends Fake {
  token: string;
  app: string;
  vars: Record<string, string>;
  releases: number;
}

const error = (status: number, id: string) => ({ status, body: { id, message: `made up: ${id}` } });

export async function startHeroku(): Promise<HerokuFake> {
  const fake = (await startFake(({ method, path, headers, json }) => {
    if (headers.accept !== 'application/vnd.heroku+json; version=3') return error(404, 'not_found');
    if (headers.authorization !== `Bearer ${fake.token}`) return error(401, 'unauthorized');
    if (path !== `/apps/${fake.app}/config-vars`) return error(404, 'not_found');
    if (method === 'GET') return { status: 200, body: fake.vars };
    if (method !== 'PATCH') return error(404, 'not_found');
    if (!headers['content-type']?.startsWith('application/json') || typeof json !== 'object' || json === null)
      return error(400, 'bad_request');
    for (const [key, value] of Object.entries(json)) {
      if (!/^\w+$/.test(key) || /^(__|HEROKU_)/.test(key) || /^\d/.test(key))
        return error(422, 'invalid_params');
      if (value !== null && typeof value !== 'string') return error(422, 'invalid_params');
    }
    const next = Object.fromEntries(
      Object.entries({ ...fake.vars, ...json }).filter(([, value]) => value !== null),
    ) as Record<string, string>;
    if (Buffer.byteLength(JSON.stringify(next)) > 65_536) return error(422, 'invalid_params');
    fake.vars = next;
    fake.releases++;
    return { status: 200, body: fake.vars };
  })) as HerokuFake;
  return Object.assign(fake, { token: 'heroku-token', app: 'demo-app', vars: {}, releases: 0 });
}
