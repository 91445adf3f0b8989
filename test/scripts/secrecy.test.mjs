// After a whole run of the real service not one byte of a value, a token or a key lies in any file of its
// state or in its log.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { copyOfProject, startService } from './service.mjs';

/** Every way in which a text may lie somewhere without being sealed. */
function spellings(text) {
  const bytes = Buffer.from(text);
  // At any of three offsets in something longer; the characters at the edges depend on what is beside it.
  const inBase64 = [0, 1, 2].map((pad) => {
    const spelled = Buffer.concat([Buffer.alloc(pad), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return spelled.slice(pad ? 2 + pad - 1 : 0, -2);
  });
  return [
    text,
    bytes.toString('hex'),
    ...inBase64,
    ...inBase64.map((spelled) => spelled.replaceAll('+', '-').replaceAll('/', '_')),
  ].map((spelled) => Buffer.from(spelled));
}

it('secrecy: the files and the log of a used vault hold no plaintext', { timeout: 150_000 }, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const master = service.variable('MASTER_KEYS').replace(/^[^:]*:/, '');
  const { json: founded } = await service.call('POST', '/orgs', bootstrap, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const key = founded.api_key.token;
  const at = `/orgs/${founded.org.id}`;
  const { json: secret } = await service.call('POST', `${at}/secrets`, key, {
    name: 'PASS',
    type: 'password',
    value: 'first-value-of-PASS-1234',
  });
  await service.call('PATCH', `${at}/secrets/${secret.id}`, key, { value: 'second-value-of-PASS-1234' });
  const rotated = await service.call(
    'POST',
    `${at}/secrets/${secret.id}/rotate`,
    key,
    {},
    { 'Idempotency-Key': 'rotate' },
  );
  const minted = await service.call(
    'POST',
    `${at}/access-tokens`,
    key,
    { ttlSeconds: 60 },
    { 'Idempotency-Key': 'mint' },
  );
  assert.deepEqual([rotated.status, minted.status], [200, 201]);
  const read = await service.call('GET', `${at}/environments/production/values`, minted.json.token);
  assert.equal(read.json.values.PASS, rotated.json.value);
  await service.call('POST', `${at}/secrets`, key, {
    name: 'bad name',
    type: 'generic',
    value: 'refused-value-0123456789',
  });
  await service.call('DELETE', `${at}/secrets/${secret.id}?permanent=true`, key);
  await service.stop();

  const state = path.join(dir, '.wrangler', 'state');
  const files = fs
    .readdirSync(state, { recursive: true, encoding: 'utf8' })
    .filter((name) => fs.statSync(path.join(state, name)).isFile());
  const places = new Map(files.map((name) => [name, fs.readFileSync(path.join(state, name))]));
  assert.ok(
    [...places.values()].filter((bytes) => bytes.includes(founded.org.id)).length >= 2,
    'the state is D1 and the gate',
  );
  places.set('the log', Buffer.from(service.said()));
  const needles = {
    'first value': 'first-value-of-PASS-1234',
    'second value': 'second-value-of-PASS-1234',
    'generated value': rotated.json.value,
    'refused value': 'refused-value-0123456789',
    'API key': key.slice('svc_live_'.length),
    'session token': minted.json.token.slice('svcsess_'.length),
    'bootstrap token': bootstrap,
    'master key': master,
    'master key, raw': Buffer.from(master, 'base64'),
  };
  for (const [what, text] of Object.entries(needles)) {
    assert.ok(text.length >= 16, what);
    for (const spelling of typeof text === 'string' ? spellings(text) : [text])
      for (const [place, bytes] of places) assert.ok(!bytes.includes(spelling), `${what} in ${place}`);
  }
});
