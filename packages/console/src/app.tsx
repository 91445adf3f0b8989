// The frame of everything: signing in, then the shell around the page that the address names.
import { QueryClientProvider } from '@tanstack/preact-query';
import { lazy, Suspense } from 'preact/compat';
import { Redirect, Route, Router, Switch } from 'wouter-preact';
import { queries } from './api';
import { useLive } from './live';
import { pages } from './pages';
import { BASE } from './router';
import { state } from './session';
import { Shell } from './shell';
import { SignIn } from './sign-in';
import { Empty, PageHead, Skeleton } from './ui/parts';
import { Toasts } from './ui/toast';

const routes = pages.map((page) => ({ ...page, component: lazy(page.load) }));

function NotFound() {
  return (
    <>
      <PageHead title="Page not found" />
      <Empty title="There is no page at this address">Choose one from the navigation, or press Ctrl K to search.</Empty>
    </>
  );
}

function SignedIn() {
  useLive();
  return (
    <Shell>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          <Route path="/">
            <Redirect to="/secrets" replace />
          </Route>
          {routes.map(({ path, component: Page }) => (
            <Route key={path} path={path}>
              {(params) => <Page params={params as Record<string, string>} />}
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </Shell>
  );
}

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Router base={BASE}>
        {state.value === 'in' ? <SignedIn /> : state.value === 'out' ? <SignIn /> : <div class="boot" role="status" aria-label="Loading" />}
      </Router>
      <Toasts />
    </QueryClientProvider>
  );
}
