// The code of a page, loaded when the page is first opened. Invariant: code that could not be loaded can be
// tried again without a reload, which would lose what other parts of the page hold. It is tried again by
// itself once the network is back, also if that happens during a try that then fails.
import { computed, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';
import { useEffect } from 'preact/hooks';
import { Button } from '../ui/controls/button';
import { Empty, PageHead } from '../ui/parts';

/** Style sheets that could not be loaded. */
const failed = new Set<HTMLLinkElement>();
addEventListener(
  'error',
  ({ target }) =>
    void (target instanceof HTMLLinkElement && target.rel === 'stylesheet' && failed.add(target)),
  true,
);

/** Loads them again: the build's loader asks for each only once. */
const restyled = (): Promise<unknown> =>
  Promise.all(
    [...failed].map((link) => {
      const again = link.cloneNode() as HTMLLinkElement;
      failed.delete(link);
      link.replaceWith(again);
      return new Promise((load, fail) => {
        again.onload = load;
        again.onerror = fail;
      });
    }),
  );

/** How often the network has come back. */
let returns = 0;
addEventListener('online', () => void returns++);

/**
 * Shown instead of a page whose code could not be loaded. `since`: how often the network had come back when
 * that try began.
 */
function Unloaded({ since, onRetry }: { since: number; onRetry: () => void }) {
  useEffect(() => {
    if (returns > since) return onRetry();
    addEventListener('online', onRetry);
    return () => removeEventListener('online', onRetry);
  }, [onRetry]);
  return (
    <>
      <PageHead title="Page could not be loaded" />
      <Empty
        title="Try again, or reload"
        action={
          <span class="row">
            <Button kind="primary" onPress={onRetry}>
              Retry
            </Button>
            <Button onPress={() => location.reload()}>Reload</Button>
          </span>
        }
      >
        The network may be down. If a new version of the console is available, only a reload helps.
      </Empty>
    </>
  );
}

/** A page whose code is loaded when it is first shown. */
export function loadedOnce<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): ComponentType<Props> {
  const attempt = signal(0);
  const retry = () => void attempt.value++;
  const page = computed(() => {
    const isRetry = attempt.value > 0;
    return lazy<ComponentType<Props>>(() => {
      const since = returns;
      return Promise.all([load(), isRetry && restyled()]).then(
        ([code]) => code,
        () => ({ default: () => <Unloaded since={since} onRetry={retry} /> }),
      );
    });
  });
  return function Loaded(props) {
    const Page = page.value as ComponentType<Props>;
    return <Page {...props} />;
  };
}
