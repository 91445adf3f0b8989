// Buttons that decide for somebody else sleep for a second after they are shown, and after the page gets the
// focus. Otherwise another site could place the page behind a window of its own that closes between the two
// clicks of a double click.
import { useEffect, useRef, useState } from 'preact/hooks';

const ASLEEP = 1000;

/**
 * Whether a button sleeps: `asleep` as it is shown, `isAsleep` at this moment. A click may come before the
 * page is drawn.
 */
export function useAsleep(decides: boolean): { asleep: boolean; isAsleep: () => boolean } {
  const until = useRef(decides ? performance.now() + ASLEEP : 0);
  const [asleep, setAsleep] = useState(decides);
  useEffect(() => {
    if (!decides) return;
    let waking: ReturnType<typeof setTimeout> | undefined;
    const sleep = () => {
      until.current = performance.now() + ASLEEP;
      setAsleep(true);
      clearTimeout(waking);
      waking = setTimeout(setAsleep, ASLEEP, false);
    };
    sleep();
    addEventListener('focus', sleep);
    return () => {
      clearTimeout(waking);
      removeEventListener('focus', sleep);
    };
  }, [decides]);
  return { asleep, isAsleep: () => performance.now() < until.current };
}
