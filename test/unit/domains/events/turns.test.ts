// Turns of streams that have much to send.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { inTurn } from '../../../../src/domains/events/turns';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('event stream: pages are two at a time, and one that never ends counts for a second', async () => {
  let started = 0;
  for (let n = 0; n < 5; n++)
    void inTurn(() => {
      started++;
      return new Promise(() => {});
    });
  await vi.advanceTimersByTimeAsync(500);
  expect(started).toBe(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(started).toBe(4);
  await vi.advanceTimersByTimeAsync(1000);
  expect(started).toBe(5);
  await vi.advanceTimersByTimeAsync(2000);
});

it('event stream: a page that fails gives its turn to the next', async () => {
  const failing = Array.from({ length: 20 }, () =>
    inTurn(() => Promise.reject(new Error('no answer'))).catch(({ message }) => message),
  );
  await vi.advanceTimersByTimeAsync(5000);
  expect(await Promise.all(failing)).toEqual(Array(20).fill('no answer'));
});
