// Addresses of the console: its base path, and the parameters for filters, tabs and selection, so that every
// view can be linked to. Invariant: an address never contains a value, token or key.
import { useCallback } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';

/** The path at which the Worker serves the console. */
export const BASE = '/console';

/** The token in a text, such as a header or a line of a log: no field and no address should hold it. */
export const tokenIn = (text: string): string | undefined =>
  /svc(?:_live|_agent|[a-z]{2,})_[0-9A-Za-z]{20,}|(?:(?<![0-9A-Za-z_])|(?<=%..))eyJ[\w.~-]{22,}/.exec(
    text,
  )?.[0];

/** The parameters with some changed; an empty text removes one, and a text with a token changes nothing. */
export function changed(before: URLSearchParams, part: Record<string, string>): URLSearchParams {
  const next = new URLSearchParams(before);
  for (const [name, value] of Object.entries(part)) {
    if (tokenIn(value) !== undefined) continue;
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}

/**
 * A parameter of the address, and a function to set it; an empty text removes it.
 * @param isStep whether the browser's Back undoes a change; filters replace the address instead of adding to
 *   the history
 */
export function useParameter(name: string, isStep = false): [string, (value: string) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = useCallback(
    (value: string) => setParameters((before) => changed(before, { [name]: value }), { replace: !isStep }),
    [name, isStep, setParameters],
  );
  return [parameters.get(name) ?? '', set];
}
