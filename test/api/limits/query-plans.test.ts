// What D1 has to do for each statement that the service puts to it: a look into an index that begins with the
// organisation, never a walk over a table. With many organisations in one database anything else would cost
// all of them.
import { expect } from 'vitest';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newBreakGlass, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate, leaveRows, loseStorage, runTasksLater } from '../../support/gate';
import { addKeys, addPasskey, newGrant, newMember, newTeam } from '../../support/people';
import { invite, newBrowser, ORIGIN } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { DAY } from '../../support/time';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** Asked seldom, by an operator: how many keys there are. The deployment has one key, and two that sign. */
const WHOLE = /^select count\(\*\)|deployment_keys|signing_keys|select owner|count\(/i;

const later = (o: Caller, ms: number) => runTasksLater(o, ms, Number.MAX_SAFE_INTEGER);

/** A person enrols, signs in, adds a passkey and removes it, and signs out. */
async function signIn(o: Caller): Promise<void> {
  const { id, url } = await invite(o, 'viewer');
  const browser = newBrowser(await newPasskey(ORIGIN));
  await browser.enrol(url);
  await browser.login();
  await browser.refresh();
  const options = (await browser.o.post(`/members/${id}/passkeys/options`)).json;
  const added = await browser.o.post(`/members/${id}/passkeys`, {
    response: await (await newPasskey(ORIGIN)).create(options),
  });
  await browser.o.del(`/members/${id}/passkeys/${added.json.id}`);
  expect((await browser.logout()).status).toBe(204);
}

/** Everything that an org can be asked, and what its gate does by itself. */
async function tour(): Promise<void> {
  const o = await newOrg();
  const { id } = await newSecret(o, { type: 'password' });
  const other = await newSecret(o);
  const long = await newLongSecret(o);
  await o.patch(`/secrets/${long.id}`, { value: 'one more' });
  await o.get('');
  await o.patch(`/secrets/${id}`, { value: 'second', name: 'renamed' });
  await o.post(`/secrets/${id}/rotate`);
  await inGate(o, ({ core }) => ciphertexts(core).clear());
  await o.get(`/secrets/${id}`);
  await inGate(o, ({ core }) => ciphertexts(core).clear());
  await o.get('/environments/production/values');
  await o.post(`/secrets/${id}/rollback`, { version: 1 });
  await o.get(`/secrets/${id}/versions`);
  await o.del(`/secrets/${id}`);
  await o.post(`/secrets/${id}/restore`);
  await o.del(`/secrets/${other.id}?permanent=true`);
  const key = await newKey(o);
  const session = await newSession(key.o);
  await o.post(`/api-keys/${key.id}/rotate`, { overlap_seconds: 60 });
  await o.patch(`/api-keys/${key.id}`, { name: 'renamed' });
  await o.del(`/access-tokens/${session.id}`);
  await leaveRows(o, session.id);
  await session.o.get('/secrets');
  await o.del(`/access-tokens/${session.id}`);
  await o.del(`/api-keys/${key.id}`);
  const environment = (await o.post('/environments', { name: 'e' })).json.id;
  await o.patch(`/environments/${environment}`, { name: 'f' });
  await o.del(`/environments/${environment}`);
  await signIn(o);
  await o.patch('', { name: 'renamed' });
  const member = await newMember(o);
  const team = await newTeam(o, member.id);
  const grant = await newGrant(o, 'team', team);
  await o.patch(`/members/${member.id}`, { role: 'viewer' });
  await o.post(`/members/${member.id}/enrolments`);
  await o.patch(`/teams/${team}`, { name: 'renamed' });
  await o.del(`/grants/${grant.id}`);
  await o.del(`/teams/${team}/members/${member.id}`);
  await o.post(`/teams/${team}/members`, { member_id: member.id });
  await addPasskey(o, member.id);
  await newGrant(o, 'member', member.id);
  await addKeys(o, member.id, 12);
  await o.del(`/members/${member.id}?revoke_credentials=true`);
  await o.del(`/teams/${team}`);
  const leaked = await newKey(o);
  const reader = await newSession(leaked.o);
  await reader.o.get('/environments/production/values');
  await o.patch(`/secrets/${id}`, { name: 'renamed-again' });
  for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 100 }, () => o.get('/environments')));
  faults.fail = (kind) => (kind === 'batch' ? 'after' : null);
  await o.patch('', { name: 'again' });
  faults.fail = null;
  const again = await newKey(o);
  await later(o, 120_000);
  await again.o.get('/audit-log?action=secret.create');
  await again.o.get('/audit-log/verify');
  await newBreakGlass(again.o);
  await again.o.get('/compliance/report');
  await inGate(o, ({ core }) => core.rows.forget('credential', reader.id));
  await again.o.post(`/credentials/${leaked.id}/contain`, { rotate: 'generated' });
  await again.o.post(`/credentials/${leaked.id}/contain`, { since: new Date().toISOString() });
  await again.o.post('/panic', { reason: 'a drill' });
  await send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'a drill' } });
  await o.del(`/secrets/${id}`);
  await later(o, 8 * DAY);
  await loseStorage(o);
  await o.del('', { confirm: 'again' });
  await later(o, 8 * DAY);
}

slow('query plan: D1 finds every row by an index', { timeout: 120_000 }, async () => {
  await tour();
  const asked = [...faults.asked];
  expect(asked.length).toBeGreaterThan(30);
  const walks: string[] = [];
  for (const [sql, params] of asked) {
    if (WHOLE.test(sql)) continue;
    const { results } = await db
      .prepare(`explain query plan ${sql}`)
      .bind(...params)
      .all<{ detail: string }>();
    // A join with what is wanted has to look each one up: by its whole key, not by its organisation alone.
    const isJoin = results.some(({ detail }) => /^SCAN w\b/.test(detail));
    // How a subquery finds its own rows is a line of its own.
    const isWalk = (detail: string) =>
      /^SCAN (?!(w|json_each|CONSTANT)\b|\(subquery-\d+\)$)/.test(detail) ||
      (isJoin && /^SEARCH (?!fences\b).*\(org_id=\?\)$/.test(detail));
    for (const { detail } of results) if (isWalk(detail)) walks.push(`${detail}: ${sql}`);
  }
  expect(walks).toEqual([]);
});
