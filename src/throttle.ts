// Refused attempts by one client address, where there is no credential to count by: 20 in any minute, then 429. One Durable Object
// an address (an IPv6 network counts as one). Invariant: what succeeds is never counted nor held up. What few attempts are enough of is counted
// by Durable Objects of its own (`countAttempt`), whether it succeeds or not.
import { DurableObject } from 'cloudflare:workers';
import type { Env } from './env';

const MOST = 20;
const WINDOW = 60_000;

export class Throttle extends DurableObject<Env> {
  /** Counts one refused attempt, of so many a minute. Answers 0, or after how many seconds the next one is taken. */
  async refused(most = MOST, now = Date.now()): Promise<number> {
    const times = ((await this.ctx.storage.get<number[]>('times')) ?? []).filter((time) => time > now - WINDOW);
    if (times.length >= most) return Math.ceil(((times[0] as number) + WINDOW - now) / 1000);
    await this.ctx.storage.put('times', [...times, now]);
    await this.ctx.storage.setAlarm(now + WINDOW);
    return 0;
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
