// Changes that are made one after the other. Invariant: no further one begins once their dialog or page has
// been left, because nobody would see what it does.
import { useEffect, useRef } from 'preact/hooks';

export interface Run {
  isStopped: boolean;
}

/** Begins runs of changes. The last one stops when it is told to, and when its page or dialog is left. */
export function useStop(): { begin: () => Run; stop: () => void } {
  const run = useRef<Run>({ isStopped: false });
  const stop = () => {
    run.current.isStopped = true;
  };
  useEffect(() => stop, []);
  const begin = () => {
    run.current = { isStopped: false };
    return run.current;
  };
  return { begin, stop };
}
