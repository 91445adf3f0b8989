// Supabase's Edge Function secrets, by https://supabase.com/docs/reference/api/v1-bulk-create-secrets:
// digests in place of values, 100 a project.
import { createHash } from 'node:crypto';
import { type Fake, startFake } from './server.ts';

export interface SupabaseFake extends Fake {
  token: string;
  ref: string;
  secrets: Record<string, string>;
  /** Calls left in this minute. */
  left: number;
}

const error = (status: number) => ({ status, body: { message: 'made up' } });
const isName = (name: unknown) =>
  typeof name === 'string' && name.length > 0 && name.length <= 256 && !name.startsWith('SUPABASE_');
const isValue = (value: unknown) => typeof value === 'string' && value.length <= 24_576;

export async function startSupabase(): Promise<SupabaseFake> {
  const fake = (await startFake(({ method, path, headers, json }) => {
    if (headers.authorization !== `Bearer ${fake.token}`) return error(401);
    if (path !== `/v1/projects/${fake.ref}/secrets`) return error(404);
    const limit = {
      'x-ratelimit-limit': '120',
      'x-ratelimit-remaining': String(Math.max(0, fake.left - 1)),
      'x-ratelimit-reset': '7',
    };
    if (fake.left-- <= 0) {
      fake.left = 120;
      return { ...error(429), headers: limit };
    }
    if (method === 'GET') {
      const all = Object.entries(fake.secrets);
      const digest = (value: string) => createHash('sha256').update(value).digest('hex');
      return {
        status: 200,
        headers: limit,
        body: all.map(([name, value]) => ({ name, value: digest(value), updated_at: 'x' })),
      };
    }
    if (!headers['content-type']?.startsWith('application/json') || !Array.isArray(json) || !json.length)
      return error(400);
    if (method === 'POST') {
      const isRight = json.every(
        ({ name, value, ...rest }) => isName(name) && isValue(value) && !Object.keys(rest).length,
      );
      const next = { ...fake.secrets, ...Object.fromEntries(json.map(({ name, value }) => [name, value])) };
      if (!isRight || Object.keys(next).length > 100) return error(400);
      fake.secrets = next;
      return { status: 201 };
    }
    if (method !== 'DELETE') return error(404);
    if (!json.every((name) => typeof name === 'string')) return error(400);
    // Nothing is deleted where one is not there.
    if (json.some((name) => !(name in fake.secrets))) return error(404);
    for (const name of json) delete fake.secrets[name];
    return { status: 200 };
  })) as SupabaseFake;
  return Object.assign(fake, {
    token: 'supabase-token',
    ref: 'abcdefghijklmnopqrst',
    secrets: {},
    left: 120,
  });
}
