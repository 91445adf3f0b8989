// Lists in audit entries: in full once in twelve hours, else as their digest, and bounded.
import { expect, it } from 'vitest';
import { createNotedLists } from '../../../src/gate/audit/noted-lists';

const HOURS = 3_600_000;
const draft = (
  id: string,
  parent_id: string | null,
  lists: { patterns?: string[]; withheld?: string[] },
) => ({
  actor: { kind: 'session', id, parent_id, name: null },
  action: 'secret.read_all',
  resource: 'env_1',
  environment: 'production',
  version: 1,
  reason: null,
  request_id: 'req_1',
  ip: '',
  user_agent: null,
  ...lists,
});
const ids = (many: number, from = 0) => Array.from({ length: many }, (_, n) => `sec_${from + n}`);

it('audit log: a list is written in full at least every twelve hours per caller, otherwise as its digest', () => {
  const { noted } = createNotedLists();
  const withheld = ids(2);
  const first = noted(draft('a', null, { withheld, patterns: ['app/*'] }), 0);
  expect(first).toMatchObject({ withheld, patterns: ['app/*'] });
  const { withheld_digest } = first;
  expect(noted(draft('a', null, { withheld }), 11 * HOURS)).toMatchObject({
    withheld: undefined,
    withheld_digest,
  });
  expect(noted(draft('b', null, { withheld }), 11 * HOURS)).toMatchObject({ withheld, withheld_digest });
  expect(noted(draft('a', null, { withheld }), 12 * HOURS + 1)).toMatchObject({ withheld, withheld_digest });
  expect(noted(draft('a', null, {}), 0)).toEqual(draft('a', null, {}));
});

it('audit log: a caller who causes ever new lists of withheld secrets gets digests, session tokens or not; others are not affected', () => {
  const { noted } = createNotedLists();
  const full = (id: string, parent: string | null, n: number, now = 0) =>
    noted(draft(id, parent, { withheld: ids(2000, n) }), now).withheld !== undefined;
  const written = Array.from({ length: 50 }, (_, n) => full(`session ${n % 7}`, 'key', n)).filter(Boolean);
  expect(written).toHaveLength(10);
  expect(full('session', 'other key', 0)).toBe(true);
  expect(full('session 0', 'key', 60, 12 * HOURS)).toBe(true);
});
