// Pages of the outbox, which all streams of an organisation share.
import { expect, it } from 'vitest';
import { createPages, PAGE } from '../../../../src/domains/events/gate/pages';
import type { StoredEvent } from '../../../../src/gate/outbox';

function outboxOf(many: number) {
  const events = Array.from({ length: many }, (_, n) => ({ sequence: n + 1 }) as StoredEvent);
  return {
    events,
    from: (sequence: number, limit: number) =>
      events.filter((event) => event.sequence > sequence).slice(0, limit),
    head: () => events.length,
    moved: () => 0,
  };
}

it('event stream: a page is read and examined once, however many ask for it', () => {
  const pages = createPages(outboxOf(150));
  for (let n = 0; n < 50; n++) {
    expect(pages.read(0)).toHaveLength(PAGE);
    expect(pages.read(PAGE)).toHaveLength(50);
    expect(pages.shared({ view: null, after: 0 }, () => [n])).toEqual([0]);
    expect(pages.shared({ view: 'other', after: 0 }, () => [-n])).toEqual([-0]);
  }
  expect(pages.work).toEqual({ reads: 2, examined: 2 });
});

it('event stream: a page is read again once there are more', () => {
  const outbox = outboxOf(1);
  const pages = createPages(outbox);
  const seen = () => pages.shared('', () => [pages.read(0).length]);
  expect([pages.read(0).length, seen()]).toEqual([1, [1]]);
  outbox.events.push({ sequence: 2 } as StoredEvent);
  expect([pages.read(0).length, seen()]).toEqual([2, [2]]);
});
