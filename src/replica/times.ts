// Whether a time that decides is near: the clocks of two machines may differ, so what begins or ends within a
// few seconds is asked of the gate.

import type { CredentialRow } from '../db/schema';
import type { Core } from '../gate/core';

/** How near, in milliseconds. */
const NEAR = 5000;

/** What of a row decides by time. */
type Row = Partial<Pick<CredentialRow, 'expires_at' | 'created_at' | 'trust'>>;

export interface Times {
  watch(now: number): {
    /** Looks at the times of a row. */
    row(row: object): void;
    /** Whether one of these, or of the rows that are kept in memory by others, is near. */
    any(): boolean;
  };
}

export function createTimes(core: Core): Times {
  /** The times of grants: who reads them may have them in memory. */
  let known: { edits: number; times: number[] } | null = null;
  const grants = () => {
    const edits = core.rows.edits('grant');
    if (known?.edits === edits) return known.times;
    const times: number[] = [];
    for (let after = ''; ; ) {
      const page = core.rows.after('grant', after, 1000);
      times.push(...page.flatMap(({ expires_at }) => expires_at ?? []));
      if (page.length < 1000) break;
      after = (page.at(-1) as { id: string }).id;
    }
    known = { edits, times };
    return times;
  };
  return {
    watch(now) {
      let isNear = false;
      const made: number[] = [];
      const lifetimes: number[] = [];
      const near = (time: number) => Math.abs(time - now) < NEAR;
      return {
        row({ expires_at, created_at, trust }: Row) {
          if (typeof expires_at === 'number') isNear ||= near(expires_at);
          if (typeof created_at === 'number') made.push(created_at);
          // It may have been shortened since its sessions were made.
          if (trust) lifetimes.push(trust.ttl * 1000);
        },
        any: () =>
          isNear ||
          lifetimes.some((lifetime) => made.some((at) => near(at + lifetime))) ||
          grants().some(near),
      };
    },
  };
}
