// svc doctor: checks the set-up, and says how to fix each problem. Invariant: it changes nothing, and shows
// no credential.
import type { Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { asCliError, EXIT_CODES } from '../errors.ts';
import { jsonIn } from '../requests/bounded.ts';
import { pages } from '../secrets/lookup.ts';
import { clean } from '../text.ts';
import { VERSION } from '../version.ts';

interface Check {
  name: string;
  ok: boolean;
  what: string;
  next?: string;
  /** It fails, but callers are served: svc doctor does not fail for it. */
  warning?: true;
}

/** The clock skew above which CI platform tokens and device proofs become invalid, in ms. */
const MOST_SKEW = 60_000;

export default command({
  needs: 'environment',
  examples: { doctor: 'Check configuration, connection, clock and credential' },
  notes: [
    'The checks of the vault are those of its /healthz. One that fails while callers are served is a warning: the exit code stays 0.',
  ],
  async run(context) {
    const checks: Check[] = [];
    for (const check of [program, configuration, project, keychain, connection, credential, environment]) {
      try {
        checks.push(...[await check(context)].flat());
      } catch (thrown) {
        const error = asCliError(thrown);
        checks.push({ name: check.name, ok: false, what: error.message, next: error.problem.next });
      }
    }
    const ok = checks.every((check) => check.ok || check.warning);
    context.out.result({ ok, checks }, () => {
      const { green, red, yellow } = context.out.colors;
      for (const { name, ok, what, next, warning } of checks) {
        context.out.raw(
          `${ok ? green('ok  ') : warning ? yellow('warn') : red('FAIL')}  ${clean(name)}: ${clean(what)}\n`,
        );
        if (!ok && next) context.out.line(`      next: ${next}`);
      }
    });
    return ok ? 0 : EXIT_CODES.failure[0];
  },
});

const program = (): Check => ({
  name: 'program',
  ok: true,
  what: `svc ${VERSION}, Node.js ${process.versions.node}, ${process.platform}`,
});

function configuration(context: Context): Check {
  const { url, organisation } = { url: context.setting('url'), organisation: context.setting('org') };
  if (!url)
    return {
      name: 'configuration',
      ok: false,
      what: 'no vault address is set',
      next: 'svc login --url https://vault.example.com',
    };
  const of = (setting: { value: string; source: string } | undefined) =>
    setting ? `${setting.value} (${setting.source})` : 'from the credential';
  return {
    name: 'configuration',
    ok: true,
    what: `vault ${of(url)}, organisation ${of(organisation)}, profile ${context.profile}, in ${context.configDir}`,
  };
}

function project(context: Context): Check {
  return {
    name: 'project',
    ok: true,
    what: context.project?.file ?? 'no .svc.json in this directory or a parent directory',
  };
}

async function keychain(context: Context): Promise<Check> {
  const there = await context.host.keychain();
  const off = context.host.env.SVC_KEYCHAIN === 'off' ? ' (SVC_KEYCHAIN is off)' : '';
  return {
    name: 'keychain',
    ok: true,
    what: there ? 'the system keychain' : `none${off}: credentials are in files that only you can read`,
  };
}

async function connection(context: Context): Promise<Check[]> {
  const url = context.origin;
  const asked = Date.now();
  const response = await (context.host.fetch ?? fetch)(`${url}/healthz`, {
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  }).catch(() => undefined);
  const took = Date.now() - asked;
  if (!response)
    return [
      {
        name: 'connection',
        ok: false,
        what: `${url} cannot be reached`,
        next: 'Check the address, network, proxies and certificates',
      },
    ];
  const parts = partsOf(await jsonIn(response), response.ok);
  if (!response.ok)
    return [
      {
        name: 'connection',
        ok: false,
        what: `${url} responds with status ${response.status}`,
        next: 'Ask the operator of the vault',
      },
      ...parts,
    ];
  const served = Date.parse(response.headers.get('Date') ?? '');
  const skew = Math.abs(served - (asked + took / 2));
  const checks: Check[] = [{ name: 'connection', ok: true, what: `${url} responded in ${took} ms` }];
  if (!Number.isNaN(served))
    checks.push({
      name: 'clock',
      ok: skew < MOST_SKEW,
      what: `off by ${Math.round(skew / 1000)} s`,
      next: 'Correct the clock of this machine',
    });
  return [...checks, ...parts];
}

/** The most checks of a vault that are shown, and the most characters of one. */
const MOST_PARTS = 50;
const LONGEST = 500;

/** What a vault says of its own parts. Another service at the address says nothing. */
function partsOf(body: unknown, isServing: boolean): Check[] {
  const { checks } = (body ?? {}) as { checks?: unknown };
  if (!Array.isArray(checks)) return [];
  return checks
    .slice(0, MOST_PARTS)
    .flatMap((one: { name?: unknown; ok?: unknown; message?: unknown } | null): Check[] => {
      if (typeof one?.name !== 'string' || typeof one.ok !== 'boolean') return [];
      const name = `vault ${one.name.slice(0, LONGEST)}`;
      if (one.ok) return [{ name, ok: true, what: 'works' }];
      const what = typeof one.message === 'string' ? one.message.slice(0, LONGEST) : 'does not work';
      return [
        {
          name,
          ok: false,
          what,
          next: 'Ask the operator of the vault',
          ...(isServing && { warning: true as const }),
        },
      ];
    });
}

async function credential(context: Context): Promise<Check[]> {
  const identity = context.identity();
  if (!identity) throw context.notSignedIn();
  const from = { variable: 'SVC_TOKEN', ci: 'OIDC token of this job', stored: 'stored' }[identity.kind];
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/whoami');
  const found: Check = {
    name: 'credential',
    ok: true,
    what: `${from}${identity.kind === 'stored' ? `, ${identity.place}` : ''}: ${data.kind} ${data.id}, expires: ${data.expires_at ?? 'never'}`,
  };
  if (data.org_id === org_id) return [found];
  const what = `${org_id} is set, but the credential belongs to ${data.org_id}`;
  return [
    found,
    {
      name: 'organisation',
      ok: false,
      what,
      next: 'Correct --org, SVC_ORG_ID or .svc.json, or sign in to that organisation',
    },
  ];
}

async function environment(context: Context): Promise<Check> {
  const slug = await context.environment();
  const { vault, org_id } = await context.vault();
  try {
    const found = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
      const { data } = await vault.api.GET('/orgs/{org_id}/environments', {
        params: { path: { org_id }, query: { limit, cursor } },
      });
      return data;
    });
    const slugs = found.map((each) => each.slug);
    if (slugs.includes(slug) || found.some(({ id }) => id === slug))
      return { name: 'environment', ok: true, what: slug };
    return {
      name: 'environment',
      ok: false,
      what: `there is no environment ${slug}`,
      next: `Use one of ${slugs.join(', ')}`,
    };
  } catch (error) {
    const { status } = asCliError(error).problem;
    if (status !== 403 && status !== 404) throw error;
    return {
      name: 'environment',
      ok: true,
      what: `${slug}, not checked: the credential may not list the environments`,
    };
  }
}
