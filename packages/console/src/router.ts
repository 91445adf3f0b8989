// Addresses of the console: where it is, and the parameters that hold filters, tabs and what is selected, so that every view can be linked
// to. Invariant: no value, token or key is ever put into an address.
import { useCallback } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';

/** Where the Worker serves the console. */
export const BASE = '/console';

/**
 * A parameter of the address, and how to set it; an empty text removes it.
 * @param isStep whether a change can be undone by the browser's Back; filters replace the address in place of adding to the history
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
