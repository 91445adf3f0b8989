// The lease of a call in the Worker: what ends it without a word of the gate.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LEASE, leased, ROUND } from '../../../src/domains/upstreams/call/lease';

beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

/** A call whose gate answers so to each question, after `held` milliseconds; `null`: not at all. */
function call(answers: (boolean | Error | null)[], ends_at: number | null = null, held = 0) {
  const state = { questions: 0, isEnded: false };
  const may = () => {
    const answer = answers[Math.min(state.questions++, answers.length - 1)];
    if (answer === null || answer === undefined) return new Promise<boolean>(() => {});
    if (answer instanceof Error) return Promise.reject(answer);
    return held === 0
      ? Promise.resolve(answer)
      : new Promise<boolean>((resolve) => setTimeout(resolve, held, answer));
  };
  const stop = leased(may, { asked: Date.now(), ends_at }, () => {
    state.isEnded = true;
  });
  return { state, stop };
}

describe('lease', () => {
  it('lease: a call ends when the gate says so', async () => {
    const { state } = call([false]);
    await vi.advanceTimersByTimeAsync(999);
    expect(state).toEqual({ questions: 0, isEnded: false });
    await vi.advanceTimersByTimeAsync(1);
    expect(state).toEqual({ questions: 1, isEnded: true });
  });

  it.each([
    ['fails', new Error('gone')],
    ['is silent', null],
  ])('lease: a call ends without the gate, where it %s', async (_, answer) => {
    const { state } = call([answer]);
    await vi.advanceTimersByTimeAsync(LEASE - 1);
    expect(state.isEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.isEnded).toBe(true);
  });

  it('lease: a call goes on for an hour while the gate answers, after it has held each question', async () => {
    const { state } = call([true], null, ROUND);
    await vi.advanceTimersByTimeAsync(3_600_000 - 1);
    expect(state).toEqual({ questions: expect.any(Number), isEnded: false });
    expect(state.questions).toBeLessThan(900);
  });

  it('lease: an answer renews it from the end of the round that the gate held, and no later', async () => {
    const { state } = call([true, null], null, ROUND + 500);
    await vi.advanceTimersByTimeAsync(1000 + ROUND + LEASE - 1);
    expect(state).toEqual({ questions: 2, isEnded: false });
    await vi.advanceTimersByTimeAsync(1);
    expect(state.isEnded).toBe(true);
  });

  it('lease: a call ends by its time, to the millisecond', async () => {
    const { state } = call([null], 1_000_500);
    await vi.advanceTimersByTimeAsync(499);
    expect(state.isEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.isEnded).toBe(true);
  });

  it('lease: nothing ends a call that is over, and nothing is asked for it', async () => {
    const { state, stop } = call([false], 1_000_500);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(state).toEqual({ questions: 0, isEnded: false });
  });
});
