// The chain of the audit log behind entries that are known to be missing.
import { expect, it } from 'vitest';
import { chainFrom } from '../../../src/domains/audit/check-chain';
import { hashOf } from '../../../src/gate/audit/chain';
import type { Entry } from '../../../src/gate/audit/entry';

it('audit: the chain goes on behind gaps that adjoin, and lists each', () => {
  const missing = [
    { from: 5, to: 5, reason: 'restore' as const },
    { from: 6, to: 8, reason: 'gate_lost' as const },
    { from: 9, to: 9, reason: 'restore' as const },
  ];
  const entry = { sequence: 10, prev_hash: 'of an entry that is lost', hash: '' } as Entry;
  entry.hash = hashOf(entry) as string;
  const chain = chainFrom('org_one', { from: 5, hash: 'before' }, missing);
  expect(chain.take(entry)).toBe(true);
  expect(chain.missing).toEqual(missing);
});
