// Whose a domain is: one Durable Object per domain, which has the last claim. Invariant: a claim gives way to
// that of another row only by its number, once it was found to be void (`domains/sso/owner.ts`), so a claim
// that was renewed in the meantime stays.
import { DurableObject } from 'cloudflare:workers';
import type { Claim, Env } from '../env';

export class DomainOwner extends DurableObject<Env> {
  /** The claim in force. */
  async owner(): Promise<Claim | null> {
    return (await this.ctx.storage.get<Claim | null>('claim')) ?? null;
  }

  /**
   * Claims the domain for a row, or renews its claim. `over`: the number of a claim that is void. Otherwise
   * the claim of another row stays, and is returned.
   */
  async claim(
    { org, id }: { org: string; id: string },
    over: number | null,
  ): Promise<{ claimed: number } | { owner: Claim }> {
    const owner = await this.owner();
    const isOwn = owner !== null && owner.org === org && owner.id === id;
    // safety: domain-claimed-once
    if (owner && !isOwn && owner.number !== over) return { owner };
    const number = ((await this.ctx.storage.get<number>('number')) ?? 0) + 1;
    await this.ctx.storage.put({ claim: { org, id, number } satisfies Claim, number });
    return { claimed: number };
  }
}
