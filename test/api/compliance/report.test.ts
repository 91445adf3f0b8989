// The compliance report as a call: who may ask for it, for which period, and what it never says.
import { describe, expect, it } from 'vitest';
import { findingIds } from '../../../src/domains/compliance/catalogue';
import { Report } from '../../../src/domains/compliance/wire';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newReport } from '../../support/governance/compliance';
import { asMember, newGrant, newMember } from '../../support/people';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const path = '/compliance/report';
const iso = (time: number) => new Date(time).toISOString();
const at = (from: number | null, to: number | null) =>
  `${path}?${[...(from === null ? [] : [`from=${iso(from)}`]), ...(to === null ? [] : [`to=${iso(to)}`])].join('&')}`;

describe('compliance report: the response', () => {
  slow('is of the last 90 days, has every finding once, and sums them up', async () => {
    const now = Date.now();
    faults.clock = now;
    const report = await newReport(await newOrg());
    expect(Report.safeParse(report).error).toBeUndefined();
    expect(report.period).toEqual({ from: iso(now - 90 * DAY), to: iso(now) });
    expect(report.generated_at).toBe(iso(now));
    expect(report.findings.map(({ id }) => id)).toEqual(findingIds);
    const by = (status: string) => report.findings.filter((one) => one.status === status).length;
    expect(report.summary).toEqual({
      pass: by('pass'),
      warn: by('warn'),
      fail: by('fail'),
      not_applicable: by('not_applicable'),
    });
    for (const { tested, remedy } of report.findings)
      expect([tested, remedy].map((text) => /\.$/.test(text))).toEqual([true, true]);
  });

  it('maps each finding to controls of both frameworks, and gives each control the worst of its findings', async () => {
    const report = await newReport(await newOrg());
    const statuses = new Map(report.findings.map(({ id, status }) => [id, status]));
    for (const { id, controls } of report.findings) {
      expect([controls.soc2.length > 0, controls.iso27001.length > 0], id).toEqual([true, true]);
      for (const framework of ['soc2', 'iso27001'] as const)
        for (const name of controls[framework])
          expect(
            report.controls.find((one) => one.framework === framework && one.id === name)?.findings,
            name,
          ).toContain(id);
    }
    const order = ['fail', 'warn', 'pass', 'not_applicable'];
    for (const { id, status, findings } of report.controls) {
      const worst = findings.map((one) => order.indexOf(statuses.get(one) ?? '')).sort()[0] as number;
      expect(status, id).toBe(order[worst]);
    }
  });

  slow('leaves one audit entry, regardless of the calls it needs', async () => {
    const o = await newOrg();
    await newSecret(o);
    await newReport(o);
    const { data } = (await o.get('/audit-log?action=compliance.report')).json;
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ resource: o.id, status: 200 });
  });

  slow('holds no value and no token in any format', async () => {
    const o = await newOrg();
    const value = 'the-value-of-the-secret-0123456789';
    const secret = await newSecret(o, { value, ttlSeconds: 3600, rotate_every_seconds: 60 });
    const tokens = [(await newKey(o)).token, (await newBreakGlass(o)).token, (await newSession(o)).token];
    for (const format of ['json', 'csv', 'html']) {
      const { text, status } = await o.get(`${path}?format=${format}`);
      expect(status).toBe(200);
      expect(text).toContain(secret.name);
      for (const hidden of [value, o.token, ...tokens]) expect(text, format).not.toContain(hidden);
    }
  });
});

describe('rate limit: compliance reports', () => {
  it('are at most ten a minute for an organisation, across callers', async () => {
    const o = await newOrg();
    const now = Date.now();
    faults.clock = now;
    const other = await newKey(o, { scopes: ['compliance:read'] });
    for (let n = 0; n < 10; n++) expect((await (n % 2 ? o : other.o).get(path)).status).toBe(200);
    faults.clock = now + 20_000;
    for (const one of [o, other.o]) {
      const refused = await one.get(path);
      expect(codeOf(refused)).toEqual([429, 'RATE_LIMITED']);
      expect(refused.headers.get('Retry-After')).toBe('40');
    }
    expect((await (await newOrg()).get(path)).status).toBe(200);
    faults.clock = now + 60_000;
    expect((await o.get(path)).status).toBe(200);
  });
});

describe('compliance report: the period', () => {
  it('is refused unless from is before to, and at most 400 days', async () => {
    const o = await newOrg();
    const now = Date.now();
    for (const wrong of [
      at(now, now),
      at(now, now - DAY),
      at(now + DAY, null),
      at(now - 401 * DAY, now),
      at(now - 401 * DAY, null),
      `${path}?from=yesterday`,
      `${path}?since=${iso(now)}`,
      `${path}?format=pdf`,
    ])
      expect(codeOf(await o.get(wrong)), wrong).toEqual([400, 'VALIDATION_FAILED']);
    expect((await o.get(at(now - 401 * DAY, now))).json.error.details[0].path).toBe('from');
  });

  slow('of 400 days is accepted, even if only one end is given', async () => {
    const o = await newOrg();
    const now = Date.now();
    faults.clock = now;
    expect((await o.get(at(now - 400 * DAY, now))).json.period).toEqual({
      from: iso(now - 400 * DAY),
      to: iso(now),
    });
    expect((await o.get(at(now - DAY, null))).json.period).toEqual({ from: iso(now - DAY), to: iso(now) });
    expect((await o.get(at(null, now - DAY))).json.period).toEqual({
      from: iso(now - 91 * DAY),
      to: iso(now - DAY),
    });
  });
});

describe('permission: compliance report', () => {
  slow('needs the scope compliance:read', async () => {
    const o = await newOrg();
    expect((await (await newKey(o, { scopes: ['compliance:read'] })).o.get(path)).status).toBe(200);
    expect((await (await newAgent(o, { scopes: ['compliance:*'] })).o.get(path)).status).toBe(200);
    for (const scopes of [['audit:read'], ['secrets:*', 'members:*', 'tokens:*', 'policies:*']])
      expect(codeOf(await (await newKey(o, { scopes })).o.get(path))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    for (const one of [await newBreakGlass(o), await newProvider(o)])
      expect(codeOf(await one.o.get(path))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect(codeOf(await (await newOrg()).as(o.token).get(path))).toEqual([404, 'NOT_FOUND']);
  });

  it('is refused to a caller who is limited to environments or names', async () => {
    const o = await newOrg();
    const scopes = ['*'];
    for (const fields of [
      { scopes, environments: ['production'] },
      { scopes, secrets: ['*'] },
      { scopes: ['compliance:read'], environments: ['development', 'staging', 'production'] },
    ]) {
      const answer = await (await newKey(o, fields)).o.get(path);
      expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(answer.json.error.message).toContain('limited');
    }
    const narrowed = await newSession((await newKey(o)).o, { environments: ['production'] });
    expect(codeOf(await narrowed.o.get(path))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  slow('is given by the roles owner, admin and auditor, and by no grant', async () => {
    const o = await newOrg();
    const input = { part: 'overview', from: null, to: null };
    for (const [role, status] of [
      ['owner', 200],
      ['admin', 200],
      ['auditor', 200],
      ['developer', 403],
      ['viewer', 403],
    ] as const) {
      const { id } = await newMember(o, role);
      if (status === 403) await newGrant(o, 'member', id, { permission: 'write' });
      expect((await asMember(o, id, 'compliance.report', { input })).status, role).toBe(status);
    }
  });

  it('is authorised again for each part: a credential revoked in between gets no report', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['compliance:read'] });
    faults.rpc = (n) => {
      // The first call of the gate gives the overview; the credential has ended by the second.
      if (n === 1) faults.clock = Date.now();
      if (n === 2) faults.clock = Date.now() + 2 * DAY;
      return null;
    };
    const ends = await newKey(o, { scopes: ['compliance:read'], ttlSeconds: 86_400 });
    faults.gate = 0;
    expect(codeOf(await ends.o.get(path))).toEqual([401, 'TOKEN_EXPIRED']);
    faults.gate = 0;
    expect((await key.o.get(path)).status).toBe(200);
  });
});
