import { expect, it } from 'vitest';
import { newBreakGlass } from '../../support/credentials';
import { newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

it('compliance: a report', async () => {
  const o = await newOrg();
  await newSecret(o);
  const token = await newBreakGlass(o);
  await token.o.get('/secrets');
  const { status, json } = await o.get('/compliance/report');
  console.error(JSON.stringify(json, null, 1));
  expect(status).toBe(200);
});
