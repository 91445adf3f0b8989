// Credentials, members, teams, grants, and access checks.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { scopeGroups } from '../../src/session/scopes.ts';
import {
  executablePath,
  expectQuiet,
  newPerson,
  openNavigation,
  type Person,
  useBrowser,
} from '../support/person.ts';

describe.skipIf(!executablePath)('console: access', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('credentials show their risks, and are found by name, by risk and by last use', async () => {
    const { page, go, api } = ann;
    await api('POST', '/api-keys', { name: 'risky deploy', scopes: ['secrets:read'] });
    const ends = new Date(Date.now() + 86_400_000).toISOString();
    await api('POST', '/api-keys', { name: 'brief deploy', scopes: ['secrets:read'], expires_at: ends });
    await go('/credentials', 'Credentials');
    const names = () => page.locator('.table-row .row-link').allTextContents();
    await page.getByRole('searchbox', { name: 'Name, hint or ID' }).fill('deploy');
    await expect.poll(async () => (await names()).length).toBe(2);
    await page.getByRole('combobox', { name: 'Risk' }).selectOption('no_expiry');
    await expect.poll(async () => (await names()).join()).toMatch(/^risky deploy[^,]*no expiry/);
    await page.getByRole('combobox', { name: 'Risk' }).selectOption('unused');
    await page.getByText('No credentials found').waitFor();
    await go('/credentials?sort=used', 'Credentials');
    // The key that the test calls with was used last.
    await expect.poll(async () => (await names())[0]).not.toMatch(/deploy/);
    expectQuiet(ann);
  });

  it('an API key starts with minimal scopes, and its token is shown once', async () => {
    const { page, go, api, url } = ann;
    await go('/credentials', 'Credentials');
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('billing worker');
    await dialog.getByLabel('Secret names').fill('billing/*');
    await dialog.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('heading', { name: 'API key created' }).waitFor();
    const token = (await page.locator('.copyable code').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForSelector('h1:text-is("billing worker")');
    expect(await page.content()).not.toContain(token);
    expect(page.url()).not.toContain(token);
    const who = await (
      await fetch(`${url}/api/v1/whoami`, { headers: { Authorization: `Bearer ${token}` } })
    ).json();
    expect(who).toMatchObject({
      scopes: ['secrets:read'],
      environments: ['development'],
      secrets: ['billing/*'],
    });
    expect(Date.parse(who.expires_at)).toBeLessThan(Date.now() + 31 * 86_400_000);
    expect((await api('GET', `/api-keys/${who.id}`)).name).toBe('billing worker');
    expectQuiet(ann);
  });

  it('an API key for AWS clients shows its access key once, and its successor another one', async () => {
    const { page, go, api } = ann;
    await go('/credentials', 'Credentials');
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('aws reports');
    await dialog.getByLabel('For AWS clients').check();
    await dialog.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('heading', { name: 'API key created' }).waitFor();
    const [token, id, secret] = await page.locator('.copyable code').allTextContents();
    expect([token, id, secret]).toEqual([
      expect.stringMatching(/^svc_live_/),
      expect.stringMatching(/^SVCA[A-Z2-7]{72}$/),
      expect.stringMatching(/^[A-Za-z0-9+/]{40}$/),
    ]);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForSelector('h1:text-is("aws reports")');
    for (const shown of [token, id, secret]) expect(await page.content()).not.toContain(shown);
    const [, key] = /(key_\w+)/.exec(page.url()) ?? [];
    expect((await api('GET', `/api-keys/${key}`)).aws).toEqual({
      access_key_id: null,
      secret_access_key: null,
    });
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate API key' }).click();
    await page.getByRole('heading', { name: 'New API key' }).waitFor();
    const next = await page.locator('.copyable code').allTextContents();
    expect(next).toHaveLength(3);
    expect(next).not.toContain(id);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expectQuiet(ann);
  });

  it('exactly the scopes of the service are offered', async () => {
    const { api } = ann;
    const scopes = scopeGroups.flatMap(({ resource, scopes }) =>
      scopes.map(([verb]) => `${resource}:${verb}`),
    );
    const made = await api('POST', '/api-keys', { name: 'all scopes', scopes });
    expect(made.scopes).toHaveLength(scopes.length);
  });

  it('a graph shows parents, children and access of a credential; the revoke dialog lists what else is revoked', async () => {
    const { page, go, api, url, org } = ann;
    await api('POST', '/secrets', {
      name: 'billing/KEY',
      type: 'generic',
      value: 'x',
      environment: 'staging',
    });
    const key = await api('POST', '/api-keys', {
      name: 'parent key',
      scopes: ['secrets:read'],
      environments: ['staging'],
    });
    const session = await fetch(`${url}/api/v1/orgs/${org}/access-tokens`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ttlSeconds: 3600 }),
    });
    expect(session.status).toBe(201);
    const { token } = await session.json();
    const { data } = await api('GET', '/secrets?environment=staging&prefix=billing/KEY');
    await fetch(`${url}/api/v1/orgs/${org}/secrets/${data[0].id}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    await go(`/credentials/${key.id}`, 'parent key');
    const graph = page.locator('.graph');
    await graph.getByText('1 secret', { exact: true }).waitFor();
    await graph.getByText('Session token').waitFor();
    await graph.getByText('first key').waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Also revoked').waitFor();
    const affected = page.getByRole('region', { name: 'Affected' });
    await affected.getByText('1 secret', { exact: true }).waitFor();
    await affected.getByRole('link', { name: 'billing/KEY' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke API key' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    for (const bearer of [key.token, token])
      expect(
        (await fetch(`${url}/api/v1/whoami`, { headers: { Authorization: `Bearer ${bearer}` } })).status,
      ).toBe(401);
    expectQuiet(ann);
  });

  it('the blast radius of a key, and of the member who made it, is what it could and did read until a time', async () => {
    const { page, go, api, url, org } = ann;
    const environment = 'development';
    const { id } = await api('POST', '/secrets', {
      name: 'blast/A',
      type: 'generic',
      value: 'x',
      environment,
    });
    await api('POST', '/secrets', { name: 'blast/B', type: 'generic', value: 'x', environment });
    const limits = { scopes: ['secrets:read'], environments: [environment], secrets: ['blast/*'] };
    const key = await api('POST', '/api-keys', { name: 'blast key', ...limits });
    await fetch(`${url}/api/v1/orgs/${org}/secrets/${id}`, {
      headers: { Authorization: `Bearer ${key.token}` },
    });
    const asked = new Set<string>();
    // The page before follows what was done.
    await page.goto('about:blank');
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.includes('/api/v1/') && !pathname.endsWith('/events/stream')) asked.add(pathname);
    });
    await go(`/blast/${key.id}`, 'Blast radius of blast key');
    const place = page.getByRole('region', { name: environment });
    await place.getByText('1 of 2 secrets read or used').waitFor();
    await place.getByRole('link', { name: 'blast/A' }).waitFor();
    expect(asked.size, [...asked].join(' ')).toBeLessThanOrEqual(6);
    page.removeAllListeners('request');
    await page.getByRole('slider').focus();
    await page.keyboard.press('Home');
    await place.getByText('0 of 2 secrets read or used').waitFor();
    await page.keyboard.press('End');
    await place.getByText('1 of 2 secrets read or used').waitFor();
    const { data } = await api('GET', '/members');
    await go(`/blast/${data[0].id}`, `Blast radius of ${data[0].name}`);
    await page.getByRole('radio', { name: /^first key/ }).waitFor();
    await page
      .getByRole('region', { name: 'Credentials below it' })
      .getByRole('link', { name: 'blast key' })
      .waitFor();
    expectQuiet(ann);
  });

  it('the dialog that revokes a credential counts what it used, and is not green if the log has gaps', async () => {
    const { page, go, api } = ann;
    const agent = await api('POST', '/agent-credentials', { name: 'caller', scopes: ['secrets:use'] });
    const time = new Date().toISOString();
    const used = [{ secret_id: 'sec_used', name: 'USED', environment: 'production', version: 1, time }];
    const dialog = page.getByRole('dialog');
    const revoking = async (report: object) => {
      await page.route('**/contain', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), ...report } });
      });
      await go(`/credentials/${agent.id}`, 'caller');
      await page.getByRole('button', { name: 'Revoke' }).click();
    };
    await revoking({ used });
    await dialog.getByText('1 secret', { exact: true }).waitFor();
    await dialog.getByRole('link', { name: 'USED' }).waitFor();
    await page.unroute('**/contain');
    await revoking({ gaps: [{ from: 1, to: 2 }] });
    await dialog.getByText('Parts of the audit log are missing').waitFor();
    expect(await dialog.locator('.note.good').count()).toBe(0);
    await page.unroute('**/contain');
    expectQuiet(ann);
  });

  it('a rotated API key has a successor, and the old key stays valid for the chosen time', async () => {
    const { page, go, api, url } = ann;
    const key = await api('POST', '/api-keys', { name: 'rotated key', scopes: ['secrets:read'] });
    await go(`/credentials/${key.id}`, 'rotated key');
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('Old key stays valid for').selectOption('0');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate API key' }).click();
    await page.getByRole('heading', { name: 'New API key' }).waitFor();
    const token = await page.locator('.copyable code').textContent();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    const statusOf = async (bearer: unknown) =>
      (await fetch(`${url}/api/v1/whoami`, { headers: { Authorization: `Bearer ${bearer}` } })).status;
    expect([await statusOf(key.token), await statusOf(token)]).toEqual([401, 200]);
    expectQuiet(ann);
  });

  it('an agent is changed, and a break-glass token needs a reason', async () => {
    const { page, go, api } = ann;
    const agent = await api('POST', '/agent-credentials', {
      name: 'assistant',
      scopes: ['secrets:read'],
      environments: ['development'],
    });
    await go(`/credentials/${agent.id}`, 'assistant');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Requests per minute').fill('7');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('assistant saved').waitFor();
    expect(await api('GET', `/agent-credentials/${agent.id}`)).toMatchObject({
      rate_limit: 7,
      scopes: ['secrets:read'],
    });
    await go('/credentials?tab=break_glass', 'Credentials');
    await page.getByRole('button', { name: 'New break-glass token' }).click();
    await page.getByLabel('Reason').fill('database is down, nobody else is here');
    await page.getByRole('button', { name: 'Create break-glass token' }).click();
    await page.getByRole('heading', { name: 'Break-glass token created' }).waitFor();
    expect((await api('GET', '/break-glass-tokens')).data).toHaveLength(1);
    expectQuiet(ann);
  });

  it('a provider token can only issue by default, and a session token is revoked from the list of live ones', async () => {
    const { page, go, api, url, org } = ann;
    await go('/credentials?tab=provider', 'Credentials');
    await page.getByRole('button', { name: 'New provider token' }).click();
    await page.getByLabel('Name', { exact: true }).fill('mail provider');
    await page.getByRole('button', { name: 'Create provider token' }).click();
    await page.getByRole('heading', { name: 'Provider token created' }).waitFor();
    expect((await api('GET', '/provider-tokens')).data[0]).toMatchObject({
      scopes: ['issue'],
      environments: ['development'],
    });
    const key = await api('POST', '/api-keys', { name: 'session maker', scopes: ['secrets:read'] });
    const bearer = (token: string) => ({
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
    });
    const body = JSON.stringify({ ttlSeconds: 3600 });
    const made = await fetch(`${url}/api/v1/orgs/${org}/access-tokens`, {
      method: 'POST',
      headers: bearer(key.token),
      body,
    });
    const { token } = await made.json();
    await go('/credentials?tab=session', 'Credentials');
    await page.getByRole('link', { name: 'Session of session maker' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke session token' }).click();
    await page.getByText('Session of session maker revoked').waitFor();
    expect((await fetch(`${url}/api/v1/whoami`, { headers: bearer(token) })).status).toBe(401);
    expect((await fetch(`${url}/api/v1/whoami`, { headers: bearer(key.token) })).status).toBe(200);
    expectQuiet(ann);
  });

  it('a trust accepts the jobs of one branch of a repository, and is changed in place', async () => {
    const { page, go, api } = ann;
    await go('/credentials?tab=trust', 'Credentials');
    await page.getByRole('button', { name: 'New trust' }).click();
    await page.getByLabel('Name', { exact: true }).fill('deploy of acme/app');
    await page.getByLabel('Repository').fill('acme/app');
    await page.getByLabel('Branch').fill('main');
    await page.getByLabel('Owner ID').fill('65');
    await page.getByRole('button', { name: 'Create trust' }).click();
    await page.waitForSelector('h1:text-is("deploy of acme/app")');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('deploy');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.waitForSelector('h1:text-is("deploy")');
    const [trust] = (await api('GET', '/trusts')).data;
    expect(trust).toMatchObject({
      scopes: ['secrets:read'],
      environments: ['development'],
      ttlSeconds: 900,
      jwks: null,
    });
    expect(trust.claims).toEqual({
      repository: 'acme/app',
      repository_owner_id: '65',
      ref: 'refs/heads/main',
      event_name: ['push', 'workflow_dispatch'],
    });
    expectQuiet(ann);
  });

  it('a trust of Workers shows the lines of their binding, and is changed in place', async () => {
    const { page, go, api } = ann;
    await go('/credentials?tab=trust', 'Credentials');
    await page.getByRole('button', { name: 'New trust' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Workers');
    await dialog.getByLabel('Platform').selectOption({ label: 'Cloudflare Workers' });
    await dialog.getByText('Whoever may deploy Workers to the account').waitFor();
    expect(await dialog.getByLabel('Session token lifetime').count()).toBe(0);
    await dialog.getByLabel('Workers', { exact: true }).fill('billing-*, mail');
    await dialog.getByRole('button', { name: 'Create trust' }).click();
    await page.waitForSelector('h1:text-is("Workers")');
    const trust = (await api('GET', '/trusts')).data.find(({ name }: { name: string }) => name === 'Workers');
    expect(trust).toMatchObject({
      issuer: 'cloudflare:service-binding',
      claims: { name: ['billing-*', 'mail'] },
      scopes: ['secrets:read'],
      environments: ['development'],
    });
    await page.getByText(`props = { org = "${ann.org}", trust = "${trust.id}", name = "mail" }`).waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByLabel('Workers', { exact: true }).fill('mail');
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Workers saved').waitFor();
    expect((await api('GET', `/trusts/${trust.id}`)).claims).toEqual({ name: 'mail' });
    // A colleague's pattern adds nothing to what is copied.
    await api('PATCH', `/trusts/${trust.id}`, { claims: { name: ['x", org = "y', 'mail'] } });
    await page.getByText('name: x", org = "y').waitFor();
    await page.getByText(`trust = "${trust.id}", name = "mail" }`).waitFor();
    await go('/members', 'Members');
    await api('DELETE', `/trusts/${trust.id}`);
    expectQuiet(ann);
  });

  it('a trust whose audiences are emptied accepts the audience of the deployment again', async () => {
    const { page, go, api } = ann;
    const terms = {
      issuer: 'https://token.actions.githubusercontent.com',
      claims: { repository: 'acme/web', repository_owner_id: '65' },
    };
    const by = { ...terms, scopes: ['secrets:read'], environments: ['development'] };
    const usual = await api('POST', '/trusts', { ...by, name: 'usual' });
    const own = await api('POST', '/trusts', { ...by, name: 'own', audiences: ['https://own.example.com'] });
    await go(`/credentials/${own.id}`, 'own');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Audiences').fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('own saved').waitFor();
    expect((await api('GET', `/trusts/${own.id}`)).audiences).toEqual(usual.audiences);
    // The page of a deleted trust would read it again.
    await go('/members', 'Members');
    for (const { id } of [usual, own]) await api('DELETE', `/trusts/${id}`);
    expectQuiet(ann);
  });

  it('a colleague is invited with a link that is shown once, and enrols', async () => {
    const { page, go, api, key, org, url } = ann;
    await go('/members', 'Members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Bo');
    await dialog.getByLabel('E-mail address').fill('bo@example.com');
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByRole('heading', { name: 'Enrolment link for Bo' }).waitFor();
    const enrolment = (await page.locator('.copyable code').textContent()) ?? '';
    expect(enrolment.startsWith(url)).toBe(true);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForSelector('h1:text-is("Bo")');
    expect(await page.content()).not.toContain(enrolment.split('#')[1]);
    const bo = await newPerson({ invited: { org, key, enrolmentUrl: enrolment } });
    const found = (await api('GET', '/members')).data.find(
      ({ email }: { email: string }) => email === 'bo@example.com',
    );
    expect(found).toMatchObject({ role: 'viewer', status: 'active' });
    await bo.go('');
    await openNavigation(bo.page);
    expect(await bo.page.getByRole('navigation', { name: 'Console' }).textContent()).not.toContain('Members');
    await bo.go('/members');
    await bo.page.getByText('members:read').waitFor();
    expect(await bo.page.getByRole('button', { name: 'Invite member' }).count()).toBe(0);
    // A new role applies as soon as they are back at the page, without a reload.
    await bo.go('/secrets', 'Secrets');
    await api('PATCH', `/members/${found.id}`, { role: 'developer' });
    await bo.page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 61_000;
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await bo.page.getByRole('button', { name: 'New secret' }).waitFor();
    await bo.context.close();
    expectQuiet(ann);
  });

  slow('members start at the overview, whatever their role shows them', async () => {
    const { api, org, key } = await newPerson();
    for (const role of ['viewer', 'auditor']) {
      const invited = await api('POST', '/members', { name: role, email: `${role}@example.com`, role });
      const member = await newPerson({ invited: { org, key, enrolmentUrl: invited.enrolment_url } });
      await member.go('', 'Overview');
      expect(await member.page.getByText('You do not have access').count()).toBe(0);
      expect(await member.page.getByText('All clear').isVisible()).toBe(true);
      await member.context.close();
    }
  });

  it('a member is invited to one environment, is offered nothing outside it, and is given another', async () => {
    const { page, go, api, key, org } = ann;
    await go('/members', 'Members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Lim');
    await dialog.getByLabel('E-mail address').fill('lim@example.com');
    await dialog.getByRole('radio', { name: /^Admin/ }).check();
    await dialog.getByText('All environments').click();
    expect(
      await dialog
        .getByRole('group', { name: 'Environments' })
        .getByRole('checkbox', { checked: true })
        .count(),
    ).toBe(1);
    await dialog.getByRole('radio', { name: /^Owner/ }).check();
    expect(await dialog.getByText('All environments').count()).toBe(0);
    await dialog.getByRole('radio', { name: /^Admin/ }).check();
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByRole('heading', { name: 'Enrolment link for Lim' }).waitFor();
    const enrolmentUrl = (await page.locator('.copyable code').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForSelector('h1:text-is("Lim")');
    const found = (await api('GET', '/members')).data.find(
      ({ email }: { email: string }) => email === 'lim@example.com',
    );
    expect(found).toMatchObject({ role: 'admin', environments: ['development'] });
    const lim = await newPerson({ invited: { org, key, enrolmentUrl } });
    await lim.go('/secrets', 'Secrets');
    await lim.page.getByRole('button', { name: 'New secret' }).click();
    const stored = lim.page.getByRole('dialog', { name: 'New secret' });
    expect(await stored.getByLabel('Environment').locator('option').allTextContents()).toEqual([
      'development',
    ]);
    await stored.getByRole('button', { name: 'Cancel' }).click();
    for (const [at, heading, button] of [
      ['/members', 'Members', 'Invite member'],
      ['/policies', 'Policies', 'New policy'],
      ['/settings?tab=environments', 'Settings', 'New environment'],
    ] as const) {
      await lim.go(at, heading);
      expect(await lim.page.getByRole('button', { name: button }).count()).toBe(0);
    }
    await lim.go('/webhooks');
    await lim.page.getByText('webhooks:read').waitFor();
    // Another environment.
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByText('staging', { exact: false }).first().click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('development, staging').waitFor();
    await lim.context.close();
    expectQuiet(ann);
  });

  it('an access check explains access by a grant to a team, and its absence without the grant', async () => {
    const { page, go, api } = ann;
    const member = await api('POST', '/members', { name: 'Cleo', email: 'cleo@example.com', role: 'viewer' });
    await go('/teams', 'Teams');
    await page.getByRole('button', { name: 'New team' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Payments');
    await page.getByRole('button', { name: 'Create team' }).click();
    await page.waitForSelector('h1:text-is("Payments")');
    await page.getByRole('button', { name: 'Add member' }).click();
    await page.getByLabel('Member', { exact: true }).selectOption(member.id);
    await page.getByRole('button', { name: 'Add to team' }).click();
    await page.getByRole('link', { name: 'Cleo' }).waitFor();
    await page.getByRole('button', { name: 'New grant' }).click();
    await page.getByLabel('Secret names').fill('billing/*');
    await page.getByRole('button', { name: 'Create grant' }).click();
    await page.getByText('Grant created').waitFor();
    await go(`/members/${member.id}?in=development&secret=billing/KEY`, 'Cleo');
    await page.getByText('Yes.').waitFor();
    await page.locator('.verdict').getByRole('link', { name: 'Payments' }).waitFor();
    await go(`/members/${member.id}?in=production&secret=billing/KEY`, 'Cleo');
    await page.getByText('No.').waitFor();
    await go('/grants', 'Grants');
    await page.getByRole('button', { name: 'Remove grant of Payments' }).click();
    await page
      .getByRole('heading', { name: 'Remove the grant of Payments to read in development · billing/*?' })
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove grant' }).click();
    await page.getByText('No grants').waitFor();
    expect((await api('GET', '/grants')).data).toEqual([]);
    expectQuiet(ann);
  });

  it('a member is removed together with the credentials they created', async () => {
    const { page, go, api } = ann;
    const member = await api('POST', '/members', {
      name: 'Dana',
      email: 'dana@example.com',
      role: 'developer',
    });
    await go(`/members/${member.id}`, 'Dana');
    // Another than the inviter ends the enrolment link, and is told.
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Viewer').check();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Their enrolment link no longer works. Create a new one.').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove member' }).click();
    await page.getByLabel('Also revoke credentials').check();
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.waitForSelector('h1:text-is("Members")');
    expect((await api('GET', '/members')).data.some(({ name }: { name: string }) => name === 'Dana')).toBe(
      false,
    );
    expectQuiet(ann);
  });

  it('a domain shows its record to copy, and says that the record was not found', async () => {
    const { page, go, api } = ann;
    await go('/sso', 'Single sign-on');
    await page.getByRole('button', { name: 'Add domain' }).click();
    const field = page.getByRole('dialog').getByRole('textbox', { name: 'Domain' });
    await field.fill('*.example.com');
    await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
    await page.locator('.field-error').waitFor();
    await field.fill('acme-people.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
    await page.getByRole('heading', { name: 'Verify acme-people.example' }).waitFor();
    const [{ record }] = (await api('GET', '/domains')).data;
    for (const text of [record.type, record.name, record.value])
      await page.getByRole('dialog').getByText(text, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy Value' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(record.value);
    await page.getByRole('button', { name: 'Cancel' }).click();
    expectQuiet({ ...ann, said: ann.said.splice(0).filter((text) => !text.includes('400')) });
  });

  it('a connection is made, shows its addresses, warns before it is required, and is deleted', async () => {
    const { page, go, api, url } = ann;
    const provider = http.createServer((request, response) => {
      const issuer = `http://${request.headers.host}`;
      const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
      const document = {
        issuer,
        ...Object.fromEntries(endpoints.map((name) => [name, `${issuer}/${name}`])),
      };
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(document));
    });
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
    await go('/sso', 'Single sign-on');
    await page.getByRole('button', { name: 'New connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Okta');
    await dialog.getByLabel('Issuer').fill(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
    await dialog.getByLabel('Client ID').fill('svc');
    await dialog.getByLabel('Client secret').fill('a-client-secret');
    await dialog.getByLabel('acme-people.example').check();
    await dialog.getByLabel('The default role holds in all environments').uncheck();
    const roles = dialog.getByRole('group', { name: 'Roles by group' });
    await roles.getByRole('button', { name: 'Add group' }).click();
    await roles.getByLabel('Group', { exact: true }).fill('ops');
    await roles.getByLabel('Role').selectOption('admin');
    await roles.getByRole('button', { name: 'Add group' }).click();
    await roles.getByRole('button', { name: 'Remove group', exact: true }).click();
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    await page.getByRole('heading', { name: 'Register at Okta' }).waitFor();
    provider.close();
    const [made] = (await api('GET', '/sso-connections')).data;
    expect(made).toMatchObject({
      enforce: false,
      default_environments: [expect.any(String)],
      role_mappings: [{ group: 'ops', role: 'admin' }],
    });
    await dialog.getByText(`${url}/sso/callback`, { exact: true }).waitFor();
    await dialog.getByText(`${url}/sso/${made.id}/logout`, { exact: true }).waitFor();
    expect(await page.content()).not.toContain('a-client-secret');
    await dialog.getByRole('button', { name: 'Done' }).click();

    const choose = async (item: string) => {
      await page.getByRole('button', { name: 'Actions for Okta' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await choose('Edit');
    await dialog.getByLabel('Require it for members of the domains').check();
    await dialog.getByText('signed out immediately').waitFor();
    await dialog.getByRole('button', { name: 'Save and require' }).click();
    await page.getByText('Required', { exact: true }).waitFor();
    expect((await api('GET', '/sso-connections')).data[0].enforce).toBe(true);
    await page.route(`${made.issuer}/**`, (route) => route.fulfill({ body: 'the provider' }));
    await choose('Test sign-in');
    await page.getByText('the provider').waitFor();
    expect(new URL(page.url()).searchParams.get('redirect_uri')).toBe(`${url}/sso/callback`);
    await go('/sso', 'Single sign-on');
    await choose('Delete');
    await dialog.getByRole('button', { name: 'Delete connection' }).click();
    await page.getByText('No connections yet').waitFor();
    expectQuiet(ann);
  });

  it('a SCIM token is shown once, works, and is revoked', async () => {
    const { page, go, url, org } = ann;
    await go('/sso', 'Single sign-on');
    await page.getByRole('button', { name: 'New SCIM token' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Entra ID');
    await page.getByLabel('Also end credentials').check();
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('heading', { name: 'SCIM token created' }).waitFor();
    const [token, base] = await page.locator('.copyable code').allTextContents();
    expect(base).toBe(`${url}/scim/v2/${org}`);
    const users = () => fetch(`${base}/Users`, { headers: { Authorization: `Bearer ${token}` } });
    expect((await users()).status).toBe(200);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(token);
    // Nobody invited whom it makes, and no link of theirs has ended.
    const made = await fetch(`${base}/Users`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ userName: 'zed@example.com', name: { givenName: 'Zed', familyName: 'Ex' } }),
    });
    expect(made.status).toBe(201);
    await go(`/members/${(await made.json()).id}`, 'Zed Ex');
    await page.getByText('Not signed in yet').waitFor();
    await page.getByRole('link', { name: /^SCIM token/ }).waitFor();
    await go('/sso', 'Single sign-on');
    await page.getByRole('button', { name: 'Actions for Entra ID' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke token' }).click();
    await page.getByText('No SCIM tokens yet').waitFor();
    expect((await users()).status).toBe(401);
    expectQuiet(ann);
  });

  it('an owner frees the links of a member to identity providers', async () => {
    const { page, go, api } = ann;
    const member = await api('POST', '/members', { name: 'Lin', email: 'lin@example.com', role: 'viewer' });
    await go(`/members/${member.id}`, 'Lin');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Free links of single sign-on' }).click();
    await page.getByRole('button', { name: 'Free links' }).click();
    await page.getByText('Lin links anew at the next sign-in').waitFor();
    const { data } = await api('GET', '/audit-log?action=member.unlink');
    expect(data).toMatchObject([{ outcome: 'success', resource: member.id }]);
    expectQuiet(ann);
  });
});
