// Addresses of the console: its base path, and the parameters for filters, tabs and selection, so that every
// view can be linked to. Invariant: an address never contains a value, token or key.
import { useCallback } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';

/** The path at which the Worker serves the console. */
export const BASE = '/console';

/**
 * A parameter of the address, and a function to set it; an empty text removes it.
 * @param isStep whether the browser's Back undoes a change; filters replace the address instead of adding to
 *   the history
 */
export function useParameter(name: string, isStep = false): [string, (value: string) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParameters(
        (before) => {
          const next = new URLSearchParams(before);
          if (value) next.set(name, value);
          else next.delete(name);
          return next;
        },
        { replace: !isStep },
      ),
    [name, isStep, setParameters],
  );
  return [parameters.get(name) ?? '', set];
}
