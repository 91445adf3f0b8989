// Changes of others appear on every page that lists something, and a console at rest asks for nothing.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: live', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  /** An address, and what somebody else does, in place of `body` a function where it needs the one before. */
  const changes: [at: string, path: string, body: object | ((id: string) => object), shown: string][] = [
    ['/secrets', '/secrets', { name: 'ZEBRA_SECRET', type: 'generic', value: 'x' }, 'ZEBRA_SECRET'],
    ['/credentials', '/api-keys', { name: 'zebra-key', scopes: ['secrets:read'] }, 'zebra-key'],
    [
      '/credentials?tab=agent',
      '/agent-credentials',
      { name: 'zebra-agent', scopes: ['secrets:read'] },
      'zebra-agent',
    ],
    [
      '/members',
      '/members',
      { name: 'Zebra Person', email: 'new@example.com', role: 'viewer' },
      'Zebra Person',
    ],
    ['/teams', '/teams', { name: 'Zebra Group' }, 'Zebra Group'],
    [
      '/grants',
      '/grants',
      (team) => ({ grantee: { type: 'team', id: team }, permission: 'read', secrets: ['ZEBRA_*'] }),
      'ZEBRA_*',
    ],
    [
      '/policies',
      '/policies',
      { name: 'Zebra Rule', kind: 'naming', config: { pattern: '^.+$' } },
      'Zebra Rule',
    ],
    ['/devices', '/devices', { name: 'Zebra Laptop', platform: 'linux' }, 'Zebra Laptop'],
    [
      '/webhooks',
      '/webhooks',
      { url: 'http://127.0.0.1:9997/hook', events: ['SECRET_CREATED'] },
      '127.0.0.1:9997',
    ],
    [
      '/notifications',
      '/integrations',
      {
        kind: 'notify',
        platform: 'webhook',
        name: 'Zebra Channel',
        config: { url: 'http://127.0.0.1:9998/n' },
      },
      'Zebra Channel',
    ],
    ['/settings?tab=environments', '/environments', { name: 'Zebra Place', slug: 'newest' }, 'Zebra Place'],
  ];

  slow('what others create appears on each page without a reload', async () => {
    const { page, go, api } = ann;
    let last = '';
    for (const [at, path, body, shown] of changes) {
      await go(at);
      await page.waitForFunction(() => !document.querySelector('.skeleton'));
      await page.waitForTimeout(300);
      expect(await page.getByText(shown).count(), at).toBe(0);
      ({ id: last } = await api('POST', path, typeof body === 'function' ? body(last) : body));
      await page.getByText(shown).filter({ visible: true }).first().waitFor({ timeout: 5000 });
    }
    expectQuiet(ann);
  });

  it('a request that waits for approval appears at once', async () => {
    const { page, go, api, url, org } = ann;
    const held = await api('POST', '/secrets', { name: 'HELD', type: 'generic', value: 'x' });
    const rule = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
    await api('POST', '/policies', {
      name: 'Two people',
      kind: 'approval',
      applies_to: { names: ['HELD'] },
      config: rule,
    });
    const { token } = await api('POST', '/api-keys', { name: 'asks', scopes: ['secrets:read'] });
    await go('/approvals?status=pending', 'Approvals');
    await page.waitForTimeout(300);
    await fetch(`${url}/api/v1/orgs/${org}/secrets/${held.id}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    await page.locator('#main .table-row').first().waitFor({ timeout: 5000 });
    expectQuiet(ann);
  });

  slow('an admin of one environment, who sees no events of approvals, asks again how many wait', async () => {
    const { api, org, key } = await newPerson();
    const member = { email: 'one@example.com', name: 'One', role: 'admin', environments: ['staging'] };
    const { enrolment_url } = await api('POST', '/members', member);
    const one = await newPerson({ invited: { org, key, enrolmentUrl: enrolment_url } });
    let asked = 0;
    const waiting = /\/approvals\?waiting_for=me/;
    one.page.on('request', (request) => {
      if (waiting.test(request.url())) asked++;
    });
    await one.page.clock.install();
    await one.go('/secrets', 'Secrets');
    await one.page.waitForTimeout(1000);
    const before = asked;
    expect(before).toBeGreaterThan(0);
    await one.page.route(waiting, (route) =>
      route.fulfill({ json: { data: [{ id: 'apr_1' }], next_cursor: null, has_more: false } }),
    );
    await one.page.clock.fastForward(61_000);
    await one.page.getByText('waiting for you').first().waitFor({ state: 'attached' });
    expect(asked).toBeGreaterThan(before);
    expectQuiet(one);
  });

  slow('a burst of changes is read again once, and a page at rest asks for nothing', async () => {
    const { page, go, api } = ann;
    await go('/secrets?path=burst/', 'Secrets');
    await page.waitForFunction(() => !document.querySelector('.skeleton'));
    await page.waitForTimeout(500);
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/api/') && asked.push(request.url()));
    const data = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`burst/KEY_${n}`, 'x']));
    await api('POST', '/integrations/import', {
      source: 'svc',
      onConflict: 'fail',
      environmentId: 'production',
      data,
    });
    await page.getByText('KEY_0').waitFor();
    await page.waitForTimeout(800);
    expect(asked.filter((url) => url.includes('/secrets?')).length).toBeLessThan(4);
    asked.length = 0;
    // Coming back to the tab is no reason to ask either.
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
    await page.waitForTimeout(800);
    expect(asked).toEqual([]);
    expectQuiet(ann);
  });

  it.each([
    // The stream tells a viewer of secrets, and an auditor of nothing.
    ['viewer', '/secrets', 'environments', /\/secrets\?/],
    ['auditor', '/audit', 'audit-log', /\/events\/|format=ndjson/],
  ])(
    'the role %s reads old data again when the tab is shown, and no more than that',
    { tags: 'slow' },
    async (role, at, again, never) => {
      const invited = await ann.api('POST', '/members', { name: 'Mia', email: `${role}@example.com`, role });
      const mia = await newPerson({
        invited: { org: ann.org, key: ann.key, enrolmentUrl: invited.enrolment_url },
      });
      const { page } = mia;
      await mia.go(at);
      await page.waitForFunction(() => !document.querySelector('.skeleton'));
      await page.waitForTimeout(500);
      const asked: string[] = [];
      page.on('request', (request) => request.url().includes('/api/') && asked.push(request.url()));
      const show = async () => {
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
        await page.waitForTimeout(400);
      };
      await show();
      expect(asked).toEqual([]);
      await page.clock.setFixedTime(Date.now() + 60_000);
      await Promise.all([page.waitForRequest((request) => request.url().includes(again)), show()]);
      expect(asked.filter((url) => url.includes(again))).toHaveLength(1);
      expect(asked.filter((url) => never.test(url))).toEqual([]);
      expect(asked.length).toBeLessThan(6);
      expectQuiet(mia);
      await mia.context.close();
    },
  );
});
