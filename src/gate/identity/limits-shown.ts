// The limits of credentials, grants, trusts and policies as answers show them. Invariant: a caller with
// limits is shown no environment and no name pattern beyond its own, whoever else is limited to it.
import { enters, type PermissionSet, reasons } from '../../auth/authorize';
import { contains } from '../../auth/globs';
import type { Call } from '../request/call';
import { slugOf } from '../request/target';

/** The most matching steps of one request; patterns beyond it are not shown. */
const MOST_STEPS = 4_000_000;
const spent = new WeakMap<Call<unknown>, { count: number }>();

type Limits = Pick<PermissionSet, 'environments' | 'secrets'> & Partial<Pick<PermissionSet, 'upstreams'>>;

/** Environments by slug, and name patterns, as far as the caller may know them; null for no limit. */
export function limitsShown(
  call: Call<unknown>,
  { environments, secrets, upstreams = null }: Limits,
): { environments: string[] | null; secrets: string[] | null; upstreams: string[] | null } {
  const { core, caller, need } = call;
  const giving = reasons(caller.permissions, need.scopes, null);
  // A request without the scope is about the caller itself.
  const own = giving.length ? giving : caller.permissions;
  const steps = spent.get(call) ?? { count: 0 };
  spent.set(call, steps);
  // Patterns of environments that the caller does not reach name what is outside, whatever names it is
  // limited to.
  // safety: names-shown-where-reached
  const near = environments === null ? own : own.filter((one) => environments.some((id) => enters(one, id)));
  const isWithin = (pattern: string) =>
    near.some(
      (one) =>
        one.secrets === null ||
        one.secrets.includes(pattern) ||
        one.secrets.some((outer) => steps.count < MOST_STEPS && contains(outer, pattern, steps)),
    );
  const isUpstreamWithin = (pattern: string) =>
    own.some(
      (one) =>
        one.upstreams === null ||
        one.upstreams.some((outer) => steps.count < MOST_STEPS && contains(outer, pattern, steps)),
    );
  return {
    // safety: limits-shown-within-environments
    environments:
      environments?.filter((id) => own.some((one) => enters(one, id))).map((id) => slugOf(core, id)) ?? null,
    // safety: limits-shown-within-names
    secrets: secrets?.filter(isWithin) ?? null,
    // safety: limits-shown-within-upstreams
    upstreams: upstreams?.filter(isUpstreamWithin) ?? null,
  };
}
