// `npm run bench:syncs`: calls, time and memory of syncs, with the built service and its queue, against
// servers that speak the vendors' wire formats and respond immediately. Calls are compared with the fewest
// that the vendor's API allows for the same names.
//   npm run bench:syncs -- [--secrets N] [--only PLATFORM]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { configOf, platforms } from '../../test/vendors/fakes/all.ts';
import { callerOf, good, newOrg, parallel, startVault, tell } from './measure.mjs';

const { values } = parseArgs({
  options: { secrets: { type: 'string', default: '1000' }, only: { type: 'string', multiple: true } },
});
const secrets = Number(values.secrets);
const chosen = Object.keys(platforms).filter((name) => !values.only || values.only.includes(name));
const megabytes = (bytes) => Math.round(bytes / 1024 ** 2);

/** The most names that the vendor accepts in one place. */
const MOST = { 'github-actions': 100, supabase: 100, 'cloudflare-workers': 100 };
/** The fewest writes for new names: one call for all or for a batch, or a number of calls per name. */
const WRITES = {
  vercel: 1,
  netlify: 1,
  heroku: 1,
  fly: 1,
  railway: 1,
  'cloudflare-pages': 1,
  'cloudflare-secrets-store': 1,
  digitalocean: 1,
  supabase: 1,
  kubernetes: 2,
  'cloudflare-workers': (n) => Math.ceil(n / 100),
  'gcp-secret-manager': (n) => 2 * n,
};
const fewest = (platform, n) => {
  const writes = WRITES[platform] ?? ((names) => names);
  return typeof writes === 'function' ? writes(n) : writes;
};

const fakes = Object.fromEntries(
  await Promise.all(chosen.map(async (name) => [name, await platforms[name].start()])),
);
const base = Object.fromEntries(chosen.map((name) => [name, fakes[name].url]));
const vault = await startVault({ variables: { PLATFORM_BASE_URLS: JSON.stringify(base) } });
try {
  const call = callerOf(vault);
  const org = await newOrg(vault, { secrets: 1, keys: 20 });
  const at = `/orgs/${org.id}`;
  tell(`storing ${secrets.toLocaleString('en')} secrets`);
  const names = Array.from({ length: secrets }, (_, n) => `NAME_${String(n).padStart(5, '0')}`);
  await parallel(secrets, (n) =>
    call('POST', `${at}/secrets`, org.tokens[n % 20], {
      name: names[n],
      type: 'generic',
      value: `value ${n}`,
      environment: 'staging',
    }).then(good),
  );
  process.stdout.write(
    '| platform | names | calls that write | fewest | other calls | seconds | calls of a repeat | seconds | memory MB |\n',
  );
  process.stdout.write('|---|---|---|---|---|---|---|---|---|\n');
  for (const platform of chosen) {
    const some = names.slice(0, MOST[platform] ?? secrets);
    const first = await sync(call, org, platform, some);
    const again = await sync(call, org, platform, some);
    const cells = [
      platform,
      some.length,
      first.writes,
      fewest(platform, some.length),
      first.calls - first.writes,
      first.seconds,
    ];
    process.stdout.write(
      `| ${[...cells, again.calls, again.seconds, megabytes(vault.memory())].join(' | ')} |\n`,
    );
  }
} finally {
  await vault.stop();
  await Promise.all(Object.values(fakes).map((fake) => fake.close()));
}
process.exit();

/** One complete sync: its calls, and its duration from the request to the end. */
async function sync(call, org, platform, some) {
  const fake = fakes[platform];
  const calls = fake.requests.length;
  const writes = fake.writes().length;
  const body = {
    platform,
    config: configOf(platforms[platform], fake),
    environmentId: 'staging',
    ...(some.length <= 1000 && { names: some }),
  };
  const { syncId } = good(await call('POST', `/orgs/${org.id}/integrations/sync`, org.token, body));
  for (;;) {
    const sync = good(await call('GET', `/orgs/${org.id}/integrations/syncs/${syncId}`, org.token));
    if (sync.finishedAt) {
      if (sync.status !== 'completed')
        tell(
          `${platform}: ${sync.status} ${JSON.stringify(sync.results.find(({ action }) => action === 'failed'))}`,
        );
      const seconds = ((Date.parse(sync.finishedAt) - Date.parse(sync.createdAt)) / 1000).toFixed(1);
      return { calls: fake.requests.length - calls, writes: fake.writes().length - writes, seconds };
    }
    await sleep(100);
  }
}
