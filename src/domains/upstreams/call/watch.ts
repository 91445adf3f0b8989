// The end of a call before its time: silence, an hour, the end of its credential, or bounds. Invariant: once
// ended, no further byte goes either way.
import type { UseEnd, UsePlan } from './use-plan';

export type Cut = 'timeout' | 'credential_ended' | 'caller_gone' | 'too_large' | 'request_too_large';

/** How a call ended after its answer began: cut off here, or else by the upstream. */
export const endOfCut = (cut: Cut | null): UseEnd =>
  cut === null ? 'upstream_broke_off' : cut === 'request_too_large' ? 'too_large' : cut;

/** A stream lasts no longer than this. */
const MOST_MILLISECONDS = 3_600_000;

export interface Watch {
  signal: AbortSignal;
  /** Why it ended; null while it goes on. */
  cut(): Cut | null;
  end(why: Cut): void;
  /** Waits for the other side, no longer than it may be silent. Rejects at the end of the call. */
  wait<T>(what: Promise<T>): Promise<T>;
  /** It was not silent. */
  heard(): void;
  /** Nothing more is to be watched. */
  stop(): void;
}

export function watch({ timeout_seconds }: Pick<UsePlan, 'timeout_seconds'>, ends: AbortSignal): Watch {
  const controller = new AbortController();
  const { signal } = controller;
  let why: Cut | null = null;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const end = (given: Cut) => {
    if (why !== null) return;
    why = given;
    controller.abort();
  };
  const onEnds = () => end('credential_ended');
  const most = setTimeout(() => end('timeout'), MOST_MILLISECONDS);
  const quiet = () => clearTimeout(silence);
  const heard = () => {
    quiet();
    silence = setTimeout(() => end('timeout'), timeout_seconds * 1000);
  };
  // safety: use-cut-with-credential
  ends.addEventListener('abort', onEnds);
  if (ends.aborted) onEnds();
  return {
    signal,
    cut: () => why,
    end,
    heard,
    wait(what) {
      heard();
      return new Promise((resolve, reject) => {
        const onAbort = () => reject(new Error('the call ended'));
        if (signal.aborted) return onAbort();
        signal.addEventListener('abort', onAbort);
        const done = () => {
          quiet();
          signal.removeEventListener('abort', onAbort);
        };
        what.then(
          (value) => {
            done();
            resolve(value);
          },
          (error: unknown) => {
            done();
            reject(error);
          },
        );
      });
    },
    stop() {
      quiet();
      clearTimeout(most);
      ends.removeEventListener('abort', onEnds);
    },
  };
}
