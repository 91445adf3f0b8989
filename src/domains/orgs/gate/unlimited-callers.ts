// Who may change the organisation as a whole, its environments included.
import { mustReachAll } from '../../../auth/authorize';
import type { Refusal } from '../../../errors';
import type { Call } from '../../../gate/request/call';

/** 403 for a caller with limits. */
export const whole = ({ need, caller }: Call<unknown>): Refusal | null =>
  // safety: organisation-by-unlimited-callers
  mustReachAll(caller, need.scopes, 'change the organisation');
