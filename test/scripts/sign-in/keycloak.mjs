// A Keycloak for tests, which `npm run test:single-sign-on` installs, and its admin API: a realm, its people,
// and clients for both protocols.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { project } from '../service.mjs';

const HOME = path.join(project, '.sdks', 'keycloak');
/** What starts it. */
export const KEYCLOAK = path.join(HOME, 'bin/kc.sh');
const PASSWORD = 'a-password-of-the-test';
export const CLIENT = { id: 'svc', secret: 'a-client-secret-of-the-test' };

/** Starts a Keycloak that keeps nothing; it ends with the suite. @param {number} port */
export async function startKeycloak(port) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'keycloak-'));
  const log = fs.openSync(path.join(dir, 'log'), 'w');
  const options = [
    '--http-host=127.0.0.1',
    `--http-port=${port}`,
    '--hostname-strict=false',
    '--cache=local',
  ];
  const child = spawn(KEYCLOAK, ['start', '--optimized', '--http-enabled=true', ...options], {
    detached: true,
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
      KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin',
      JAVA_OPTS_KC_HEAP: '-Xms128m -Xmx512m',
    },
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    process.kill(-(/** @type {number} */ (child.pid)), 'SIGTERM');
    await ended;
  };
  after(async () => {
    await stop();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  const base = `http://127.0.0.1:${port}`;
  for (let waited = 0; ; waited += 500) {
    const answer = await fetch(`${base}/realms/master`).catch(() => null);
    if (answer?.status === 200) break;
    const said = () => fs.readFileSync(path.join(dir, 'log'), 'utf8').slice(-800);
    assert.ok(waited < 600_000 && child.exitCode === null, `Keycloak did not start: ${said()}`);
    await new Promise((done) => setTimeout(done, 500));
  }
  return { ...adminOf(base), stop };
}

/**
 * What a realm is made of; `users` have groups.
 * @typedef {{ domain: string, users: Record<string, string[]>, redirect: string }} RealmOf
 */

/** @param {string} base of a Keycloak whose first administrator is admin, with the password admin */
export function adminOf(base) {
  /** @param {string} token @param {string} method @param {string} path @param {unknown} [body] */
  const send = async (token, method, path, body) => {
    const type = typeof body === 'string' ? 'application/xml' : 'application/json';
    const answer = await fetch(`${base}/admin/realms${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': type }) },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text && JSON.parse(text);
  };
  /** @param {string} method @param {string} path @param {unknown} [body] */
  const admin = async (method, path, body) => {
    const form = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password: 'admin' };
    const answer = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    return send((await answer.json()).access_token, method, path, body);
  };
  return {
    admin,
    issuer: (/** @type {string} */ realm) => `${base}/realms/${realm}`,
    metadataUrl: (/** @type {string} */ realm) => `${base}/realms/${realm}/protocol/saml/descriptor`,
    /** @param {string} realm @param {RealmOf} of */
    makeRealm: (realm, of) => admin('POST', '', realmOf(realm, of)),
    /** Adds a client by the metadata of the service. @param {string} realm @param {string} metadata */
    async addSamlClient(realm, metadata) {
      const read = await admin('POST', `/${realm}/client-description-converter`, metadata);
      const client = {
        ...read,
        // On by default, whatever the metadata says; our requests are not signed.
        attributes: {
          ...read.attributes,
          'saml.client.signature': 'false',
          saml_idp_initiated_sso_url_name: 'vault',
        },
        protocolMappers: [...(read.protocolMappers ?? []), ...samlMappers],
      };
      await admin('POST', `/${realm}/clients`, client);
      return client;
    },
    /** Sends logout tokens of the client by OpenID Connect. @param {string} realm @param {string} url */
    async sendLogouts(realm, url) {
      const [client] = await admin('GET', `/${realm}/clients?clientId=${CLIENT.id}`);
      const attributes = {
        ...client.attributes,
        'backchannel.logout.url': url,
        'backchannel.logout.session.required': 'true',
      };
      await admin('PUT', `/${realm}/clients/${client.id}`, { ...client, attributes });
    },
    /** Signs somebody out, as an administrator does. @param {string} realm @param {string} username */
    async signOut(realm, username) {
      const [user] = await admin('GET', `/${realm}/users?username=${username}&exact=true`);
      await admin('POST', `/${realm}/users/${user.id}/logout`);
    },
  };
}

const mapper = (
  /** @type {string} */ name,
  /** @type {string} */ protocol,
  /** @type {string} */ type,
  /** @type {Record<string, string>} */ config,
) => ({ name, protocol, protocolMapper: type, config });

const samlMappers = [
  mapper('email', 'saml', 'saml-user-property-mapper', {
    'user.attribute': 'email',
    'attribute.name': 'email',
    'attribute.nameformat': 'Basic',
  }),
  mapper('groups', 'saml', 'saml-group-membership-mapper', {
    'attribute.name': 'groups',
    'attribute.nameformat': 'Basic',
    single: 'true',
    'full.path': 'false',
  }),
];

/** @param {string} realm @param {RealmOf} of */
const realmOf = (realm, { domain, users, redirect }) => ({
  realm,
  enabled: true,
  groups: [...new Set(Object.values(users).flat())].map((name) => ({ name })),
  users: Object.entries(users).map(([username, groups]) => ({
    username,
    email: `${username}@${domain}`,
    emailVerified: true,
    firstName: username,
    lastName: 'Example',
    enabled: true,
    groups,
    credentials: [{ type: 'password', value: PASSWORD, temporary: false }],
  })),
  clients: [
    {
      clientId: CLIENT.id,
      secret: CLIENT.secret,
      redirectUris: [redirect],
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      attributes: { 'pkce.code.challenge.method': 'S256' },
      protocolMappers: [
        mapper('groups', 'openid-connect', 'oidc-group-membership-mapper', {
          'claim.name': 'groups',
          'full.path': 'false',
          'id.token.claim': 'true',
        }),
      ],
    },
  ],
});

/** Fills Keycloak's form. @param {import('playwright-core').Page} page @param {string} name */
export async function logInAtKeycloak(page, name) {
  const user = page.locator('#username');
  // Where Keycloak knows who it is, it shows the name and asks for the password alone.
  if (await user.isEditable()) await user.fill(name);
  await page.fill('#password', PASSWORD);
  await page.click('#kc-login');
}
