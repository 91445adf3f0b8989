// What this deployment serves besides its API and documentation: the pages, the files that pages load, and
// its public keys.
import type { Hono } from 'hono';
import { type Env, settingsOf } from '../env';
import { ApiError, refuse } from '../errors';
import type { Trace } from '../http/context';
import { responseOf } from '../http/html-page';
import { isRead, prefersHtml, readOnly } from '../http/responses';
import { keyringOf } from '../keys/keyring';
import { signingKeysOf } from '../keys/signing';
import { asset, assetTypes } from './assets';
import { consoleFile, consolePage } from './console';
import { home } from './home';
import { sharePage } from './share';
import { enrolPage, signInPage } from './signin';
import { linkPage } from './sso';
import { devicePage } from './terminal-login';

type App = { Bindings: Env; Variables: { trace: Trace; base: string; requestId: string } };

/** The public keys of JWTs (RFC 7517). */
async function publicKeys(env: Env): Promise<Response> {
  const settings = settingsOf(env);
  if ('problem' in settings) throw new ApiError(refuse('MISCONFIGURED', { message: settings.problem }));
  const deployment = await keyringOf(env, settings.masterKeys).deployment();
  return Response.json({ keys: await signingKeysOf(env.DB, deployment).published() });
}

const paths: Record<string, (env: Env, base: string, isBrowser: boolean) => Response | Promise<Response>> = {
  '/': (_env, base, isBrowser) => home(base, isBrowser),
  '/enrol': (_env, base) => responseOf(enrolPage(new URL(base).origin)),
  '/device': (_env, base) => responseOf(devicePage(new URL(base).origin)),
  '/sso/link': (_env, base) => responseOf(linkPage(new URL(base).origin)),
  '/sign-in': (_env, base) => responseOf(signInPage(new URL(base).origin)),
  ...Object.fromEntries(
    Object.keys(assetTypes).map((name) => [`/assets/${name}`, (env: Env) => asset(env, name)]),
  ),
  '/.well-known/jwks.json': publicKeys,
};

export function pageRoutes(app: Hono<App>): void {
  // The same page for every id: the script requests a link's contents by POST, so merely opening the page
  // reveals nothing.
  app.get('/s/:id', (c) => {
    c.get('trace').route = '/s/{id}';
    return responseOf(sharePage);
  });
  app.all('/console/assets/:name', async (c) => {
    const trace = c.get('trace');
    trace.route = '/console/assets/{name}';
    if (!isRead(c.req.method)) return readOnly(c.get('base'), trace);
    const found = await consoleFile(c.env, c.req.param('name'));
    if (!found)
      throw new ApiError(
        refuse('NOT_FOUND', {
          message: 'The console has no such file. Reload the page: a newer version may be deployed.',
        }),
      );
    return found;
  });
  for (const path of ['/console', '/console/*'])
    app.all(path, (c) => {
      const trace = c.get('trace');
      trace.route = '/console';
      return isRead(c.req.method) ? consolePage(c.env) : readOnly(c.get('base'), trace);
    });
  // Members decide approvals in the console. Messages of earlier releases link here.
  for (const path of ['/approvals', '/approvals/:id'])
    app.all(path, (c) => {
      const trace = c.get('trace');
      trace.route = path.replace(':id', '{id}');
      if (!isRead(c.req.method)) return readOnly(c.get('base'), trace);
      const id = c.req.param('id');
      return c.redirect(`/console/approvals${id ? `/${encodeURIComponent(id)}` : ''}`);
    });
  for (const [path, answer] of Object.entries(paths))
    app.all(path, (c) => {
      const trace = c.get('trace');
      trace.route = path;
      if (!isRead(c.req.method)) return readOnly(c.get('base'), trace);
      return answer(c.env, c.get('base'), prefersHtml(c));
    });
}
