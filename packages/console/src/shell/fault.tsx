// The page content, or a note in its place if rendering it throws. Invariant: the navigation around it keeps
// working, and another page is rendered as if nothing had happened. The error is not shown: its message may
// contain a value.
import type { ComponentChildren } from 'preact';
import { useErrorBoundary, useLayoutEffect } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Button } from '../ui/controls/button';
import { Empty, PageHead } from '../ui/parts';

export function Guarded({ children }: { children: ComponentChildren }) {
  const [fault, reset] = useErrorBoundary();
  const [at] = useLocation();
  useLayoutEffect(() => {
    if (fault) reset();
  }, [at]);
  if (!fault) return <>{children}</>;
  return (
    <>
      <PageHead title="This page has a fault" />
      <Empty
        title="The console could not show this page"
        action={
          <Button kind="primary" onPress={() => location.reload()}>
            Reload
          </Button>
        }
      >
        The fault is in the page itself, not in your connection. Other pages still work.
      </Empty>
    </>
  );
}
