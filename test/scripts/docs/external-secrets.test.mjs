// The manifests of the guide to the External Secrets Operator, against the service. The test sends what the
// operator's webhook provider sends (its code: providers/v1/webhook): a GET of net/http, with `remoteRef`
// escaped for a query in the URL and unescaped in headers, and takes the value at `jsonPath`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { sharedService } from '../service.mjs';
import { slow } from '../slow.mjs';
import { blocksOf, read } from './markdown.mjs';

const GUIDE = 'docs/guides/external-secrets.md';
const VALUE = 'postgres://app:p@ss"word"\n@db/app';

/** @typedef {Record<string, Record<string, string>>} Data what a template names */
/** A template of Go with plain references. @param {string} template @param {Data} data */
const rendered = (template, data) =>
  template.replace(/\{\{ \.(\w+)\.(\w+) \}\}/g, (_, object, field) => {
    const value = data[object]?.[field];
    assert.ok(value !== undefined, `${object}.${field}`);
    return value;
  });

/** As url.QueryEscape of Go does. @param {string} text */
const queryEscaped = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * One request, byte for byte as net/http writes it.
 * @param {URL} base
 * @param {string} target
 * @param {Record<string, string>} headers
 */
const get = (base, target, headers) =>
  new Promise((done, fail) => {
    const all = { Host: base.host, 'User-Agent': 'Go-http-client/1.1', ...headers };
    const request = http.request(
      { host: base.hostname, port: base.port, path: target, headers: all },
      (response) => {
        const chunks = [];
        response.on('data', (data) => chunks.push(data));
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          const isZipped = response.headers['content-encoding'] === 'gzip';
          done({ status: response.statusCode, text: (isZipped ? gunzipSync(body) : body).toString() });
        });
      },
    );
    request.on('error', fail);
    request.end();
  });

it('external secrets: the manifests of the guide read a secret through the webhook provider', {
  ...slow(60_000),
}, async () => {
  const { dir, port } = await sharedService();
  const api = `http://127.0.0.1:${port}/api/v1`;
  const call = async (method, at, token, body) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const answer = await fetch(`${api}${at}`, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${method} ${at}: ${answer.status}`);
    return answer.status === 204 ? null : answer.json();
  };
  const [, bootstrap] =
    /^BOOTSTRAP_TOKEN=(.*)$/m.exec(fs.readFileSync(path.join(dir, '.dev.vars'), 'utf8')) ?? [];
  const { org, api_key } = await call('POST', '/orgs', bootstrap, {
    name: 'Acme',
    owner: { email: 'ann@example.com', name: 'Ann' },
  });
  const names = ['app/database-url', 'app/with.dot_and-dash'];
  for (const name of names)
    await call('POST', `/orgs/${org.id}/secrets`, api_key.token, { name, value: VALUE, type: 'generic' });
  const bounds = { scopes: ['secrets:read'], environments: ['production'], secrets: ['app/*'] };
  const { id, token } = await call('POST', `/orgs/${org.id}/api-keys`, api_key.token, {
    name: 'external secrets',
    ...bounds,
  });

  const [store, external] = blocksOf(read(GUIDE))
    .filter(({ language }) => language === 'yaml')
    .map(({ text }) => parse(text));
  const { url, headers, result, secrets } = store.spec.provider.webhook;
  assert.equal(external.spec.secretStoreRef.name, store.metadata.name);
  const credential = { [secrets[0].name]: { token } };
  const fetched = (key) => {
    const template = url.replace(/^https:\/\/[^/]+/, '').replace(/org_\w+/, org.id);
    const target = rendered(template, { ...credential, remoteRef: { key: queryEscaped(key) } });
    const data = { ...credential, remoteRef: { key } };
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, rendered(value, data)]),
    );
    return get(new URL(api), target, { ...sent, 'Accept-Encoding': 'gzip' });
  };
  assert.equal(result.jsonPath, '$.value');
  assert.equal(external.spec.data[0].remoteRef.key, names[0]);
  for (const name of names) {
    const { status, text } = await fetched(name);
    assert.deepEqual([status, JSON.parse(text).value], [200, VALUE]);
  }
  // The operator takes 404 for a deleted secret, and every other refusal for a failure that changes nothing.
  assert.equal((await fetched('app/none')).status, 404);
  assert.equal((await fetched('other/none')).status, 403);
  await call('DELETE', `/orgs/${org.id}/api-keys/${id}`, api_key.token);
  assert.equal((await fetched(names[0])).status, 401);
});
