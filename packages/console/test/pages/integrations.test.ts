// Integrations in the console, against targets on this machine.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';
import { startTarget, type Target } from '../support/targets.ts';

describe.skipIf(!executablePath)('console: integrations', () => {
  useBrowser();
  let ann: Person;
  let target: Target;
  beforeAll(async () => {
    ann = await newPerson();
    target = await startTarget();
    await ann.api('POST', '/secrets', { name: 'DATABASE_URL', type: 'generic', value: 'postgres://db' });
    await ann.api('POST', '/secrets', { name: 'app/JWT', type: 'generic', value: 'signing-key' });
  });
  beforeEach(() => Object.assign(target, { status: 200, wait: null, data: {}, received: [] }));
  afterAll(() => target.stop());

  const cluster = (name: string) =>
    ann.api('POST', '/integrations', {
      kind: 'sync',
      platform: 'kubernetes',
      name,
      environments: ['production'],
      config: { apiServer: target.url, token: 'kube-token-1', namespace: 'demo', secretName: 'app' },
    });
  const stored = (text: string) => Buffer.from(text).toString('base64');

  slow('a sync shows a preview before it writes, and the result for each name afterwards', async () => {
    const { page, go, api } = ann;
    target.data = { OLD: stored('x'), DATABASE_URL: stored('older') };
    await go('/syncs/new?platform=kubernetes', 'Connect Kubernetes');
    await page.getByLabel('Name', { exact: true }).fill('Production cluster');
    await page.getByLabel('API server').fill(target.url);
    await page.getByLabel('Token').fill('kube-token-0');
    expect(await page.getByLabel('Token').getAttribute('type')).toBe('password');
    await page.getByLabel('Namespace').fill('demo');
    await page.getByLabel('Secret name').fill('app');
    await page.getByRole('button', { name: 'Store connection' }).click();
    await page.waitForSelector('h1:text-is("Production cluster")');
    expect(page.url()).not.toContain('kube-token');
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    const plan = page.getByRole('table', { name: 'Preview' });
    await plan.getByText('Would be created').waitFor();
    await plan.getByText('Would be updated').waitFor();
    expect(target.data.DATABASE_URL).toBe(stored('older'));
    await page.getByRole('button', { name: 'Sync 2 changes to Kubernetes' }).click();
    await page.getByText('All secrets are on Kubernetes.').waitFor();
    expect(target.data).toEqual({
      OLD: stored('x'),
      DATABASE_URL: stored('postgres://db'),
      app_JWT: stored('signing-key'),
    });
    const [connection] = (await api('GET', '/integrations')).data;
    expect(connection).toMatchObject({ environments: [expect.any(String)], auto: false, prune: false });
    expect(JSON.stringify(connection)).not.toContain('kube-token');
    expect(await page.content()).not.toMatch(/postgres:\/\/db|kube-token/);
    expectQuiet(ann);
  });

  it('an upstream is made from the catalogue, changed as it was seen, and deleted', async () => {
    const { page, go, api } = ann;
    await go('/upstreams', 'Upstreams');
    await page.getByText('No upstreams yet').waitFor();
    await page.getByRole('button', { name: 'Create an upstream' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('API', { exact: true }).selectOption('openai');
    await dialog.getByLabel('Secret', { exact: true }).fill('app/JWT');
    await dialog.getByLabel('Environment').selectOption('production');
    expect(await dialog.getByLabel('Requests').inputValue()).toContain('"Bearer {{app/JWT}}"');
    await dialog.getByRole('button', { name: 'Create upstream' }).click();
    await page.waitForSelector('h1:text-is("openai")');
    const [made] = (await api('GET', '/upstreams')).data;
    expect(made).toMatchObject({
      base_url: 'https://api.openai.com',
      secrets: ['app/JWT'],
      status: 'active',
    });
    await page.getByText('POST /v1/chat/completions').waitFor();
    await page.getByText('Never').waitFor();

    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await api('PATCH', `/upstreams/${made.id}`, { rate_limit: 5 });
    const requests = dialog.getByLabel('Requests');
    await requests.fill('{');
    await dialog.getByText('Not a JSON object.').waitFor();
    await requests.fill(JSON.stringify({ allow: [{ methods: ['GET'], paths: ['/v1/models'] }] }));
    await dialog.getByRole('button', { name: 'Save upstream' }).click();
    // Somebody else changed it meanwhile.
    await dialog.getByText('Someone else changed this in the meantime.').waitFor();
    expect((await api('GET', `/upstreams/${made.id}`)).allow).toHaveLength(2);
    await page.keyboard.press('Escape');
    const discard = page.getByRole('button', { name: /discard/i });
    if (await discard.isVisible()) await discard.click();

    await go(`/upstreams/${made.id}`, 'openai');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete upstream' }).click();
    await page.waitForSelector('h1:text-is("Upstreams")');
    await page.getByText('No upstreams yet').waitFor();
    expect((await api('GET', '/upstreams')).data).toEqual([]);
    expect(ann.said.filter((line) => !line.includes('412'))).toEqual([]);
    ann.said.length = 0;
  });

  slow('a running sync shows its status, and can be cancelled', async () => {
    const { page, go, api } = ann;
    const { id } = await cluster('Slow cluster');
    let release = () => {};
    target.wait = new Promise((done) => {
      release = done;
    });
    const { syncId } = await api('POST', '/integrations/sync', {
      integrationId: id,
      environmentId: 'production',
    });
    await go(`/syncs/${syncId}`, 'Sync of production to Kubernetes');
    await page.getByText('running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel sync' }).click();
    await page.getByText('Sync cancelled').waitFor();
    release();
    await page.getByText('failed', { exact: true }).waitFor();
    await page.getByText('Nothing was written to Kubernetes.').waitFor();
    expect(target.data).toEqual({});
    expectQuiet(ann);
  });

  slow('a connection is tested, and a sync run once, without storing it', async () => {
    const { page, go, api } = ann;
    const before = (await api('GET', '/integrations')).data.length;
    await go('/syncs/new?platform=kubernetes', 'Connect Kubernetes');
    for (const [label, text] of [
      ['API server', target.url],
      ['Token', 'kube-token-4'],
      ['Namespace', 'once'],
      ['Secret name', 'app'],
    ] as const)
      await page.getByLabel(label).fill(text);
    await page.getByRole('button', { name: 'Preview changes from production' }).click();
    await page.getByText('2 would be created').waitFor();
    expect(target.data).toEqual({});
    await page.getByRole('button', { name: 'Sync once without storing the connection' }).click();
    await page.getByText('All secrets are on Kubernetes.').waitFor();
    expect(Object.keys(target.data).sort()).toEqual(['DATABASE_URL', 'app_JWT']);
    expect((await api('GET', '/integrations')).data).toHaveLength(before);
    expectQuiet(ann);
  });

  slow('a connection with a changed target asks for its credentials again', async () => {
    const { page, go, api } = ann;
    const { id } = await cluster('Moved cluster');
    await go(`/syncs/connections/${id}`, 'Moved cluster');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Stored. Leave empty to keep it.').waitFor();
    expect(await dialog.getByLabel('Token').inputValue()).toBe('');
    await dialog.getByLabel('Namespace').fill('elsewhere');
    await dialog.getByText('erases its stored credentials. Enter them again.').waitFor();
    await dialog.getByLabel('Token').fill('kube-token-2');
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await api('GET', `/integrations/${id}`)).config.namespace).toBe('elsewhere');
    await page.getByRole('tab', { name: 'Set-up' }).click();
    await page.getByText('elsewhere').waitFor();
    expectQuiet(ann);
  });

  slow('an error about a field of the platform is shown at the field, and the input is kept', async () => {
    const { page, go } = ann;
    ann.said.length = 0;
    await go('/syncs/new?platform=kubernetes', 'Connect Kubernetes');
    for (const [label, text] of [
      ['API server', target.url],
      ['Token', 'kube-token-3'],
      ['Namespace', 'Not A Label'],
      ['Secret name', 'app'],
    ] as const)
      await page.getByLabel(label).fill(text);
    await page.getByRole('button', { name: 'Store connection' }).click();
    await page.locator('.field-error').waitFor();
    expect(await page.getByLabel('Namespace').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByText('Some fields of the request').count()).toBe(0);
    expect(await page.getByLabel('Token').inputValue()).toBe('kube-token-3');
    // The browser itself logs a refused request.
    ann.said.length = 0;
  });

  it('a notification is stored, and its test message arrives', async () => {
    const { page, go } = ann;
    await go('/notifications/new?platform=mattermost', 'Connect Mattermost');
    await page.getByLabel('Webhook URL').fill(`${target.url}/hooks/secret-path`);
    await page.getByRole('button', { name: 'Send test message' }).click();
    await page.getByText('Mattermost accepted the message').waitFor();
    await page.getByRole('button', { name: 'Store connection' }).click();
    await page.waitForSelector('h1:text-is("Notifications")');
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Send test' }).click();
    await expect.poll(() => target.received.length).toBe(2);
    expect(await page.content()).not.toContain('secret-path');
    expectQuiet(ann);
  });

  it('a webhook shows its signing secret once; a failed delivery is redelivered', async () => {
    const { page, go, api } = ann;
    await go('/webhooks', 'Webhooks');
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByLabel('URL').fill(`${target.url}/hook`);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const secret = await page.locator('dialog .copyable code').textContent();
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(secret);
    target.status = 500;
    await page.getByRole('link', { name: `${target.url}/hook` }).click();
    await page.getByRole('button', { name: 'Send test event' }).click();
    const delivery = page.getByRole('dialog', { name: 'Test event' });
    await delivery.getByText('The receiver did not respond with a 2xx status.').waitFor();
    target.status = 200;
    await delivery.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('table', { name: 'Deliveries' }).getByText('delivered').waitFor();
    const [webhook] = (await api('GET', '/webhooks')).data;
    expect((await api('GET', `/webhooks/${webhook.id}/deliveries`)).data[0]).toMatchObject({
      status: 'delivered',
      response_status: 200,
    });
    expectQuiet(ann);
  });

  slow('a webhook whose URL is a credential is changed without it', async () => {
    const { page, go, api } = ann;
    const { id } = await api('POST', '/webhooks', {
      url: `${target.url}/hook?token=hidden-in-the-url`,
      events: ['SECRET_CREATED'],
    });
    await go(`/webhooks/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Leave empty to keep it.').waitFor();
    await dialog.getByRole('button', { name: 'All events' }).click();
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await api('GET', `/webhooks/${id}`)).events).toBe('*');
    expect(await page.content()).not.toContain('hidden-in-the-url');
    // An open page of the webhook would read it again and get a 404.
    await go('/webhooks', 'Webhooks');
    await api('DELETE', `/webhooks/${id}`);
    expectQuiet(ann);
  });

  slow('a scan finds a stored value in pasted text and in a dropped file', async () => {
    const { page, go, api } = ann;
    const { id } = await api('POST', '/secrets', {
      name: 'LEAKED',
      type: 'password',
      value: 'correct horse battery',
    });
    await go('/scans', 'Leak scans');
    await page.getByLabel('Text').fill('PASSWORD=correct horse battery\n');
    await page.getByRole('button', { name: 'Scan', exact: true }).click();
    expect(await page.getByRole('link', { name: 'View secret' }).getAttribute('href')).toBe(
      `/console/secrets/${id}`,
    );
    await page.getByRole('button', { name: 'Files', exact: true }).click();
    const file = (name: string, text: string) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(text),
    });
    await page.setInputFiles('input[type=file]', [
      file('.env', 'A=1\nB="correct horse battery"\n'),
      file('image.bin', 'a\0b'),
    ]);
    await page.getByRole('button', { name: 'Scan', exact: true }).click();
    await page.getByText('.env:2:4').filter({ visible: true }).waitFor();
    await page.getByText('Not scanned, because they are too large or not text: image.bin').waitFor();
    expectQuiet(ann);
  });

  slow('a scan that revokes shows the consequences first', async () => {
    const { page, go, api } = ann;
    const { id, token } = await api('POST', '/api-keys', { name: 'leaked', scopes: ['secrets:list'] });
    await go('/scans', 'Leak scans');
    await page.getByLabel('Text').fill(`KEY=${token}`);
    await page.getByLabel('Revoke live tokens').check();
    await page.getByRole('button', { name: 'Scan and revoke' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This immediately revokes').waitFor();
    expect((await api('GET', `/api-keys/${id}`)).revoked_at).toBeNull();
    await dialog.getByRole('button', { name: 'Scan and revoke' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    expectQuiet(ann);
  });
});
