// CircleCI's project environment variables, by https://circleci.com/docs/api/v2/#tag/Project: values are
// masked, lists are paged.
import { type Fake, startFake } from './server.ts';

export interface CircleciFake extends Fake {
  token: string;
  slug: string;
  vars: Record<string, string>;
}

const PAGE = 3;
const error = (status: number) => ({ status, body: { message: 'made up' } });

export async function startCircleci(): Promise<CircleciFake> {
  const fake = (await startFake(({ method, path, query, headers, json }) => {
    if (headers['circle-token'] !== fake.token) return error(401);
    const base = `/api/v2/project/${fake.slug}/envvar`;
    const name = path.startsWith(`${base}/`) ? decodeURIComponent(path.slice(base.length + 1)) : null;
    if (path !== base && name === null) return error(404);
    if (method === 'GET' && name === null) {
      const start = Number(query.get('page-token') ?? 0);
      const all = Object.entries(fake.vars).map(([name, value]) => ({
        name,
        value: `xxxx${value.slice(-4)}`,
      }));
      const next_page_token = start + PAGE < all.length ? String(start + PAGE) : null;
      return { status: 200, body: { items: all.slice(start, start + PAGE), next_page_token } };
    }
    if (method === 'POST' && name === null) {
      if (!headers['content-type']?.startsWith('application/json')) return error(400);
      const { name: key, value, ...rest } = json ?? {};
      if (typeof key !== 'string' || !/^[A-Za-z_]\w*$/.test(key) || typeof value !== 'string' || value === '')
        return error(400);
      if (Object.keys(rest).length) return error(400);
      fake.vars[key] = value;
      return { status: 201, body: { name: key, value: `xxxx${value.slice(-4)}` } };
    }
    if (method === 'DELETE' && name !== null) {
      if (!(name in fake.vars)) return error(404);
      delete fake.vars[name];
      return { status: 200, body: { message: 'Environment variable deleted.' } };
    }
    return error(404);
  })) as CircleciFake;
  return Object.assign(fake, { token: 'circleci-token', slug: 'gh/demo/app', vars: {} });
}
