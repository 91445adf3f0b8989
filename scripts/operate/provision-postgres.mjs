// A database provisioner: uses a provider token to give a PostgreSQL role a password that only the vault and
// the database know, to replace it, and to revoke it. Invariants: database and vault change together, or the
// run says that it must be repeated; no password is on a command line, in a file, in the output, or in a
// statement (the server gets its SCRAM verifier, so its log has none either).
import { spawn } from 'node:child_process';
import { createHash, createHmac, pbkdf2Sync, randomBytes, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { ExpectedError } from '../shared/expected-error.mjs';
import { callerOf, localUrl, run } from './vault/vault.mjs';

const USAGE = `node scripts/operate/provision-postgres.mjs issue|rotate|revoke ROLE [--ttl SECONDS] [--grant ROLE] [--environment NAME] [--secret NAME] [--url URL] [--json]
PROVIDER_TOKEN is the provider token; PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE reach the database, as for psql.`;
const MADE = 'provisioned from a vault';

/**
 * @typedef {{ role: string, vault: (what: string, fields?: object) => Promise<any>, ttl: number, grant?:
 *   string }} Task
 */

const words = {
  issue: (role, { secretName, version, expiresAt }) =>
    `Role ${role}: version ${version} of ${secretName}, until ${expiresAt}`,
  rotate: (role, { secretName, version, expiresAt }) =>
    `Role ${role}: version ${version} of ${secretName}, until ${expiresAt ?? 'it is rotated'}`,
  revoke: (role, { secretName, revokedAt }) =>
    `Role ${role}: disabled, and ${secretName} revoked at ${revokedAt}`,
};

/** Creates the role if there is none, and gives it a password. @param {Task} task */
function issue({ role, vault, ttl, grant }) {
  const made = `IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN ${ours(role)}
    ELSE CREATE ROLE "${role}"; COMMENT ON ROLE "${role}" IS '${MADE}'; END IF;`;
  const granted = grant === undefined ? '' : `GRANT "${grant}" TO "${role}";`;
  return withPassword(role, `${block(made)} ${granted} ALTER ROLE "${role}" LOGIN;`, (value) =>
    vault('issue', { value, ttlSeconds: ttl }),
  );
}

/** Gives the role another password. This does not re-enable a role that was disabled. @param {Task} task */
function rotate({ role, vault }) {
  return withPassword(role, block(ours(role)), (newValue) => vault('rotate', { newValue }));
}

/**
 * Disables the role's logins and sessions, and revokes the secret; each is tried regardless of the other.
 * @param {Task} task
 */
async function revoke({ role, vault }) {
  const [inVault, inDatabase] = await Promise.allSettled([
    vault('revoke'),
    database(`BEGIN; ${locked(role)} ${block(ours(role))} ALTER ROLE "${role}" NOLOGIN PASSWORD NULL; COMMIT;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}' AND pid <> pg_backend_pid();`),
  ]);
  const failed = [inVault, inDatabase].flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
  if (failed.length === 0 && inVault.status === 'fulfilled') return inVault.value;
  if (failed.some((error) => !(error instanceof ExpectedError)))
    throw failed.find((error) => !(error instanceof ExpectedError));
  const rest =
    failed.length === 2
      ? 'Nothing was revoked'
      : `Only ${inVault.status === 'fulfilled' ? 'the secret' : 'the role'} was revoked`;
  throw new ExpectedError(
    `${failed.map(({ message }) => message).join('\n')}\n${rest}: fix that, then run this again.`,
  );
}

/**
 * Sets a new password in both places: in a transaction, then sent to the vault, and only then committed, so
 * the database is unchanged if the vault refuses.
 * @param {string} role @param {string} first statements @param {(password: string) => Promise<any>} tell
 */
async function withPassword(role, first, tell) {
  const password = randomBytes(32).toString('base64url');
  let told;
  await database(
    `BEGIN; ${locked(role)} ${first} ALTER ROLE "${role}" PASSWORD '${verifier(password)}';`,
    async () => {
      told = await tell(password);
      const until = told.expiresAt === null ? 'infinity' : new Date(told.expiresAt).toISOString();
      return `ALTER ROLE "${role}" VALID UNTIL '${until}'; COMMIT;`;
    },
  ).catch((error) => {
    if (told && error instanceof ExpectedError)
      throw new ExpectedError(
        `${error.message}\nThe vault has the new password, but the database does not: run this again.`,
      );
    throw error;
  });
  return told;
}

/**
 * Refuses a role that this script did not create, so it never takes over a person's or the superuser's.
 * @param {string} role
 */
const ours = (
  role,
) => `IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}' AND NOT rolsuper AND shobj_description(oid, 'pg_authid') = '${MADE}')
  THEN RAISE EXCEPTION 'this script did not create a role ${role}'; END IF;`;
/** @param {string} body */
const block = (body) => `DO $$ BEGIN ${body} END $$;`;
/** One run at a time for a role. @param {string} role */
const locked = (role) =>
  `SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock(hashtext('vault ${role}'));`;

/**
 * What PostgreSQL stores of a password (RFC 5803): it verifies a login but does not allow one.
 * @param {string} password
 */
function verifier(password) {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, 4096, 32, 'sha256');
  const hmac = (/** @type {string} */ text) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${stored}:${hmac('Server Key').toString('base64')}`;
}

/**
 * Runs statements in one psql session; with `then`, the text it returns follows in the same session. If it
 * throws, the session ends, and an open transaction with it.
 * @param {string} sql @param {() => Promise<string>} [then]
 */
async function database(sql, then) {
  const { PROVIDER_TOKEN: _, ...env } = process.env;
  // Terse, so that an error does not quote its statement.
  const args = [
    '--no-psqlrc',
    '--quiet',
    '--no-password',
    '--tuples-only',
    '--set=ON_ERROR_STOP=1',
    '--set=VERBOSITY=terse',
  ];
  const psql = spawn('psql', args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  psql.stderr.on('data', (data) => (said += data));
  psql.stdin.on('error', () => {});
  const closed = new Promise((done) =>
    psql.once('close', done).once('error', (error) => done(error.message)),
  );
  const ready = new Promise((done) => {
    let out = '';
    psql.stdout.on('data', (data) => {
      out += data;
      if (out.includes('-- ready\n')) done(true);
    });
  });
  psql.stdin.write(`${sql}\n\\echo '-- ready'\n`);
  if (!then) psql.stdin.end();
  else if (await Promise.race([ready, closed.then(() => false)])) {
    try {
      psql.stdin.end(`${await then()}\n`);
    } catch (error) {
      psql.stdin.end();
      await closed;
      throw error;
    }
  }
  const code = await closed;
  if (code !== 0)
    throw new ExpectedError(
      `PostgreSQL: ${said.trim() || `psql ended with ${code}; install PostgreSQL's client`}`,
    );
}

await run(
  async () => {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ttl: { type: 'string' },
        grant: { type: 'string' },
        environment: { type: 'string', default: 'production' },
        secret: { type: 'string' },
        url: { type: 'string', default: localUrl() },
        json: { type: 'boolean', default: false },
      },
    });
    const [verb, role = '', ...more] = positionals;
    const act = { issue, rotate, revoke }[verb ?? ''];
    if (!act || more.length) throw new ExpectedError(USAGE);
    for (const name of [role, values.grant ?? 'x'])
      if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(name))
        throw new ExpectedError(
          'ROLE is not a valid role name: use up to 63 lower-case letters, digits and _, not starting with a digit or pg_',
        );
    if (verb === 'issue' && !/^\d{2,8}$/.test(values.ttl ?? ''))
      throw new ExpectedError('--ttl is missing: pass the lifetime in seconds, from 60 to 31536000');
    const token = process.env.PROVIDER_TOKEN;
    if (!token)
      throw new ExpectedError(
        'PROVIDER_TOKEN is missing: set it in the environment to a token of POST /orgs/:org_id/provider-tokens',
      );
    const call = callerOf(values.url, token);
    const named = { secretName: values.secret ?? `postgres/${role}`, environment: values.environment };
    /**
     * Calls the vault; repeating a call has no further effect.
     * @param {string} what
     * @param {object} fields
     */
    const vault = async (what, fields = {}) => {
      const { status, json } = await call(
        'POST',
        `/provider/${what}`,
        { ...named, ...fields },
        { 'Idempotency-Key': randomUUID() },
      );
      if (status < 300) return json;
      const why =
        json?.error?.details?.map(({ path, message }) => `${path} ${message}`).join('; ') ??
        json?.error?.message ??
        '';
      throw new ExpectedError(
        `The vault refused to ${what} ${named.secretName} (${status} ${json?.error?.code ?? ''}): ${why}`,
      );
    };
    const done = await act({ role, vault, ttl: Number(values.ttl), grant: values.grant });
    process.stdout.write(values.json ? `${JSON.stringify(done)}\n` : `${words[verb](role, done)}\n`);
  },
  `${USAGE}
`,
);
