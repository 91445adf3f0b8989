// The root of the console: the sign-in page, then the shell around the current page.
import { QueryClientProvider } from '@tanstack/preact-query';
import { Suspense } from 'preact/compat';
import { Link, Redirect, Route, Router, Switch } from 'wouter-preact';
import { BASE } from './navigation/router';
import { pages } from './pages';
import { here, queries, useRead, vault } from './requests/api';
import { useLive } from './requests/live';
import { isKept, me, state } from './session/session';
import { Guarded } from './shell/fault';
import { loadedOnce } from './shell/loaded';
import { isOpen, NotAllowed } from './shell/not-allowed';
import { Shell } from './shell/shell';
import { SignIn, SignInAgain } from './shell/sign-in';
import { Leaving } from './ui/dialogs/leaving';
import { LoadingPage } from './ui/page';
import { Empty, PageHead } from './ui/parts';
import { Toasts } from './ui/toast';

const routes = pages.map((page) => ({ ...page, component: loadedOnce(page.load) }));

function NotFound() {
  return (
    <>
      <PageHead title="Page not found" />
      <Empty
        title="This page does not exist"
        action={
          <Link href="/secrets" class="button plain">
            Go to secrets
          </Link>
        }
      >
        Choose a page from the navigation, or press Ctrl K to search.
      </Empty>
    </>
  );
}

/** The start page: the first steps for an empty organisation, otherwise the overview. */
function Home() {
  const { data, error } = useRead(['org'], (signal) =>
    vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal }),
  );
  if (!data && !error) return <LoadingPage />;
  const isNew = data?.usage.secrets === 0 && isOpen('tokens:write');
  return <Redirect to={isNew ? '/start' : '/overview'} replace />;
}

function SignedIn() {
  useLive();
  return (
    <Shell>
      <Guarded>
        <Suspense fallback={<LoadingPage />}>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            {routes.map(({ path, label, needs, component: Page }) => (
              <Route key={path} path={path}>
                {(params) =>
                  isOpen(needs) ? (
                    <Page params={params as Record<string, string>} />
                  ) : (
                    <NotAllowed title={label} needs={needs ?? ''} />
                  )
                }
              </Route>
            ))}
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </Guarded>
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
      </Router>
      <Leaving />
      <Toasts />
    </QueryClientProvider>
  );
}
