// What a Worker that is bound to the service reaches of its default export.
// test/scripts/bindings/bindings.test.mjs tries the same with a second Worker.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import type { Env } from '../../../src/env';
import worker from '../../../src/index';
import { newOrg, useWorld } from '../../support/world';

useWorld();

it('bindings: a bound Worker calls no handler that is for the platform', () => {
  // The runtime lets a bound Worker call own methods of an object, and finds handlers for itself anywhere.
  expect(Reflect.ownKeys(worker)).toEqual([]);
  expect(Object.getPrototypeOf(worker)).not.toBe(Object.prototype);
  for (const name of ['fetch', 'queue', 'scheduled'] as const) expect(worker[name]).toBeInstanceOf(Function);
});

it("audit log: a Worker's own request has no address, whatever it sends", async () => {
  const o = await newOrg();
  const sent = async (cf?: CfProperties) => {
    const context = createExecutionContext();
    const request = new Request(`http://localhost/api/v1/orgs/${o.id}`, {
      headers: { Authorization: `Bearer ${o.token}`, 'CF-Connecting-IP': '198.51.100.66' },
      ...(cf && { cf }),
    });
    const { headers } = await worker.fetch(request, env as unknown as Env, context);
    await waitOnExecutionContext(context);
    const { data } = (await o.get('/audit-log')).json;
    const id = headers.get('Request-Id');
    return data.find(({ request_id }: { request_id: string }) => request_id === id)?.ip;
  };
  expect(await sent()).toBe('unknown');
  expect(await sent({ colo: 'FRA' }), 'a request that came from the internet, passed on').toBe(
    '198.51.100.66',
  );
});
