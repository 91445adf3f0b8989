// A real restart of the vault: the client reads from its cache in the meantime, and is told of changes
// afterwards.
import { createVault } from '@secrets-vault/client';
import { expect, it } from 'vitest';
import { call, newOrg, startVault } from '../../../../test/packages/vault.mjs';
import { until } from '../support.ts';

it.skipIf(!process.env.SLOW)(
  'restart: reads continue, and later changes are reported',
  { timeout: 200_000 },
  async () => {
    const first = await startVault();
    const { url, org, key } = await newOrg(first.url);
    const put = (value: string) => call(url, key, 'PUT', `/orgs/${org}/secrets/by-name/NAME`, { value });
    await put('one');
    const vault = createVault({ url, org, credential: key, cache: 'watch', staleFor: 120_000 });
    const told: string[] = [];
    vault.onChange(({ names }) => told.push(...names));
    expect((await vault.get('NAME')).reveal()).toBe('one');
    await first.stop();
    for (let read = 0; read < 10; read++) expect((await vault.get('NAME')).reveal()).toBe('one');
    const { port, state } = first;
    const second = await startVault({ port, state });
    told.length = 0;
    await put('two');
    await until(() => told.includes('NAME'), 60_000);
    expect((await vault.get('NAME')).reveal()).toBe('two');
    expect((await vault.rotate('NAME', { value: 'three' })).info.version).toBe(3);
    vault.close();
    await second.stop();
  },
);
