// For tests of reads: one vault a file, and clients with a credential of their own that are closed after each
// test.
import { type Change, createVault, type VaultOptions } from '@secrets-vault/client';
import { afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { newVault, until } from '../support.ts';

/** Sets hooks: call it at the top of a file. */
export function useReaders() {
  const at = {} as Awaited<ReturnType<typeof newVault>>;
  beforeAll(async () => {
    Object.assign(at, await newVault());
  });
  beforeEach(() => at.proxy.reset());
  const open: { close(): void }[] = [];
  afterEach(() => {
    vi.useRealTimers();
    for (const vault of open.splice(0)) vault.close();
  });

  let n = 0;
  const fresh = () => `C${++n}`;

  /** A client with an agent credential, the changes it is told of, and the credential. */
  async function reader(options: Partial<VaultOptions> = {}, limits: object = {}) {
    const agent = await at.agent(limits);
    const vault = createVault({ url: at.url, org: at.org, credential: agent.token, retries: 0, ...options });
    open.push(vault);
    const changes: Change[] = [];
    /** Opens the stream, and waits until it reports changes. */
    const watch = async () => {
      const probe = fresh();
      let isOpen = false;
      vault.onChange((change) => {
        if (change.names.includes(probe)) isOpen = true;
        else changes.push(change);
      });
      await until(async () => {
        await at.put(probe, String(Math.random()));
        return isOpen;
      });
    };
    const revoke = () => at.direct('DELETE', `/agent-credentials/${agent.id}`);
    return { vault, changes, watch, revoke, id: agent.id };
  }

  return { at, open, reader, fresh };
}
