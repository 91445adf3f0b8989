import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { supabase } from '../../../src/adapters/sync/supabase';
import { startSupabase } from '../fakes/supabase.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('supabase-management-js');

it.skipIf(!client)('sync: supabase and the supabase-management-js package see the same secrets', async () => {
  const fake = await running(startSupabase());
  const api = new client.SupabaseManagementAPI({ accessToken: fake.token, baseUrl: fake.url });
  const config = { token: fake.token, projectRef: fake.ref };
  const secrets = { ALPHA: 'välue "a"\n$b', BETA: 'b' };
  const first = await sync(supabase, config, fake, secrets);
  const { data } = await api.listAllSecrets(fake.ref);
  const digests = Object.entries(secrets).map(([name, value]) => [
    name,
    createHash('sha256').update(value).digest('hex'),
  ]);
  expect(data.map(({ name, value }: Record<string, string>) => [name, value])).toEqual(digests);
  await api.bulkCreateSecrets(fake.ref, [{ name: 'THEIRS', value: 'theirs' }]);
  await api.bulkDeleteSecrets(fake.ref, ['BETA']);
  const second = await sync(supabase, config, fake, { ...secrets, THEIRS: 'ours' }, { owned: first.owned });
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created', 'THEIRS updated']);
});
