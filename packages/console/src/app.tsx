// The frame of everything: signing in, then the shell around the page that the address names.
import { QueryClientProvider } from '@tanstack/preact-query';
import { lazy, Suspense } from 'preact/compat';
import { Link, Redirect, Route, Router, Switch } from 'wouter-preact';
import { here, queries, useRead, vault } from './api';
import { useLive } from './live';
import { pages } from './pages';
import { BASE } from './router';
import { state } from './session';
import { Shell } from './shell';
import { SignIn } from './sign-in';
import { Button } from './ui/button';
import { LoadingPage } from './ui/page';
import { Empty, PageHead } from './ui/parts';
import { Toasts } from './ui/toast';

/** In place of a page whose code is not there any more: the service was deployed anew since this tab was opened. */
function Unloaded() {
  return (
    <>
      <PageHead title="This page could not be loaded" />
      <Empty
        title="Reload to continue"
        action={
          <Button kind="primary" onPress={() => location.reload()}>
            Reload
          </Button>
        }
      >
        There may be a new version of the console, or the network is down.
      </Empty>
    </>
  );
}

const routes = pages.map((page) => ({ ...page, component: lazy(() => page.load().catch(() => ({ default: Unloaded }))) }));

function NotFound() {
  return (
    <>
      <PageHead title="Page not found" />
      <Empty
        title="There is no page at this address"
        action={
          <Link href="/secrets" class="button plain">
            Go to the secrets
          </Link>
        }
      >
        Choose a page from the navigation, or press Ctrl K to search.
      </Empty>
    </>
  );
}

/** Where somebody begins: an empty organisation with its first steps, any other with its secrets. */
function Home() {
  const { data, error } = useRead(['org'], (signal) => vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal }));
  if (!data && !error) return <LoadingPage />;
  return <Redirect to={data?.usage.secrets === 0 ? '/start' : '/secrets'} replace />;
}

function SignedIn() {
  useLive();
  return (
    <Shell>
      <Suspense fallback={<LoadingPage />}>
        <Switch>
          <Route path="/">
            <Home />
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
