// The frame of everything: signing in, then the shell around the page that the address names.
import { QueryClientProvider } from '@tanstack/preact-query';
import { lazy, Suspense } from 'preact/compat';
import { Redirect, Route, Router, Switch } from 'wouter-preact';
import { here, queries, useRead, vault } from './api';
import { useLive } from './live';
import { isOpen, NotAllowed } from './not-allowed';
import { pages } from './pages';
import { BASE } from './router';
import { isKept, me, state } from './session';
import { Shell } from './shell';
import { SignIn, SignInAgain } from './sign-in';
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

/** Where somebody begins: an empty organisation with its first steps, any other with its secrets. */
function Home() {
  const { data, error } = useRead(['org'], (signal) => vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal }));
  if (!data && !error) return <Skeleton />;
  return <Redirect to={data?.usage.secrets === 0 ? '/start' : '/secrets'} replace />;
}

function SignedIn() {
  useLive();
  return (
    <Shell>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          <Route path="/">
            <Home />
          </Route>
          {routes.map(({ path, label, needs, component: Page }) => (
            <Route key={path} path={path}>
              {(params) =>
                isOpen(needs) ? <Page params={params as Record<string, string>} /> : <NotAllowed title={label} needs={needs ?? ''} />
              }
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
        {(state.value === 'in' || isKept.value) && (
          <div key={me.value?.id} hidden={state.value !== 'in'}>
            <SignedIn />
          </div>
        )}
        {state.value === 'out' && (isKept.value ? <SignInAgain /> : <SignIn />)}
        {state.value === 'starting' && <div class="boot" role="status" aria-label="Loading" />}
      </Router>
      <Toasts />
    </QueryClientProvider>
  );
}
