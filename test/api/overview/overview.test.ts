// The overview: what needs somebody, each part with the scope of its list, and nothing that the caller may
// not see.
import { beforeEach, describe, expect, it } from 'vitest';
import { deliveries } from '../../../src/delivery/gate/deliveries';
import { contain, newAgent, newBreakGlass, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { addSync, backdate, findDueNow, runDueTasks } from '../../support/governance/looking';
import { newPolicy } from '../../support/governance/policies';
import { newWebhook } from '../../support/integrations/webhooks';
import { signIn } from '../../support/signin/browser';
import { newIdp } from '../../support/signin/scim';
import { newDomain } from '../../support/signin/sso';
import { DAY, HOUR } from '../../support/time';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:30:00.000Z');
beforeEach(() => {
  faults.clock = START;
  faults.isAlarmHeld = true;
});

const overview = async (o: Caller) => {
  const { status, json, text } = await o.get('/overview');
  expect(status, text).toBe(200);
  return json;
};

/** The counts of the parts that the caller may have. */
async function counts(o: Caller): Promise<Record<string, number>> {
  const { total, activity, ...parts } = await overview(o);
  const shown = Object.entries(parts as Record<string, { count: number }>);
  return Object.fromEntries(shown.map(([name, { count }]) => [name, count]));
}

const failOf = (o: Caller, webhook: string) =>
  inCore(o, (core) => {
    core.storage.sql.exec('insert or ignore into delivery_endpoints (webhook) values (?)', webhook);
    core.storage.sql.exec(
      'update delivery_endpoints set failing_since = ? where webhook = ?',
      core.now(),
      webhook,
    );
    expect(deliveries(core).failingSince(webhook)).not.toBeNull();
  });

const dueInTwoDays = { rotate_every_seconds: (2 * DAY) / 1000 };
const days = (many: number) => ({ ttlSeconds: (many * DAY) / 1000 });

/** Something of each kind that needs somebody, in an environment. */
const NEEDS: Record<string, (o: Caller, environment: string) => Promise<unknown>> = {
  incidents: async (o) => contain(o, (await newKey(o, { name: 'leaked' })).id),
  break_glass_tokens: (o) => newBreakGlass(o),
  failing_syncs: (o, environment) => addSync(o, environment),
  failing_webhooks: async (o) => failOf(o, (await newWebhook(o)).id as string),
  async overdue_secrets(o, environment) {
    const { id } = await newSecret(o, { environment, ...dueInTwoDays });
    await backdate(o, 'secret', id, 3 * DAY);
    await findDueNow(o);
  },
  expiring_secrets: (o, environment) => newSecret(o, { environment, ...days(6) }),
  async expiring_credentials(o) {
    const { id } = await newKey(o, { name: 'ending', ...days(5) });
    await backdate(o, 'credential', id, 30 * DAY);
  },
  unverified_domains: (o) => newDomain(o),
};

describe('overview: what needs somebody', () => {
  it('is nothing in a new organisation: each part is there, and empty', async () => {
    const o = await newOrg();
    const { total, activity, ...parts } = await overview(o);
    expect(total).toBe(0);
    expect(Object.keys(parts)).toEqual([
      'incidents',
      'break_glass_tokens',
      'approvals',
      'failing_syncs',
      'failing_webhooks',
      'overdue_secrets',
      'expiring_secrets',
      'expiring_credentials',
      'unverified_domains',
    ]);
    for (const part of Object.values(parts)) expect(part).toEqual({ count: 0, data: [] });
    expect(activity.data).toHaveLength(168);
    expect(activity.data.at(-1).time).toBe('2027-01-01T00:00:00.000Z');
    expect((await o.get('/audit-log?action=org.overview')).json.data).toHaveLength(1);
  });

  it.each(Object.keys(NEEDS))('counts and names %s', async (part) => {
    const o = await newOrg();
    await NEEDS[part]?.(o, 'production');
    const all = await overview(o);
    expect(all.total).toBe(1);
    expect(all[part].count).toBe(1);
    expect(all[part].data[0]).toMatchObject({ id: expect.any(String), time: expect.stringMatching(/^2/) });
  });

  it('has the first five of a part, those that are due first', async () => {
    const o = await newOrg();
    for (const many of [6, 2, 4, 3, 5, 1]) await newSecret(o, { name: `IN_${many}`, ...days(many) });
    const { expiring_secrets } = await overview(o);
    expect(expiring_secrets.count).toBe(6);
    expect(expiring_secrets.data.map(({ name }: { name: string }) => name)).toEqual([
      'IN_1',
      'IN_2',
      'IN_3',
      'IN_4',
      'IN_5',
    ]);
  });

  it('tells a secret that has expired for a week, and none that was revoked or deleted', async () => {
    const o = await newOrg();
    const gone = await newSecret(o, { ...days(2) });
    await newSecret(o, { ...days(2) });
    await o.del(`/secrets/${gone.id}`);
    faults.clock = START + 3 * DAY;
    expect((await counts(o)).expiring_secrets).toBe(1);
    faults.clock = START + 10 * DAY;
    expect((await counts(o)).expiring_secrets).toBe(0);
  });

  it('tells a secret that a policy makes due until it has a new value', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', { max_age_days: 30 });
    const { id } = await newSecret(o);
    faults.clock = START + 31 * DAY;
    await runDueTasks(o);
    expect((await overview(o)).overdue_secrets.data[0]).toMatchObject({
      id,
      time: new Date(START + 30 * DAY).toISOString(),
    });
    await o.post(`/secrets/${id}/rotate`, { value: 'new' });
    expect((await counts(o)).overdue_secrets).toBe(0);
  });

  it('tells a sync while the last run failed, since when and how often', async () => {
    const o = await newOrg();
    await addSync(o, 'production', { status: 'completed' });
    const first = START + HOUR;
    faults.clock = first;
    await addSync(o, 'production');
    faults.clock = first + HOUR;
    const id = await addSync(o, 'production', { status: 'partial' });
    await addSync(o, 'production', { cancelled_at: first + HOUR });
    await addSync(o, 'staging', { status: 'completed' });
    const { failing_syncs } = await overview(o);
    expect(failing_syncs.count).toBe(1);
    expect(failing_syncs.data[0]).toEqual({
      id,
      name: null,
      kind: 'heroku',
      environment: 'production',
      time: new Date(first).toISOString(),
      detail: '2',
    });
    faults.clock = first + 2 * HOUR;
    await addSync(o, 'production', { status: 'completed' });
    expect((await counts(o)).failing_syncs).toBe(0);
  });

  it('tells credentials near their end, not those that were made for less', async () => {
    const o = await newOrg();
    await newAgent(o, { ttlSeconds: 3600 });
    await newKey(o, days(6));
    expect((await counts(o)).expiring_credentials).toBe(0);
    faults.clock = START + 5.5 * DAY;
    expect((await counts(o)).expiring_credentials).toBe(1);
  });

  it('counts a SCIM token before its end', async () => {
    const o = await newOrg();
    const { id } = await newIdp(o, { name: 'okta', expires_at: new Date(START + 5 * DAY).toISOString() });
    await backdate(o, 'credential', id, 30 * DAY);
    const { data } = (await overview(o)).expiring_credentials;
    expect(data).toMatchObject([{ id, name: 'okta', kind: 'scim' }]);
  });

  it('tells approvals to those who can decide them alone', async () => {
    faults.clock = null;
    const { o, ann, bob, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.delete']);
    const { id } = await newSecret(asked, { environment: 'production' });
    const held = approvalIn(await asked.del(`/secrets/${id}`));
    expect((await overview(ann.o)).approvals.data[0]).toMatchObject({
      id: held.id,
      kind: 'secret.delete',
      environment: 'production',
    });
    expect((await counts(bob.o)).approvals).toBe(0);
    expect((await counts(asked)).approvals).toBe(0);
  });
});

/** Who looks, and what they may list. */
const VIEWERS: Record<string, (o: Caller) => Promise<Caller>> = {
  'a key for staging': async (o) => (await newKey(o, { scopes: ['*'], environments: ['staging'] })).o,
  'a key for some names': async (o) =>
    (await newKey(o, { scopes: ['secrets:*', 'integrations:*', 'webhooks:*'], secrets: ['app/*'] })).o,
  'an agent without scopes of lists': async (o) => (await newAgent(o, { scopes: ['integrations:notify'] })).o,
  'a viewer': async (o) => (await signIn(o, 'viewer')).o,
  'a developer of staging': async (o) => (await signIn(o, 'developer', { environments: ['staging'] })).o,
  'an auditor': async (o) => (await signIn(o, 'auditor')).o,
};

/** The parts that each may have, besides those of the whole organisation. */
const ALL_PARTS = [...Object.keys(NEEDS), 'approvals'];
const MAY: Record<string, string[]> = {
  'a key for staging': ALL_PARTS.filter((part) => part !== 'failing_webhooks'),
  'a key for some names': ['failing_syncs', 'overdue_secrets', 'expiring_secrets'],
  'an agent without scopes of lists': [],
  'a viewer': ['overdue_secrets', 'expiring_secrets'],
  'a developer of staging': [
    'approvals',
    'break_glass_tokens',
    'expiring_credentials',
    'failing_syncs',
    'incidents',
    'overdue_secrets',
    'expiring_secrets',
  ],
  'an auditor': [],
};

/** Parts whose lists show all to whoever has the scope; and those that names do not limit. */
const WHOLE = ['incidents', 'break_glass_tokens', 'expiring_credentials', 'unverified_domains'];

describe('overview: nothing that the caller may not see', () => {
  it.each(Object.keys(VIEWERS))('leaves out the parts that it may not list: %s', async (viewer) => {
    faults.clock = null;
    const o = await newOrg();
    const by = await VIEWERS[viewer]?.(o);
    const { total, activity, ...parts } = await overview(by as Caller);
    expect(Object.keys(parts).sort()).toEqual([...(MAY[viewer] as string[])].sort());
    expect(activity === undefined).toBe(!['a key for staging', 'an auditor'].includes(viewer));
  });

  const walk = Object.keys(VIEWERS).flatMap((viewer) =>
    Object.keys(NEEDS)
      .filter((part) => !(WHOLE.includes(part) && MAY[viewer]?.includes(part)))
      // A sync is shown to whoever reaches its environment.
      .filter((part) => !(part === 'failing_syncs' && viewer === 'a key for some names'))
      // What lies in production is no secret to who may list all.
      .filter((part) => !(viewer === 'a viewer' && MAY[viewer]?.includes(part)))
      .map((part) => [viewer, part] as const),
  );

  it.each(walk)(
    'permission: answers the same bytes to %s, whether or not there is one of %s',
    async (viewer, part) => {
      faults.clock = null;
      const o = await newOrg();
      const by = (await VIEWERS[viewer]?.(o)) as Caller;
      // Something of their own, so that parts are not just empty.
      await newSecret(o, { name: 'app/OWN', environment: 'staging', ...days(5) });
      const bytes = async () => {
        const { status, text } = await by.get('/overview');
        expect(status, text).toBe(200);
        const { activity, ...rest } = JSON.parse(text);
        return JSON.stringify(rest);
      };
      const before = await bytes();
      await NEEDS[part]?.(o, 'production');
      expect(await bytes()).toBe(before);
      expect((await counts(o))[part], 'the owner sees it').toBeGreaterThan(0);
    },
  );

  it('permission: counts in the activity what the caller may read of the log', async () => {
    const o = await newOrg();
    const by = (await newKey(o, { scopes: ['audit:read'], environments: ['staging'] })).o;
    const sum = ({ activity }: { activity: { data: { success: number }[] } }) =>
      activity.data.reduce((all, { success }) => all + success, 0);
    const before = sum(await overview(by));
    await newSecret(o, { environment: 'production' });
    expect(sum(await overview(by))).toBe(before + 1);
    await newSecret(o, { environment: 'staging' });
    expect(sum(await overview(by))).toBe(before + 3);
  });
});
