// The overview as home: the verdict, rows by urgency that lead to where one acts, activity, and few calls.
import { beforeAll, describe, expect, it } from 'vitest';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';
import { startTarget } from '../support/targets.ts';

describe.skipIf(!executablePath)('overview', () => {
  useBrowser();
  let ann: Person;

  beforeAll(async () => {
    if (!executablePath) return;
    ann = await newPerson();
    await ann.api('POST', '/secrets', { name: 'KEPT', type: 'generic', value: 'x' });
  });

  it('is home, and says that all is clear', async () => {
    const { page, go } = ann;
    await go('', 'Overview');
    await page.getByText('All clear').waitFor();
    await page.getByRole('img', { name: /requests? in seven days/ }).waitFor();
    expectQuiet(ann);
  });

  it('says what needs somebody, by urgency, and leads there by keyboard alone', async () => {
    const { page, go, api } = ann;
    await api('POST', '/secrets', { name: 'ENDS_SOON', type: 'generic', value: 'x', ttlSeconds: 86_400 });
    await api('POST', '/break-glass-tokens', { reason: 'the database is down' });
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/')) asked.push(new URL(request.url()).pathname);
    });
    await go('/overview', 'Overview');
    await page.getByText('2 things need you').waitFor();
    page.removeAllListeners('request');
    // Events of what was done before may have some of them repeated.
    const calls = new Set(asked.filter((path) => !path.endsWith('/events/stream')));
    expect(calls.size, [...calls].join(' ')).toBeLessThanOrEqual(6);
    expect(await page.locator('main h2').allTextContents()).toEqual([
      'Live break-glass tokens 1',
      'Secrets near their end 1',
      'Activity',
    ]);
    await page.getByRole('link', { name: 'Replace: ENDS_SOON' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:text-is("ENDS_SOON")');
    expectQuiet(ann);
  });

  it('follows what others do: a row goes once it needs nobody', async () => {
    const { page, go, api } = ann;
    await go('/overview', 'Overview');
    const row = page.getByText('the database is down');
    await row.waitFor();
    const { data } = await api('GET', '/break-glass-tokens');
    await api('DELETE', `/break-glass-tokens/${data[0].id}`);
    await row.waitFor({ state: 'detached' });
    await page.getByText('One thing needs you').waitFor();
    expectQuiet(ann);
  });

  it('acts in place by keyboard: revokes a token, closes an incident, rotates a secret', async () => {
    const { page, go, api } = ann;
    await api('POST', '/break-glass-tokens', { reason: 'a second emergency' });
    const { id } = await api('POST', '/api-keys', { name: 'leaked key', scopes: ['secrets:read'] });
    await api('POST', `/credentials/${id}/contain`, {});
    await go('/overview', 'Overview');
    const press = async (row: string, action: string) => {
      await page.getByRole('button', { name: row }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByRole('button', { name: action }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: row }).waitFor({ state: 'detached' });
    };
    await press('Revoke: a second emergency', 'Revoke break-glass token');
    await press('Close: leaked key', 'Close incident');
    const { data } = await api('GET', '/incidents');
    expect(data[0]).toMatchObject({ status: 'closed' });
    expect((await api('GET', '/break-glass-tokens')).data).toEqual([]);
    const secret = await api('POST', '/secrets', { name: 'OVERDUE', type: 'password', value: 'x' });
    // The hourly run finds what is overdue; the row is as it would make it.
    await page.route('**/api/v1/**/overview', async (route) => {
      const response = await route.fetch();
      const { id, name, environment, updated_at: time } = secret;
      const item = { id, name, kind: 'password', environment, time, detail: null };
      const overdue_secrets = { count: 1, data: [item] };
      await route.fulfill({ response, json: { ...(await response.json()), overdue_secrets } });
    });
    await go('/overview', 'Overview');
    await page.getByRole('button', { name: 'Rotate: OVERDUE' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.waitForSelector('h2:text-is("OVERDUE rotated")');
    await page.unrouteAll({ behavior: 'wait' });
    expect((await api('GET', `/secrets?id=${secret.id}`)).data[0].version).toBe(2);
    expectQuiet(ann);
  });

  it('a failed sync runs again after a preview, and its row goes once it works', async () => {
    const { page, go, navigate, api } = ann;
    const target = await startTarget();
    target.status = 403;
    const config = { apiServer: target.url, token: 'kube-token-1', namespace: 'demo', secretName: 'app' };
    const { id } = await api('POST', '/integrations', {
      kind: 'sync',
      platform: 'kubernetes',
      name: 'Cluster',
      environments: ['production'],
      config,
    });
    await api('POST', '/integrations/sync', { integrationId: id, environmentId: 'production' });
    await go('/overview', 'Overview');
    await page.getByRole('button', { name: 'Retry: Cluster' }).waitFor();
    // The list and the navigation say it too.
    await navigate('Syncs');
    await page
      .getByRole('table', { name: 'Connections' })
      .getByText('failing since')
      .filter({ visible: true })
      .waitFor();
    const hook = await api('POST', '/webhooks', { url: `${target.url}/hook`, events: ['MEMBER_ADDED'] });
    await api('POST', `/webhooks/${hook.id}/test`, {});
    await navigate('Webhooks');
    await page
      .getByRole('img', { name: 'Last 1 delivery: 1 failed', includeHidden: true })
      .waitFor({ state: 'attached' });
    await navigate('Overview');
    await page.getByRole('button', { name: 'Retry: Cluster' }).click();
    await page.getByRole('dialog').getByText('Would fail').first().waitFor();
    target.status = 200;
    await page.getByRole('button', { name: 'Preview again' }).click();
    expect(target.data).toEqual({});
    await page.getByRole('button', { name: /^Sync \d+ changes? to Kubernetes/ }).click();
    await page.getByText('All secrets are on Kubernetes.').waitFor();
    await go('/overview', 'Overview');
    await page
      .getByText(/things? needs? you|All clear/)
      .filter({ visible: true })
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: 'Retry: Cluster' }).count()).toBe(0);
    await target.stop();
    expectQuiet(ann);
  });

  it('the palette finds people and credentials, too', async () => {
    const { page, go, api } = ann;
    await api('POST', '/teams', { name: 'Payments' });
    await api('POST', '/api-keys', { name: 'payments worker', scopes: ['secrets:read'] });
    await go('/overview', 'Overview');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor();
    await page.keyboard.insertText('paym');
    await page.getByRole('option', { name: /^payments worker\s*Credential$/ }).waitFor();
    await page.getByRole('option', { name: /^Payments\s*Team$/ }).click();
    await page.waitForSelector('h1:text-is("Payments")');
    expectQuiet(ann);
  });
});
