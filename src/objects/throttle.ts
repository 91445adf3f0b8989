// Refused attempts by one client address, for requests without a credential to count by: 20 in any minute,
// then 429. One Durable Object per address (an IPv6 network counts as one). Invariant: successful requests
// are never counted or delayed, except those of `countAttempt`, which have their own Durable Objects.
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../env';

const MOST = 20;
const WINDOW = 60_000;

export class Throttle extends DurableObject<Env> {
  /**
   * Counts one attempt, of at most `most` per minute. Returns 0, or how many seconds to wait before the next
   * one.
   */
  async refused(most = MOST, now = Date.now()): Promise<number> {
    const times = ((await this.ctx.storage.get<number[]>('times')) ?? []).filter(
      (time) => time > now - WINDOW,
    );
    if (times.length >= most) return Math.ceil(((times[0] as number) + WINDOW - now) / 1000);
    await this.ctx.storage.put('times', [...times, now]);
    await this.ctx.storage.setAlarm(now + WINDOW);
    return 0;
  }

  /** The times of attempts that are counted in memory alone. */
  private recent: number[] = [];

  /**
   * The same for attempts that happen often and cost little: it writes nothing, and forgets them if the
   * object is evicted.
   */
  async counted(most: number, now = Date.now()): Promise<number> {
    this.recent = this.recent.filter((time) => time > now - WINDOW);
    if (this.recent.length >= most) return Math.ceil(((this.recent[0] as number) + WINDOW - now) / 1000);
    this.recent.push(now);
    return 0;
  }

  /** Forgets the last one that was counted in memory. */
  async forget(): Promise<void> {
    this.recent.pop();
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
