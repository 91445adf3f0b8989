// Reads by name.
import { expect, it } from 'vitest';
import { newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

it('ETag: a secret that took the name of another one is not taken for it', async () => {
  const o = await newOrg();
  const { id } = await newSecret(o, { name: 'A', value: 'one' });
  const etag = (await o.get('/secrets/by-name/A')).headers.get('etag') as string;
  const headers = { 'If-None-Match': etag };
  expect((await o.get(`/secrets/${id}`, headers)).status).toBe(304);
  await o.del(`/secrets/${id}`);
  await newSecret(o, { name: 'A', value: 'two' });
  const { status, json } = await o.get('/secrets/by-name/A', headers);
  expect([status, json?.value]).toEqual([200, 'two']);
});
