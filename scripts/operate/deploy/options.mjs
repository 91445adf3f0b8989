// The options of `npm run deploy`, and what it would do. No command is run here.

import { ExpectedError } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { commitHere, messageOf, releaseHere } from '../vault/checkout.mjs';
import { APPLIED, commands, TABLES, typed, WRAPS } from '../vault/cloudflare-account.mjs';
import { CONFIG, VARS } from '../vault/deployment-config.mjs';
import { isLoopback } from '../vault/settings.mjs';

export const PLACES = {
  weur: 'Western Europe',
  eeur: 'Eastern Europe',
  apac: 'Asia-Pacific',
  oc: 'Oceania',
  wnam: 'Western North America',
  enam: 'Eastern North America',
};
export const LOCATIONS = [...Object.keys(PLACES), 'auto'];

export const USAGE = `npm run deploy -- [options]

  --location PLACE    where the database is created, once: ${LOCATIONS.join(', ')} (auto: near this machine)
  --public-url URL    origin at which callers reach the vault; without it the one that is deployed, or the workers.dev address
  --saml              also deploy the SAML Worker, for sign-in by SAML; later deployments keep it
  --wait SECONDS      how long to wait for /healthz, 180 by default; 0 not at all
  --yes               do not ask whether the account is the right one
  --dry-run           call, ask and change nothing; print each step and its commands

DEPLOYMENT=staging npm run deploy deploys another vault beside the production one, under names that end with -staging.
`;

export function readOptions() {
  let given;
  try {
    given = parseArgs({
      options: {
        location: { type: 'string' },
        'public-url': { type: 'string' },
        saml: { type: 'boolean' },
        wait: { type: 'string' },
        yes: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new ExpectedError(`${error.message}\n\n${USAGE}`);
  }
  const { location, wait = '180' } = given;
  if (location !== undefined && !LOCATIONS.includes(location))
    throw new ExpectedError(`--location is not a valid place: pass one of ${LOCATIONS.join(', ')}.`);
  if (!/^\d{1,4}$/.test(wait)) throw new ExpectedError('--wait is not a number of seconds: pass 0 to 9999.');
  const publicUrl = given['public-url'];
  return {
    location,
    wait: Number(wait),
    publicUrl: publicUrl && origin(publicUrl),
    saml: given.saml ?? false,
    yes: given.yes,
    dryRun: given['dry-run'],
    help: given.help,
  };
}

/** @param {string} text */
function origin(text) {
  const url = /^https?:\/\/[^\s\\?#]+$/i.test(text) ? URL.parse(text) : null;
  const plain = url && !url.username && !url.password && url.pathname === '/';
  if (!plain || (url.protocol === 'http:' && !isLoopback(url.hostname)))
    throw new ExpectedError(
      '--public-url is not an https origin: pass only scheme and host, such as https://vault.example.com.',
    );
  return url.origin;
}

/** Prints each step with its commands. */
export function printPlan({ worker, database: name, queues }, { location, publicUrl, saml, wait }) {
  const plan = [
    ['account: who is signed in', [commands.whoami()]],
    ['database: look', [commands.databases()]],
    ['database: create it if there is none', [commands.createDatabase(name, location ?? '<place>')]],
    ...queues.flatMap((queue) => [
      [`queue ${queue}: look`, [commands.queue(queue)]],
      [`queue ${queue}: create it if there is none`, [commands.createQueue(queue)]],
    ]),
    [
      `migrations: look; write ${CONFIG} before`,
      [commands.query(TABLES), commands.query(APPLIED), commands.query(WRAPS)],
    ],
    ['migrations: apply those that are missing', [commands.migrate()]],
    ['secrets: look', [commands.secrets()]],
    [`secrets: set those that are missing, from ${VARS}, on stdin`, [commands.setSecrets()]],
    ...(publicUrl
      ? []
      : [['address: the one that is deployed', [commands.status(), commands.version('<version>')]]]),
    ...(saml ? [['deploy the SAML Worker', [commands.deploySaml()]]] : []),
    [
      `deploy ${worker}${publicUrl ? '' : '; the first time once more, with its address'}`,
      [commands.deploy(messageOf(releaseHere(commitHere())))],
    ],
  ];
  const lines = plan.map(
    ([what, list], at) =>
      `${String(at + 1).padStart(2)}. ${what}\n${list.map((args) => `      ${typed(args)}\n`).join('')}`,
  );
  const health =
    wait > 0 ? `${plan.length + 1}. wait up to ${wait} s for ${publicUrl ?? '<address>'}/healthz\n` : '';
  process.stdout.write(
    `Dry run: no command is run, nothing is asked or changed.\n\n${lines.join('')}${health}`,
  );
}
