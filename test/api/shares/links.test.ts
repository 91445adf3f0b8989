// Links: what they show, how often, and how they end.
import { expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { evict } from '../../support/gate';
import { newLink, view } from '../../support/shares';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

it('share link: shows name, version and value, as often as it may', async () => {
  const o = await newOrg();
  const secret = await newSecret(o, { name: 'app/db', value: 'välue\n"1"' });
  const { json, status } = await o.post(`/secrets/${secret.id}/share`, {
    kind: 'link',
    expires_in: 60,
    max_views: 2,
  });
  expect(status).toBe(201);
  expect(Object.keys(json).sort()).toEqual(['expires_at', 'id', 'url']);
  expect(json.url).toMatch(new RegExp(`^http://localhost(:\\d+)?/s/${json.id}#svcshare_[0-9A-Za-z]{60,}$`));
  expect(Date.parse(json.expires_at) - Date.now()).toBeGreaterThan(50_000);
  const link = { id: json.id, key: new URL(json.url).hash.slice(1) };
  const first = await view(link);
  expect([first.status, first.json]).toEqual([200, { name: 'app/db', version: 1, value: 'välue\n"1"' }]);
  expect((await view(link)).status).toBe(200);
  expect(codeOf(await view(link))).toEqual([410, 'SHARE_GONE']);
});

slow('share link: 100 parallel views of a link with 3 views give 3', async () => {
  const o = await newOrg();
  const link = await newLink(o, (await newSecret(o)).id, { max_views: 3 });
  const answers = await Promise.all(Array.from({ length: 100 }, () => view(link)));
  const of = (code: number) => answers.filter(({ status }) => status === code).length;
  expect([of(200), of(410)]).toEqual([3, 97]);
});

slow('share link: GET gives a page without data, and uses up no view', async () => {
  const o = await newOrg();
  const secret = await newSecret(o, { name: 'unseen-name', value: 'unseen-value' });
  const link = await newLink(o, secret.id, { max_views: 1 });
  const page = await send('GET', `/s/${link.id}`);
  const unknown = await send('GET', '/s/anything');
  expect(page.status).toBe(200);
  expect(page.text).toBe(unknown.text);
  expect(page.text).not.toMatch(/unseen-name|unseen-value/);
  expect(page.headers.get('content-security-policy')).toMatch(
    /default-src 'none'.*frame-ancestors 'none'.*script-src 'self'/,
  );
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await send('HEAD', `/s/${link.id}`)).status).toBe(200);
  const wrong = await send('PUT', `/s/${link.id}`);
  expect([codeOf(wrong), wrong.headers.get('allow')]).toEqual([
    [405, 'METHOD_NOT_ALLOWED'],
    'GET, HEAD, POST',
  ]);
  expect((await view(link)).status).toBe(200);
});

slow('share link: shows the version that was shared, under the present name', async () => {
  const o = await newOrg();
  const secret = await newSecret(o, { name: 'before', type: 'password', value: 'first' });
  const link = await newLink(o, secret.id);
  await o.post(`/secrets/${secret.id}/rotate`, { value: 'second' });
  await o.patch(`/secrets/${secret.id}`, { name: 'after' });
  expect((await view(link)).json).toEqual({ name: 'after', version: 1, value: 'first' });
  await evict(o);
  expect((await view(link)).json).toEqual({ name: 'after', version: 1, value: 'first' });
  expect((await newLink(o, secret.id).then(view)).json.value).toBe('second');
});

it('share link: POST with an Idempotency-Key creates one link, and shows its URL only to its creator', async () => {
  const o = await newOrg();
  const secret = await newSecret(o);
  const body = { kind: 'link', expires_in: 60, max_views: 1 };
  const call = (by: Caller = o) => by.post(`/secrets/${secret.id}/share`, body, { 'Idempotency-Key': 'one' });
  const first = await call();
  const again = await call();
  expect(again.json).toEqual(first.json);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await call((await newSession(o)).o)).json).toEqual({ ...first.json, url: null });
  expect((await o.get(`/secrets/${secret.id}/shares`)).json.data).toHaveLength(1);
});

it('permission: sharing needs secrets:share and secrets:read, for this secret', async () => {
  const o: Caller = await newOrg();
  const secret = await newSecret(o, { name: 'app/a' });
  const body = { kind: 'link', expires_in: 60, max_views: 1 };
  const by = async (fields: Record<string, unknown>) =>
    (await newKey(o, fields)).o.post(`/secrets/${secret.id}/share`, body);
  expect(codeOf(await by({ scopes: ['secrets:read'] }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  const unread = await by({ scopes: ['secrets:share'] });
  expect(codeOf(unread)).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect(unread.json.error.message).toContain('secrets:read');
  const both = ['secrets:share', 'secrets:read'];
  expect(codeOf(await by({ scopes: both, secrets: ['other/*'] }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect(codeOf(await by({ scopes: both, environments: ['staging'] }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect((await by({ scopes: both, secrets: ['app/*'] })).status).toBe(201);
  for (const fields of [
    { scopes: ['secrets:read'] },
    { scopes: ['secrets:share'] },
    { scopes: both, secrets: ['b'] },
  ])
    expect(
      codeOf(await (await newAgent(o, fields)).o.post(`/secrets/${secret.id}/share`, body)),
      JSON.stringify(fields),
    ).toEqual([403, 'SECRET_ACCESS_DENIED']);
  expect(
    (await (await newAgent(o, { scopes: both })).o.post(`/secrets/${secret.id}/share`, body)).status,
  ).toBe(201);
  expect(codeOf(await (await newOrg()).post(`/secrets/${secret.id}/share`, body))).toEqual([
    404,
    'NOT_FOUND',
  ]);
});

slow('validation: lifetimes, views and passphrases have bounds', async () => {
  const o = await newOrg();
  const { id } = await newSecret(o);
  const ok = { kind: 'link', expires_in: 60, max_views: 1 };
  const bad = [
    { expires_in: 59 },
    { expires_in: 604_801 },
    { max_views: 0 },
    { max_views: 101 },
    { max_views: 1.5 },
    { passphrase: '' },
    { passphrase: 'x'.repeat(257) },
    { kind: 'mail' },
    { permission: 'read' },
  ];
  for (const fields of bad)
    expect(
      codeOf(await o.post(`/secrets/${id}/share`, { ...ok, ...fields })),
      JSON.stringify(fields),
    ).toEqual([400, 'VALIDATION_FAILED']);
  for (const fields of [{ expires_in: 604_800 }, { max_views: 100 }, { passphrase: 'x' }])
    expect((await o.post(`/secrets/${id}/share`, { ...ok, ...fields })).status).toBe(201);
  expect(codeOf(await send('POST', `/s/${(await newLink(o, id)).id}`, { body: {} }))).toEqual([
    400,
    'VALIDATION_FAILED',
  ]);
});
