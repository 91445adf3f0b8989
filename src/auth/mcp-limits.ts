// What `svc mcp` may do with an agent credential. Pure. The values leave the vault, so `svc mcp` enforces
// these limits on its machine; the vault stores them out of reach of who configures it. Invariant: an agent
// passes its limits on to every credential that it creates.
import type { McpLimits } from '../db/mcp-limits';

const includesAll = (outer: readonly string[], inner: readonly string[]) =>
  inner.every((one) => outer.includes(one));

/** The secret of a binding. */
const secretOf = (binding: string) => binding.split('=', 1)[0] as string;

/**
 * Whether secrets that are bound in some limits are unbound in others: they could go wherever unbound secrets
 * may.
 */
const unbinds = (before: readonly string[], after: readonly string[]) =>
  !includesAll(after.map(secretOf), before.map(secretOf));

/** Whether limits let anything be done with unbound secrets. */
const usesUnbound = ({ hosts, run, read }: McpLimits) => hosts.length > 0 || run || read;

/** Whether limits allow nothing that others do not. Null is no limit. */
export function isWithinMcp(outer: McpLimits | null, inner: McpLimits | null): boolean {
  if (outer === null) return true;
  if (inner === null) return false;
  // safety: mcp-bound-stays-bound
  if (unbinds(outer.bindings, inner.bindings) && usesUnbound(inner)) return false;
  const sameCommands =
    outer.commands === null || (inner.commands !== null && includesAll(outer.commands, inner.commands));
  return (
    includesAll(outer.bindings, inner.bindings) &&
    includesAll(outer.hosts, inner.hosts) &&
    (!inner.run || (outer.run && sameCommands)) &&
    (!inner.read || outer.read)
  );
}

/**
 * What both allow. If they bind a secret to different places, nothing is allowed with unbound secrets, so
 * that it goes nowhere.
 */
export function commonMcp(a: McpLimits | null, b: McpLimits | null): McpLimits | null {
  if (a === null || b === null) return a ?? b;
  const common = (one: readonly string[], other: readonly string[]) =>
    one.filter((each) => other.includes(each));
  const bindings = common(a.bindings, b.bindings);
  // safety: mcp-common-stays-bound
  if (unbinds([...a.bindings, ...b.bindings], bindings))
    return { bindings, hosts: [], run: false, commands: null, read: false };
  return {
    bindings,
    hosts: common(a.hosts, b.hosts),
    run: a.run && b.run,
    commands:
      a.commands === null || b.commands === null
        ? (a.commands ?? b.commands)
        : common(a.commands, b.commands),
    read: a.read && b.read,
  };
}
