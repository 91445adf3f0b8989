// A terminal login (RFC 8628), from its start until it expires ten minutes later, before the organisation is known: one Durable Object per
// user code, named by a keyed digest of the code. Invariants: it stores the digest of the device code and no token; a decision is final; it
// deletes itself.
import { DurableObject } from 'cloudflare:workers';
import type { Asking, Decision, Polled, Started } from './auth/device-login';
import { equal } from './crypto/digest';
import type { Env } from './env';

/** How long a code is valid, in milliseconds, and the polling interval, in seconds. */
export const CODE_LIVES = 600_000;
export const INTERVAL = 5;
/** What an early poll adds to the interval (RFC 8628 §3.5), and the longest interval. */
const SLOWER = 5;
const LONGEST = 60;
/** How early a poll may be: network latency varies. */
const EARLY = 1000;

interface Kept extends Started {
  created_at: number;
  polled_at: number | null;
  interval: number;
  decided: Decision | null;
}

export class DeviceLogin extends DurableObject<Env> {
  /** The current time; tests override it. */
  protected now(): number {
    return Date.now();
  }

  private async live(): Promise<Kept | null> {
    const kept = await this.ctx.storage.get<Kept>('login');
    // safety: device-code-expires
    return kept && this.now() < kept.created_at + CODE_LIVES ? kept : null;
  }

  /** Begins a login under this user code; false if another login has it. */
  async start(started: Started): Promise<boolean> {
    if (await this.live()) return false;
    const now = this.now();
    const kept: Kept = { ...started, created_at: now, polled_at: null, interval: INTERVAL, decided: null };
    await this.ctx.storage.put('login', kept);
    await this.ctx.storage.setAlarm(now + CODE_LIVES);
    return true;
  }

  /** The login, for someone who knows its user code. */
  async asking(): Promise<Asking | null> {
    const kept = await this.live();
    if (!kept) return null;
    const { session, client_name, ip, place, created_at, decided } = kept;
    return { session, client_name, ip, place, created_at, ends_at: created_at + CODE_LIVES, decided };
  }

  /** Decides the login. Returns whether it now has this decision; an earlier decision stays. */
  async decide(session: string, decision: Decision): Promise<boolean> {
    const kept = await this.live();
    if (kept?.session !== session) return false;
    // safety: device-login-decided-once
    if (kept.decided !== null) return kept.decided === decision;
    await this.ctx.storage.put('login', { ...kept, decided: decision });
    return true;
  }

  /** The result of a terminal's poll, by the digest of its device code. */
  async poll(hash: string): Promise<Polled> {
    const kept = await this.live();
    // safety: device-code-compared
    if (!kept || !equal(kept.hash, hash)) return { state: 'ended' };
    if (kept.decided) return { state: 'approved', org: kept.decided, session: kept.session };
    if (kept.decided === false) return { state: 'denied' };
    const now = this.now();
    // safety: polls-slowed-down
    const isEarly = kept.polled_at !== null && now < kept.polled_at + kept.interval * 1000 - EARLY;
    const interval = isEarly ? Math.min(kept.interval + SLOWER, LONGEST) : kept.interval;
    await this.ctx.storage.put('login', { ...kept, polled_at: now, interval });
    return isEarly ? { state: 'early', interval } : { state: 'pending' };
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
