// What is checked of the rows of each table: see every-row.mjs. Invariant: a fault names its row and says
// what is wrong with it, never a value.
import { gunzipSync } from 'node:zlib';
import { harmless } from '../../shared/terminal.mjs';

/**
 * @typedef {(sql: string, params: (string | number)[]) => Promise<Record<string, any>[]> | Record<string,
 *   any>[]} Rows from a query
 */
/**
 * @typedef {{ keys: Map<string, any>, deployment: any }} Vault the keys of each organisation, and the
 *   deployment's
 */
/** @typedef {(page: Record<string, any>[]) => Promise<any[]> | any[]} Check */

/**
 * How the rows of each table are checked. Rows of an organisation without a key are not: the key is the
 * fault, or it was deleted.
 * @param {Rows} rows @param {Vault} vault @param {any} source @returns {Record<string, Check>}
 */
export function checksOf(rows, vault, source) {
  const { keys, deployment } = vault;
  const { decrypt, kindOf, macOf, positionMac, readable, rowKinds, tableName } = source;
  /** @param {string} table @param {(keys: any, raw: any) => string | null} faultOf */
  const each = (table, faultOf) => (/** @type {Record<string, any>[]} */ page) =>
    page.flatMap((raw) => {
      const org = table === 'orgs' ? raw.id : raw.org_id;
      const mine = keys.get(org);
      const what = mine ? attempt(() => faultOf(mine, raw)) : null;
      if (what === null) return [];
      const id = String(raw.id ?? raw.secret_id ?? raw.first_sequence ?? raw.sequence);
      const name = table === 'secrets' ? { name: harmless(String(raw.name)) } : {};
      const version = table === 'secret_versions' ? { version: Number(raw.version) } : {};
      return [{ org, table, id, ...name, ...version, what, rowid: raw['#'] }];
    });
  const sealed = sealedIn(source);
  /** @type {Record<string, Check>} */
  const checks = {};
  for (const kind of rowKinds())
    checks[tableName(kind)] = each(tableName(kind), (mine, raw) => {
      const row = readable(kind, whole(source, kindOf(kind).table, raw));
      if (!row || row.mac !== macOf(mine.row, kind, row)) return 'it was altered: its MAC is wrong';
      return sealed[tableName(kind)]?.(mine, raw) ?? null;
    });
  const named = withNames(rows);
  const versions = each('secret_versions', (mine, raw) => versionFault(source, mine, raw));
  checks.secret_versions = async (page) => named(await versions(page));
  const secrets = checks.secrets;
  checks.secrets = async (page) => [...(await secrets(page)), ...(await lacking(page, rows, vault, source))];
  checks.log_stream_positions = each('log_stream_positions', (mine, { org_id, id, sequence, mac }) =>
    mac === positionMac(mine.row, org_id, id, sequence) ? null : 'it was altered: its MAC is wrong',
  );
  checks.audit_segments = each('audit_segments', (_, raw) => segmentFault(raw, raw.entries, raw.last_hash));
  checks.event_segments = each('event_segments', (_, raw) => segmentFault(raw, raw.events, null));
  checks.signing_keys = (page) =>
    page.flatMap(({ id, key_sealed, created_at, '#': rowid }) =>
      !deployment || decrypt(deployment.signing, 'signing key', [id, String(created_at)], key_sealed)
        ? []
        : [{ org: null, table: 'signing_keys', id: harmless(String(id)), what: 'it does not open', rowid }],
    );
  return checks;
}

/**
 * What is wrong with the ciphertexts of a row, by its table; null if they open.
 * @param {any} source @returns {Record<string, (keys: any, raw: any) => string | null>}
 */
function sealedIn({ decrypt, isCiphertext }) {
  const opens = (
    /** @type {any} */ mine,
    /** @type {string} */ purpose,
    /** @type {string[]} */ context,
    /** @type {unknown} */ sealed,
  ) => decrypt(mine.value, purpose, context, String(sealed)) !== null;
  return {
    webhooks: (mine, raw) =>
      opens(mine, 'webhook URL', [raw.org_id, raw.id, raw.host], raw.url_sealed) &&
      opens(mine, 'webhook secret', [raw.org_id, raw.id], raw.secret_sealed) &&
      (!(raw.old_secret_until > Date.now()) ||
        opens(mine, 'old webhook secret', [raw.org_id, raw.id], raw.old_secret_sealed))
        ? null
        : 'its URL or signing secret does not open',
    integrations: (mine, raw) =>
      opens(mine, 'connection', [raw.org_id, raw.id], raw.credentials_sealed)
        ? null
        : 'its credentials do not open',
    log_streams: (mine, raw) =>
      opens(mine, 'log stream', streamOf(raw), raw.credentials_sealed) ? null : 'its target does not open',
    sso_connections: (mine, raw) =>
      raw.client_secret_sealed === null ||
      opens(mine, 'client secret', [raw.org_id, raw.id], raw.client_secret_sealed)
        ? null
        : 'its client secret does not open',
    // Once it has ended, or with a stored connection, it has none.
    syncs: (mine, raw) =>
      raw.config === null ||
      raw.finished_at !== null ||
      opens(mine, 'connection', [raw.org_id, raw.id], raw.credentials_sealed)
        ? null
        : 'its credentials do not open',
    // Only the link itself holds the key.
    shares: (_, raw) => (isCiphertext(String(raw.value_sealed)) ? null : 'its value is no ciphertext'),
  };
}

/** What the target of a log stream is bound to. @param {Record<string, any>} raw */
const streamOf = ({ org_id, id, kind, config }) => [org_id, id, kind, config];

/**
 * A row of an earlier release lacks columns that were added later.
 * @param {any} source
 * @param {any} table
 * @param {Record<string, any>} raw
 */
export const whole = ({ getTableColumns }, table, raw) =>
  Object.fromEntries(Object.keys(getTableColumns(table)).map((column) => [column, raw[column] ?? null]));

/**
 * Whether the MAC of a version is right.
 * @param {any} source
 * @param {any} mine the organisation's keys
 * @param {Record<string, any>} raw
 */
export function hasRightMac(source, mine, raw) {
  const version = source.fromD1(source.secretVersions, whole(source, source.secretVersions, raw));
  return version.mac === source.macOf(mine.row, 'version', version);
}

/**
 * What is wrong with a version.
 * @param {any} source
 * @param {any} mine the organisation's keys
 * @param {Record<string, any>} raw
 */
export function versionFault(source, mine, raw) {
  if (!hasRightMac(source, mine, raw)) return 'it was altered: its MAC is wrong';
  const context = [raw.org_id, raw.secret_id, raw.seal_id];
  return source.decrypt(mine.value, 'secret value', context, String(raw.value_sealed)) === null
    ? 'its value does not open'
    : null;
}

/** What is wrong; a row that cannot even be looked at is. @param {() => string | null} look */
export function attempt(look) {
  try {
    return look();
  } catch {
    return 'it cannot be read';
  }
}

/**
 * @param {Record<string, any>} raw
 * @param {unknown} packed
 * @param {string | null} last the hash of the last entry
 */
export function segmentFault({ first_sequence: first, last_sequence: end }, packed, last) {
  const entries = JSON.parse(gunzipSync(Buffer.from(String(packed), 'base64')).toString());
  const isWhole =
    entries.at(-1)?.sequence === end &&
    entries[0]?.sequence === first &&
    (last === null || entries.at(-1)?.hash === last);
  return isWhole ? null : 'it does not hold the entries that it names';
}

/**
 * Versions that secrets should have and the database lacks.
 * @param {Record<string, any>[]} page
 * @param {Rows} rows
 * @param {Vault} vault
 * @param {any} source
 */
async function lacking(page, rows, { keys }, { hasVersion, readable, RESTORABLE }) {
  // A secret whose time to be restored is over is being purged.
  const live = page.filter(
    ({ org_id, deleted_at }) =>
      keys.has(org_id) && (deleted_at === null || deleted_at + RESTORABLE > Date.now()),
  );
  const ids = JSON.stringify(live.map(({ org_id, id }) => [org_id, id]));
  const found = await rows(
    'SELECT v.org_id, v.secret_id, v.version FROM json_each(?) w CROSS JOIN secret_versions v ON v.org_id = w.value ->> 0 AND v.secret_id = w.value ->> 1',
    [ids],
  );
  const there = new Set(found.map(({ org_id, secret_id, version }) => `${org_id} ${secret_id} ${version}`));
  return live.flatMap((raw) => {
    const row = readable('secret', raw);
    if (!row) return [];
    const missing = [];
    for (let version = row.oldest_version; version <= row.version; version++)
      if (hasVersion(row, version) && !there.has(`${row.org_id} ${row.id} ${version}`)) missing.push(version);
    const about = {
      org: row.org_id,
      table: 'secrets',
      id: row.id,
      name: harmless(row.name),
      rowid: raw['#'],
    };
    return missing.map((version) => ({ ...about, version, what: 'its stored value is missing' }));
  });
}

/** Adds the names of secrets to faults of their versions. @param {Rows} rows */
const withNames = (rows) => async (/** @type {any[]} */ faults) => {
  for (const fault of faults) {
    const [secret] = await rows('SELECT name FROM secrets WHERE org_id = ? AND id = ?', [
      fault.org,
      fault.id,
    ]);
    if (secret) fault.name = harmless(String(secret.name));
  }
  return faults;
};
