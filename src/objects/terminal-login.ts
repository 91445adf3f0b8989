// A terminal login (RFC 8628), from its start until it expires ten minutes later, before the organisation is
// known: one Durable Object per user code, named by a keyed digest of the code. Invariants: it stores the
// digest of the device code and no token; a decision is final; a poll writes nothing; it deletes itself.
import { DurableObject } from 'cloudflare:workers';
import {
  type Asking,
  CODE_LIVES,
  type Decision,
  INTERVAL,
  type Polled,
  type Started,
} from '../auth/authentication/terminal-login';
import { equal } from '../crypto/digest';
import type { Env } from '../env';

/** What an early poll adds to the interval (RFC 8628 §3.5), and the longest interval. */
const SLOWER = 5;
const LONGEST = 60;
/** How early a poll may be: network latency varies. */
const EARLY = 1000;

interface Kept extends Started {
  created_at: number;
  decided: Decision | null;
  /** The organisation that alone may still confirm it. Absent in logins that an earlier release started. */
  claimed?: string;
}

const shownOf = ({ session, client_name, ip, place, created_at, decided }: Kept): Asking => ({
  session,
  client_name,
  ip,
  place,
  created_at,
  ends_at: created_at + CODE_LIVES,
  decided,
});

export class DeviceLogin extends DurableObject<Env> {
  /**
   * When the terminal last polled, and its interval. In memory: the object stays in memory while a terminal
   * polls.
   */
  private polled: { at: number; interval: number } | null = null;

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
    const kept: Kept = { ...started, created_at: now, decided: null };
    this.polled = null;
    await this.ctx.storage.put('login', kept);
    await this.ctx.storage.setAlarm(now + CODE_LIVES);
    return true;
  }

  /** The login, for someone who knows its user code. */
  async asking(): Promise<Asking | null> {
    const kept = await this.live();
    return kept && shownOf(kept);
  }

  /**
   * Reserves the login for one organisation, whose gate then begins the session: no other can confirm it any
   * more, and no one can deny it. Null if another has it, or denied it.
   */
  async claim(org: string): Promise<Asking | null> {
    const kept = await this.live();
    // safety: device-login-claimed-once
    if (!kept || (kept.decided ?? kept.claimed ?? org) !== org) return null;
    if (kept.claimed === undefined)
      await this.ctx.storage.put('login', { ...kept, claimed: org } satisfies Kept);
    return shownOf(kept);
  }

  /** Decides the login. Returns whether it now has this decision; an earlier decision stays. */
  async decide(session: string, decision: Decision): Promise<boolean> {
    const kept = await this.live();
    if (kept?.session !== session) return false;
    // safety: device-login-decided-once
    if ((kept.decided ?? kept.claimed ?? decision) !== decision) return false;
    if (kept.decided !== null) return true;
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
    const isEarly = this.polled !== null && now < this.polled.at + this.polled.interval * 1000 - EARLY;
    const before = this.polled?.interval ?? INTERVAL;
    const interval = isEarly ? Math.min(before + SLOWER, LONGEST) : before;
    this.polled = { at: now, interval };
    return isEarly ? { state: 'early', interval } : { state: 'pending' };
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
