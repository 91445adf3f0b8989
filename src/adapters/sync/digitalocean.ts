// DigitalOcean App Platform: https://docs.digitalocean.com/reference/api/reference/apps/#apps_update.
// Variables are part of an app's spec, which can only be written as a whole: it is read again just before,
// and everything else is sent back unchanged, including other variables' ciphertexts. Each write triggers a
// deployment.
import { z } from '@hono/zod-openapi';
import { type Problem, Segment, syncAdapter, TargetError, Token } from './adapter';
import { environmentName } from './names';
import { allWritten } from './parts';
import { path, shaped } from './shapes';

const COMPONENTS = ['services', 'workers', 'jobs', 'static_sites', 'functions'] as const;

/**
 * References that App Platform replaces:
 * https://docs.digitalocean.com/products/app-platform/how-to/use-environment-variables/
 */
const REFERENCE = /\$\{(?:[A-Za-z0-9_-]+\.[A-Za-z0-9_]+|APP_(?:DOMAIN|URL|ID))\}/;

function changed(value: string): Problem | null {
  const refused = (message: string): Problem => ({ code: 'VALUE_NOT_ALLOWED', message });
  // safety: digitalocean-references-refused
  if (REFERENCE.test(value)) return refused('The target replaces references to its own variables in values.');
  return value.startsWith('EV[')
    ? refused('The target treats a value that begins with "EV[" as one that it has encrypted.')
    : null;
}

/** Fields not listed here stay in a spec too. */
const Variable = z.looseObject({ key: z.string() });
const Holder = z.looseObject({ name: z.string().optional(), envs: z.array(Variable).nullish() });
const Components = z.array(Holder).nullish();
const Spec = Holder.extend({
  services: Components,
  workers: Components,
  jobs: Components,
  static_sites: Components,
  functions: Components,
});
const App = z.object({ app: z.object({ spec: Spec }) });

type Variable = z.infer<typeof Variable>;
type Holder = z.infer<typeof Holder>;
type Spec = z.infer<typeof Spec>;

export const digitalocean = syncAdapter({
  platform: 'digitalocean',
  config: z.strictObject({
    token: Token,
    appId: Segment,
    component: Segment.optional(),
    scope: z.enum(['RUN_AND_BUILD_TIME', 'RUN_TIME', 'BUILD_TIME']).default('RUN_AND_BUILD_TIME'),
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  value: changed,
  redeploy: false,
  vendor: ({ token }) => ({
    headers: { Authorization: `Bearer ${token}` },
    code: (body) => (body as { id?: unknown } | undefined)?.id,
  }),
  open(client, { appId, component, scope }) {
    const url = `https://api.digitalocean.com/v2/apps/${path(appId)}`;
    const read = async () => {
      const { spec } = shaped(App, (await client.call({ method: 'GET', url })).body).app;
      const holder = component === undefined ? spec : componentOf(spec, component);
      return { spec, holder, envs: holder.envs ?? [] };
    };
    return {
      async list() {
        const { envs } = await read();
        return envs.map(({ key, value, type }) => ({
          target: key,
          ...(type !== 'SECRET' && typeof value === 'string' && { value }),
        }));
      },
      async write(puts, removals) {
        const { spec, holder, envs } = await read();
        const values = new Map(puts.map(({ target, value }) => [target, value]));
        const gone = new Set(removals.map(({ target }) => target));
        const there = new Set(envs.map(({ key }) => key));
        const kept = envs
          .filter(({ key }) => !gone.has(key))
          .map((each) => withValue(each, values.get(each.key)));
        const added = puts
          .filter(({ target }) => !there.has(target))
          .map(({ target, value }) => ({ key: target, value, scope, type: 'SECRET' }));
        holder.envs = [...kept, ...added];
        await client.call({ method: 'PUT', url, json: { spec } });
        return allWritten(puts, removals);
      },
    };
  },
});

/** A variable keeps its scope. */
const withValue = (variable: Variable, value: string | undefined): Variable =>
  value === undefined ? variable : { ...variable, value, type: 'SECRET' };

function componentOf(spec: Spec, name: string): Holder {
  const found = COMPONENTS.flatMap((kind) => spec[kind] ?? []).find((one) => one.name === name);
  if (found) return found;
  throw new TargetError(
    { code: 'TARGET_NOT_FOUND', message: 'The app has no component with this name.' },
    'sync',
  );
}
