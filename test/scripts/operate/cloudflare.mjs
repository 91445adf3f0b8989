// A stand-in for the part of Cloudflare's API that wrangler calls for a deployment: it records every request
// and answers in the real wire format, from an account in memory whose D1 is a real SQLite. Invariant: it
// accepts nothing that the service refuses for certain, such as a second database or queue of one name.
import { once } from 'node:events';
import http from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';

export const ACCOUNT = '0123456789abcdef0123456789abcdef';
/** What stands for an upload of files that has begun. */
const UPLOAD = 'upload-session';
export const API_TOKEN = 'token-of-the-stand-in-0123456789abcdefghij';

const NOT_FOUND = (message, code) => ({ status: 404, code, message });

/** An account with nothing in it, served until the test ends. */
export async function cloudflare() {
  /** @type {{ method: string, path: string, body: string }[]} */
  const requests = [];
  const account = {
    /** @type {Map<string, { uuid: string, name: string, hint: string | null, db: DatabaseSync }>} by name */
    databases: new Map(),
    /** @type {Map<string, { id: string, consumers: any[], messages: any[] }>} by name */
    queues: new Map(),
    /** Files of pages: their hashes by path, and what was uploaded. */
    assets: { manifest: /** @type {Record<string, { hash: string }>} */ ({}), uploaded: new Set() },
    /**
     * By name.
     * @type {Map<string, { secrets: Map<string, string>, bindings: any[], uploads: number, crons: any[],
     *   metadata?: any }>}
     */
    workers: new Map(),
    /** That of production. */
    get worker() {
      return this.workers.get('secrets-vault-service') ?? null;
    },
    set worker(worker) {
      this.workers.set('secrets-vault-service', /** @type {any} */ (worker));
    },
    /**
     * Refuses, as for want of a permission, the requests that this takes.
     * @type {(request: { method: string, path: string, body: string }) => boolean}
     */
    broken: () => false,
    /**
     * Does what such a request asks, and hangs up before the answer.
     * @type {(request: { method: string, path: string, body: string }) => boolean}
     */
    lost: () => false,
    /** The address of the vault itself: what /healthz answers. */
    health: {
      status: 200,
      body: {
        status: 'ok',
        version: '0.5.0',
        checks: ['database', 'keys', 'gate', 'queue'].map((name) => ({ name, ok: true })),
      },
    },
    /** Accounts that the sign-in reaches besides. @type {{ id: string, name: string, type: string }[]} */
    others: [],
    /** How far its clock is off, in ms. */
    clockOff: 0,
    signedIn: true,
  };

  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://stand-in');
    let body = '';
    for await (const part of request.setEncoding('latin1')) body += part;
    const answer = (status, value, headers = {}) => {
      response
        .writeHead(status, { 'Content-Type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    };
    if (url.pathname === '/healthz')
      return answer(account.health.status, account.health.body, {
        Date: new Date(Date.now() + account.clockOff).toUTCString(),
      });
    const path = decodeURIComponent(url.pathname.replace(/^\/client\/v4/, ''));
    const seen = { method: request.method ?? '', path, body };
    requests.push(seen);
    const refused = (status, code, message) =>
      answer(status, { success: false, errors: [{ code, message }], messages: [], result: null });
    const isUpload = path === `/accounts/${ACCOUNT}/workers/assets/upload`;
    if (!account.signedIn || request.headers.authorization !== `Bearer ${isUpload ? UPLOAD : API_TOKEN}`)
      return refused(403, 9109, 'Invalid access token');
    if (account.broken(seen)) return refused(403, 10000, `Authentication error: ${body.slice(0, 400)}`);
    const found = route(account, seen, url.searchParams);
    if (account.lost(seen)) return request.socket.destroy();
    if (found.code) return refused(found.status, found.code, found.message);
    const info = Array.isArray(found.result)
      ? { page: 1, per_page: 100, count: found.result.length, total_count: found.result.length }
      : undefined;
    answer(found.status ?? 200, {
      success: true,
      errors: [],
      messages: [],
      result: found.result,
      ...(info && { result_info: info }),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  return { account, requests, base };
}

/** @returns {any} `result`, or a refusal's status, code and message */
function route(account, { method, path, body }, query) {
  const json = () => JSON.parse(body);
  if (path === '/user/tokens/verify')
    return { result: { id: 'ed17574386854bf78a67040be0a770b0', status: 'active' } };
  if (path === '/user')
    return { result: { id: '7c5dae5552338874e5053f2534d2767a', email: 'you@example.com' } };
  if (path === '/accounts')
    return { result: [{ id: ACCOUNT, name: 'Acme', type: 'standard' }, ...account.others] };
  if (path === '/memberships')
    return {
      result: [{ id: ACCOUNT, name: 'Acme' }, ...account.others].map((of) => ({
        id: `membership-${of.id}`,
        account: of,
        roles: ['Administrator'],
      })),
    };
  if (!path.startsWith(`/accounts/${ACCOUNT}/`)) return NOT_FOUND('Could not route to the path', 7003);
  const [first, second, third, ...rest] = path.slice(`/accounts/${ACCOUNT}/`.length).split('/');
  if (first === 'd1') return database(account, method, third, rest[0], json, query);
  if (first === 'queues') return queue(account, method, second, third, json, query, path);
  if (first === 'workers' && second === 'subdomain') return { result: { subdomain: 'acme' } };
  if (first === 'workers' && second === 'workers') {
    const worker = account.workers.get(third);
    if (!worker) return NOT_FOUND('Worker not found', 10007);
    return {
      result: { id: 'w', name: third, subdomain: { enabled: worker.uploads > 1, previews_enabled: false } },
    };
  }
  if (first === 'workers' && second === 'assets' && third === 'upload') return assetUpload(account, body);
  if (first === 'workers' && (second === 'scripts' || second === 'services'))
    return script(account, method, third, second, rest, body);
  return NOT_FOUND(`Could not route to ${path}`, 7003);
}

function database(account, method, which, action, json, query) {
  const shown = ({ uuid, name }) => ({
    uuid,
    name,
    version: 'production',
    created_at: '2026-01-01T00:00:00.000Z',
    num_tables: 0,
    file_size: 0,
  });
  if (!which && method === 'GET') {
    const page = Number(query.get('page') ?? 1);
    const size = Number(query.get('per_page') ?? 100);
    return { result: [...account.databases.values()].slice((page - 1) * size, page * size).map(shown) };
  }
  if (!which && method === 'POST') {
    const { name, primary_location_hint: hint = null } = json();
    if (account.databases.has(name))
      return { status: 400, code: 7502, message: `Database with name '${name}' already exists` };
    const uuid = `5f6e7d8c-0000-4000-8000-00000000000${account.databases.size + 1}`;
    account.databases.set(name, { uuid, name, hint, db: new DatabaseSync(':memory:') });
    return { result: { ...shown({ uuid, name }), created_in_region: (hint ?? 'weur').toUpperCase() } };
  }
  const found = [...account.databases.values()].find(({ uuid, name }) => uuid === which || name === which);
  if (!found) return NOT_FOUND(`The database ${which} could not be found`, 7404);
  if (!action) return { result: shown(found) };
  const { sql } = json();
  try {
    const reads = /^\s*(select|pragma|with)\b/i.test(sql);
    const statements = reads ? sql.split(';').filter((text) => text.trim()) : [sql];
    const result = statements.map((text) => {
      const results = reads ? found.db.prepare(text).all() : [];
      if (!reads) found.db.exec(text);
      return {
        results,
        success: true,
        meta: {
          duration: 0.1,
          rows_read: results.length,
          rows_written: 0,
          served_by: 'stand-in',
          changes: 0,
          last_row_id: 0,
          changed_db: !reads,
          size_after: 0,
        },
      };
    });
    return { result };
  } catch (error) {
    return { status: 400, code: 7500, message: `${error.message}: SQLITE_ERROR` };
  }
}

function queue(account, method, id, consumers, json, query, path) {
  const shown = ([name, { id: queue_id, consumers: list }]) => ({
    queue_id,
    queue_name: name,
    created_on: '2026-01-01T00:00:00Z',
    modified_on: '2026-01-01T00:00:00Z',
    producers: [],
    producers_total_count: 0,
    consumers: list,
    consumers_total_count: list.length,
    settings: { delivery_delay: 0, message_retention_period: 345_600 },
  });
  const all = [...account.queues];
  if (!id && method === 'GET')
    return { result: all.filter(([name]) => !query.get('name') || name === query.get('name')).map(shown) };
  if (!id) {
    const { queue_name: name } = json();
    if (account.queues.has(name)) return { status: 409, code: 11009, message: 'Queue name is already taken' };
    account.queues.set(name, {
      id: `00000000000000000000000000000${all.length}aa`,
      consumers: [],
      messages: [],
    });
    return { result: shown([name, account.queues.get(name)]) };
  }
  const found = all.find(([, { id: own }]) => own === id);
  if (!found) return NOT_FOUND('Queue not found', 11000);
  if (consumers === 'messages') return messages(found[1], path, json());
  if (!consumers) return { result: shown(found) };
  const list = found[1].consumers;
  if (method === 'GET') return { result: list };
  const given = json();
  if (method === 'POST' && list.length > 0)
    return { status: 400, code: 11004, message: 'Queue already has a consumer' };
  if (method === 'POST' && given.type === 'http_pull') list.push({ consumer_id: 'c0ffee', ...given });
  else if (method === 'POST')
    list.push({
      consumer_id: 'c0ffee',
      type: 'worker',
      script: given.script_name,
      service: given.script_name,
      environment: 'production',
      ...given,
    });
  return { result: list[0] };
}

/** Messages of a queue: pulling leases them, and JSON arrives as base64. */
function messages(queue, path, given) {
  if (path.endsWith('/messages/batch')) {
    for (const { body } of given.messages)
      queue.messages.push({ id: String(queue.messages.length), body, attempts: 0, lease: null });
    return { result: {} };
  }
  const leased = (list) => list.map(({ lease_id: id }) => queue.messages.find(({ lease }) => lease === id));
  if (path.endsWith('/messages/ack')) {
    // A lease that has ended acknowledges nothing.
    const acked = leased(given.acks).filter((one) => one !== undefined);
    const ackCount = acked.length;
    queue.messages = queue.messages.filter((one) => !acked.includes(one));
    for (const one of leased(given.retries)) if (one) one.lease = null;
    return { result: { ackCount, retryCount: given.retries.length, warnings: [] } };
  }
  if (!queue.consumers.some(({ type }) => type === 'http_pull'))
    return { status: 405, code: 11007, message: 'HTTP pull is not enabled' };
  const free = queue.messages.filter(({ lease }) => lease === null).slice(0, given.batch_size);
  for (const one of free)
    Object.assign(one, { lease: `lease-${one.id}-${one.attempts}`, attempts: one.attempts + 1 });
  const shown = free.map(({ id, body, attempts, lease }) => ({
    id,
    attempts,
    lease_id: lease,
    timestamp_ms: 1_767_225_600_000,
    metadata: { 'CF-Content-Type': 'json' },
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
  }));
  // Where there is none, the API's `messages` is optional.
  return {
    result: { message_backlog_count: queue.messages.length, ...(shown.length > 0 && { messages: shown }) },
  };
}

/**
 * The upload is multipart; each part is named by the hash of a file. It is complete once every file of the
 * manifest was there.
 */
function assetUpload({ assets }, body) {
  for (const [, hash] of body.matchAll(/name="([0-9a-f]{32})"/g)) assets.uploaded.add(hash);
  const isComplete = Object.values(assets.manifest).every(({ hash }) => assets.uploaded.has(hash));
  return { status: isComplete ? 201 : 202, result: { jwt: isComplete ? 'upload-complete' : UPLOAD } };
}

function script(account, method, name, kind, [action, detail], body) {
  if (action === 'assets-upload-session') {
    account.assets.manifest = JSON.parse(body).manifest;
    const hashes = [...new Set(Object.values(account.assets.manifest).map(({ hash }) => hash))];
    const missing = hashes.filter((hash) => !account.assets.uploaded.has(hash));
    return {
      result: {
        jwt: missing.length > 0 ? UPLOAD : 'upload-complete',
        buckets: missing.length > 0 ? [missing] : [],
      },
    };
  }
  const worker = account.workers.get(name);
  const missing = NOT_FOUND('This Worker does not exist on your account.', 10007);
  if (!action && method === 'PUT') return upload(account, name, body);
  if (!worker) return kind === 'services' ? NOT_FOUND('workers.api.error.service_not_found', 10090) : missing;
  const version = () => ({
    id: `0000000${worker.uploads}-0000-4000-8000-000000000000`,
    number: worker.uploads,
    metadata: { created_on: '2026-01-01T00:00:00Z', author_email: 'you@example.com', source: 'wrangler' },
    annotations: { 'workers/triggered_by': 'upload', ...worker.metadata?.annotations },
    resources: {
      script: { etag: 'e', handlers: ['fetch'] },
      script_runtime: {},
      bindings: [
        ...worker.bindings,
        ...[...worker.secrets.keys()].map((secret) => ({ type: 'secret_text', name: secret })),
      ],
    },
  });
  if (kind === 'services')
    return {
      result: {
        id: name,
        default_environment: {
          environment: 'production',
          script: {
            id: name,
            tag: 'tag1',
            tags: null,
            last_deployed_from: 'wrangler',
            migration_tag: worker.metadata?.migrations?.new_tag,
          },
        },
      },
    };
  if (action === 'secrets' && method === 'GET')
    return { result: [...worker.secrets.keys()].map((secret) => ({ name: secret, type: 'secret_text' })) };
  if (action === 'secrets-bulk') {
    for (const [secret, value] of Object.entries(JSON.parse(body).secrets))
      worker.secrets.set(secret, value.text);
    return { result: {} };
  }
  if (action === 'deployments' && method === 'POST') return { result: { id: 'd' } };
  if (action === 'versions' && method === 'POST') {
    const refused = upload(account, name, body);
    return refused.code ? refused : { result: version() };
  }
  if (action === 'deployments')
    return {
      result: {
        deployments: [
          {
            id: 'd',
            source: 'wrangler',
            strategy: 'percentage',
            author_email: 'you@example.com',
            created_on: '2026-01-01T00:00:00Z',
            versions: [{ version_id: version().id, percentage: 100 }],
          },
        ],
      },
    };
  if (action === 'versions') return { result: detail ? version() : { items: [version()] } };
  if (action === 'schedules') {
    if (method === 'PUT') worker.crons = JSON.parse(body);
    return { result: { schedules: worker.crons } };
  }
  if (action === 'subdomain')
    return { result: { enabled: method === 'POST' || worker.uploads > 1, previews_enabled: false } };
  if (action === 'bindings') return { result: worker.bindings };
  if (action === 'script-settings' || action === 'settings')
    return { result: { bindings: worker.bindings, tags: [], logpush: false } };
  if (!action && method === 'GET') return { result: [] };
  return NOT_FOUND(`Could not route to ${action}`, 7003);
}

/** The upload is multipart; its metadata names bindings, and which secrets are to be kept. */
function upload(account, name, body) {
  const metadata = JSON.parse(
    /name="metadata"[^\r]*\r\n(?:[^\r]+\r\n)*\r\n([\s\S]*?)\r\n--/.exec(body)?.[1] ?? '{}',
  );
  const existing = account.workers.get(name);
  const held = existing?.secrets ?? new Map();
  const old = existing?.bindings ?? [];
  const given = metadata.bindings ?? [];
  if (given.some(({ type }) => type === 'assets') && metadata.assets?.jwt !== 'upload-complete')
    return { status: 400, code: 10021, message: 'the files of assets were not uploaded' };
  const lost = given.filter(
    ({ type, name: one }) =>
      type === 'inherit' && !held.has(one) && !old.some((binding) => binding.name === one),
  );
  if (lost.length > 0)
    return { status: 400, code: 10057, message: `inherit binding '${lost[0].name}' is invalid` };
  const before = existing?.metadata?.migrations?.new_tag;
  if (before && metadata.migrations && metadata.migrations.old_tag !== before)
    return { status: 412, code: 10079, message: 'Migration tag precondition failed' };
  account.workers.set(name, {
    secrets: held,
    uploads: (existing?.uploads ?? 0) + 1,
    crons: existing?.crons ?? [],
    bindings: given.flatMap((binding) =>
      binding.type === 'inherit' ? old.filter(({ name }) => name === binding.name) : [binding],
    ),
    metadata: { ...existing?.metadata, ...metadata },
  });
  return {
    result: {
      id: name,
      tag: 'tag1',
      etag: 'e',
      deployment_id: 'abc',
      pipeline_hash: 'h',
      mutable_pipeline_id: 'm',
      startup_time_ms: 12,
      entry_point: 'index.js',
      size: body.length,
    },
  };
}
