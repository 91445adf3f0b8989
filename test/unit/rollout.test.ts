// Calls between releases: what 0.4.0 writes is read, and it reads what this release writes.
import { describe, expect, it } from 'vitest';
import { operations } from '../../src/domains';
import { refuse } from '../../src/errors';
import { unidentified } from '../../src/gate/approvals/hold';
import type { Ask, Reply } from '../../src/gate/request/call';
import { fail, ok, wants } from '../../src/gate/request/outcome';
import {
  readAsk,
  readOutcome,
  readReply,
  writeAsk,
  writeOutcome,
  writeReadable,
  writeReply,
} from '../../src/gate/request/rollout';

const outcomes = [
  [
    { ok: true, status: 201, data: { id: 'sec_1' }, etag: '"v1"' },
    ok({ id: 'sec_1' }, { status: 201, etag: '"v1"' }),
  ],
  [{ ok: false, refusal: refuse('NOT_FOUND') }, fail(refuse('NOT_FOUND'))],
  [{ ok: 'more', data: { type: 'password' } }, wants('value', { type: 'password' })],
  [{ ok: 'more', data: { approval: true } }, unidentified],
] as const;
const rest = { credential: 'key_1', replay: null, d1_calls: 1 };
const state = { limit: 600, remaining: 599, reset: 60 };

describe('rollout: outcomes', () => {
  it.each(outcomes)('of release 0.4.0 are read, and written so that it can read them: %o', (old, outcome) => {
    expect(readOutcome(old as never)).toEqual(outcome);
    expect(writeOutcome(outcome)).toMatchObject(old);
    expect(readOutcome(JSON.parse(JSON.stringify(writeOutcome(outcome))))).toEqual(outcome);
  });
});

describe('rollout: calls', () => {
  it('a gate of 0.4.0 does not know the operation that would create a credential bound to a device', () => {
    const ask = { operation: 'agent.create', input: { device_id: 'dev_1' } } as unknown as Ask;
    const asked = writeAsk(ask);
    expect(asked.operation).toBe('agent.create.bound');
    expect(operations).not.toHaveProperty([asked.operation]);
    expect(readAsk(asked)).toEqual(ask);
    const unbound = { operation: 'agent.create', input: { device_id: null } } as unknown as Ask;
    expect(writeAsk(unbound)).toBe(unbound);
    expect(readAsk(unbound)).toBe(unbound);
  });

  it('a gate of 0.5.0 does not know the operation of a request with a field that it would ignore', () => {
    for (const input of [
      { upstreams: ['stripe'], device_id: 'dev_1' },
      { token: { aws: 'a1' } },
      { aws: 'a1' },
      { trust: { issuer: 'cloudflare:service-binding' } },
      { trust: { reuse: true } },
      { permission: 'use' },
      { regions: ['weur'] },
      { lease_seconds: 60 },
    ]) {
      const ask = { operation: 'api_key.create', input } as unknown as Ask;
      const asked = writeAsk(ask);
      expect(operations, JSON.stringify(input)).not.toHaveProperty([asked.operation]);
      expect(readAsk(asked)).toEqual(ask);
    }
    const bound = { operation: 'secret.read', bearer: { org: 'o', workload: 't', name: 'n' }, input: {} };
    expect(writeAsk(bound as unknown as Ask).operation).toBe('secret.read.later');
    const known = { operation: 'api_key.create', input: { upstreams: null, token: {} } } as unknown as Ask;
    expect(writeAsk(known)).toBe(known);
  });

  it('a reply of a gate of 0.4.0 is read, with its rate limit', () => {
    const [old, outcome] = outcomes[0];
    expect(readReply({ ...rest, outcome: old, budget: state } as never)).toEqual({
      ...rest,
      outcome,
      rate_limit: state,
    });
  });

  it('a Worker of 0.4.0 reads a reply', () => {
    const [old, outcome] = outcomes[0];
    const reply: Reply = { ...rest, outcome, rate_limit: state };
    expect(writeReply(reply)).toMatchObject({ ...rest, outcome: old, budget: state });
    expect(readReply(structuredClone(writeReply(reply)))).toEqual(reply);
  });

  it('an integrity violation is reported to a gate of either release', () => {
    const violation = { event: 'row_altered', resource: 'sec_1' } as const;
    expect(writeAsk({ violation } as unknown as Ask)).toMatchObject({ violation, alarm: violation });
    expect(readAsk({ alarm: violation } as unknown as Ask)).toEqual({ violation });
    expect(readAsk(writeAsk({ violation } as unknown as Ask))).toEqual({ violation });
    expect(writeAsk({ org: 'org_1' } as Ask)).toEqual({ org: 'org_1' });
  });
});

describe('rollout: rows', () => {
  it('a secret for a Worker lacks the columns that 0.5.0 does not know, unless they have a value', () => {
    const found = (row: object, version: object) => writeReadable({ row, version } as never);
    expect(
      found({ binary: null, unlabelled: null, expires_at: null }, { binary: null, request_token: null }),
    ).toEqual({ row: { expires_at: null }, version: {} });
    const given = [
      { binary: 1, unlabelled: 2 },
      { binary: 1, request_token: 'x' },
    ] as const;
    expect(found(...given)).toEqual({ row: given[0], version: given[1] });
  });
});
