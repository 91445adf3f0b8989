// The parts of a compliance report that need no gate: bounds, CSV and HTML against what people may have
// written into names and reasons.
import { describe, expect, it } from 'vitest';
import type { PolicyRow } from '../../../src/db/schema';
import { newActivityChecks } from '../../../src/domains/compliance/checks/activity';
import { newSecretChecks } from '../../../src/domains/compliance/checks/secrets';
import { cell, csvOf } from '../../../src/domains/compliance/csv';
import { newTally } from '../../../src/domains/compliance/finding';
import { htmlOf } from '../../../src/domains/compliance/html';
import { type Parts, walkGate } from '../../../src/domains/compliance/log';
import type { SecretFacts } from '../../../src/domains/compliance/payloads';
import type { Evidence, Finding, Report } from '../../../src/domains/compliance/wire';
import { stepsOf } from '../../../src/gate/approvals/policies';
import type { Entry } from '../../../src/gate/audit/entry';
import { newSlices } from '../../../src/http/slices';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');

/** A report with one finding that holds these texts wherever a text may stand. */
function reportWith(text: string): Report {
  const evidence: Evidence = {
    id: 'sec_x',
    name: text,
    environment: text,
    time: null,
    detail: text,
    facts: { reason: text, user_agent: text },
    people: [{ id: 'mem_x', name: text, decision: 'approve', time: '2026-11-21T12:00:00.000Z' }],
  };
  const finding: Finding = {
    id: 'break-glass-use',
    title: 'T',
    area: 'governance',
    status: 'warn',
    tested: text,
    examined: 1,
    count: 1,
    complete: true,
    evidence: [evidence],
    remedy: 'R',
    controls: { soc2: ['CC6.3'], iso27001: ['A.8.2'] },
  };
  const secrets = {
    active: 1,
    expired: 0,
    revoked: 0,
    deleted: 0,
    generated: 0,
    by_age: [{ days: '0-30', secrets: 1 }],
  };
  return {
    org: { id: 'org_x', name: text },
    generated_at: '2026-11-21T12:00:00.000Z',
    period: { from: '2026-08-23T12:00:00.000Z', to: '2026-11-21T12:00:00.000Z' },
    summary: { pass: 0, warn: 1, fail: 0, not_applicable: 0 },
    findings: [finding],
    inventory: {
      secrets,
      credentials: [],
      devices: { total: 0, assigned: 0, blocked: 0 },
      policies: { naming: 0, rotation: 0, approval: 0 },
      members: {
        total: 0,
        by_role: { owner: 0, admin: 0, developer: 0, viewer: 0, auditor: 0 },
        without_passkey: 0,
        suspended: 0,
      },
      audit_log: {
        head: { sequence: 1, hash: 'h' },
        verified_from: 1,
        verified_to: 1,
        last_checkpoint: null,
        retention_days: 400,
      },
    },
    controls: [{ framework: 'soc2', id: 'CC6.3', title: 'T', status: 'warn', findings: ['break-glass-use'] }],
  };
}

/** Reads CSV as RFC 4180 says. */
function parsed(csv: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let text: string = '';
  let isQuoted: boolean = false;
  for (let at = 0; at < csv.length; at++) {
    const char = csv[at] as string;
    if (isQuoted) {
      if (char !== '"') text += char;
      else if (csv[at + 1] === '"') text += csv[++at];
      else isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === ',') {
      row.push(text);
      text = '';
    } else if (char === '\r' && csv[at + 1] === '\n') {
      rows.push([...row, text]);
      [row, text] = [[], ''];
      at++;
    } else text += char;
  }
  expect([row, text, isQuoted]).toEqual([[], '', false]);
  return rows;
}

describe('compliance report: CSV', () => {
  it.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    ' =1',
    '  @x',
    '＝1',
    '＋1',
    '－1',
    '＠x',
    '\tx',
    '=cmd|" /C calc"!A0',
  ])('a cell that begins as %j cannot become a formula', (text) => {
    const [[read = '']] = parsed(`${cell(text)}\r\n`) as [string[]];
    expect(read).toBe(`'${text}`);
  });

  it.each(['plain', 'a-b', 'a=b', 'app/key', '12', "it's"])('a cell with %j stays as it is', (text) => {
    expect(cell(text)).toBe(`"${text}"`);
  });

  it.each(['a,b', 'a"b', 'a\r\nb', '","=1+1', '"\r\n"=1+1"', '=HYPERLINK("http://x","y"),,'])(
    'a text like %j stays within its cell, and makes no column and no row',
    (text) => {
      const rows = parsed(csvOf(reportWith(text)));
      expect(rows.map(({ length }) => length)).toEqual([17, 17]);
      for (const read of rows[1] ?? []) expect(read).not.toMatch(/^\s*[=+\-@]/);
    },
  );

  it('has one row for each piece of evidence, and one for a finding without any', () => {
    const report = reportWith('x');
    const [one] = report.findings as [Finding];
    const three = {
      ...one,
      evidence: [1, 2, 3].map((n) => ({ ...(one.evidence[0] as Evidence), id: `e${n}` })),
    };
    const rows = parsed(csvOf({ ...report, findings: [three, { ...one, evidence: [] }] }));
    expect(rows.map((row) => row[6])).toEqual(['evidence_id', 'e1', 'e2', 'e3', '']);
    expect(rows.slice(1).every((row) => row[0] === 'break-glass-use' && row[3] === 'warn')).toBe(true);
  });
});

const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "' onmouseover='alert(1)",
  '</title><script>alert(1)</script>',
  '</style><script>alert(1)</script>',
  '<!--',
  '&lt;script&gt;',
];

describe('compliance report: HTML', () => {
  it.each(hostile)('escapes %j in every text', async (text) => {
    const page = await htmlOf(reportWith(text)).text();
    const plain = await htmlOf(reportWith('plain')).text();
    // Every text is text: the page has the same elements and attributes as one with plain texts.
    const skeleton = (markup: string) =>
      [...markup.replace(/<style>.*<\/style>/s, '').matchAll(/<[^>]*>/g)].map(([tag]) =>
        tag.replace(/="[^"]*"/g, ''),
      );
    expect(skeleton(page)).toEqual(skeleton(plain));
    expect(page).not.toMatch(/<(script|img|svg onload)/);
  });

  it('loads nothing and runs nothing, by a policy that the page holds too', async () => {
    const response = htmlOf(reportWith('x'));
    const page = await response.text();
    const policy = response.headers.get('Content-Security-Policy') ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
    );
    const hash = /sha256-([^']+)'/.exec(policy)?.[1] ?? '';
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? '';
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style));
    expect(btoa(String.fromCharCode(...new Uint8Array(digest)))).toBe(hash);
    expect(page).toContain(
      `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'`,
    );
    expect(page).not.toMatch(/<script|\sstyle=|\son[a-z]+=|\ssrc=|url\(|@import/);
    for (const [, href] of page.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^#/);
  });
});

const secret = (n: number, fields: Partial<SecretFacts> = {}): SecretFacts => ({
  id: `sec_${n}`,
  name: 'x'.repeat(255),
  type: 'generic',
  environment_id: 'env_x',
  environment: 'production',
  version: 1,
  created_at: NOW,
  rotated_at: NOW,
  expires_at: null,
  rotate_every_seconds: null,
  generated: false,
  last_read_at: null,
  ...fields,
});
const policy = (config: PolicyRow['config'], fields: Partial<PolicyRow> = {}): PolicyRow => ({
  org_id: 'o',
  id: 'pol_x',
  name: 'P',
  kind: 'naming',
  enabled: 1,
  environments: null,
  types: null,
  names: null,
  config,
  of_agent: null,
  created_by: 'x',
  created_at: NOW,
  updated_at: NOW,
  revision: 1,
  mac: '',
  ...fields,
});

describe('compliance report: bounds', () => {
  it('a finding keeps 100 pieces of evidence, and makes no others', () => {
    const tally = newTally();
    let made = 0;
    const one: Evidence = { id: 'x', name: null, environment: null, time: null, detail: '', facts: {} };
    for (let n = 0; n < 1000; n++)
      tally.add(() => {
        made++;
        return one;
      });
    expect([tally.count, tally.evidence.length, made]).toEqual([1000, 100, 100]);
  });

  it('comparing names with policies takes bounded steps, and the report says what was not compared', async () => {
    const policies = [policy({ pattern: 'y'.repeat(11) })];
    const rows = Array.from({ length: 15 }, (_, n) => secret(n, { name: `${'x'.repeat(253)}${10 + n}` }));
    const { length } = (rows[0] as { name: string }).name;
    const checks = newSecretChecks(policies, NOW, newSlices('o.key', 10 * length * (1 + stepsOf(policies))));
    // A name that was compared is not compared again.
    await checks.add({
      rows: rows.slice(0, 1),
      next: null,
      expired: 0,
      revoked: 0,
      deleted: 0,
      reads_since: 0,
    });
    await checks.add({ rows, next: null, expired: 0, revoked: 0, deleted: 0, reads_since: 0 });
    const naming = checks.findings().find(({ id }) => id === 'secrets-naming') as Finding;
    expect([naming.complete, naming.examined, naming.count]).toEqual([false, 11, 11]);
    expect(naming.tested).toContain('Only 11 secrets could be compared');
  });

  slow('100,000 secrets take no memory of their own', async () => {
    const checks = newSecretChecks([policy({ pattern: '^y' })], NOW, newSlices('o.key', 1_000_000));
    const rows = Array.from({ length: 1000 }, (_, n) =>
      secret(n, { name: 'x', created_at: NOW - 400 * DAY, rotated_at: NOW - 400 * DAY }),
    );
    for (let page = 0; page < 100; page++)
      await checks.add({ rows, next: null, expired: 0, revoked: 0, deleted: 0, reads_since: 0 });
    const findings = checks.findings();
    expect(checks.inventory().active).toBe(100_000);
    expect(findings.every(({ evidence }) => evidence.length <= 100)).toBe(true);
    expect(findings.find(({ id }) => id === 'secrets-naming')).toMatchObject({
      status: 'fail',
      count: 100_000,
    });
  });

  it('break-glass tokens in a report are bounded, and the report says that there were more', () => {
    const checks = newActivityChecks({ from: 0, to: NOW });
    const entry = (n: number): Entry => ({
      id: 'aud_x',
      sequence: n,
      time: new Date(NOW).toISOString(),
      action: 'secret.read',
      resource: null,
      environment: null,
      version: null,
      actor: { kind: 'break_glass', id: `bgt_${n}`, parent_id: null, name: null },
      reason: null,
      request_id: 'r',
      ip: '',
      user_agent: null,
      outcome: 'success',
      status: 200,
      count: 1,
      emergency: true,
      prev_hash: '',
      hash: '',
    });
    for (let n = 0; n < 1500; n++) checks.addRare(entry(n));
    const whole = { complete: true, notes: '' };
    expect(checks.findings(whole, whole)[0]).toMatchObject({ count: 1000, complete: false, status: 'warn' });
  });

  it('entries that move to D1 between two pages of the gate are not read there again', async () => {
    const asked: unknown[] = [];
    const pages = [
      { entries: [], next: 501, oldest: 1 },
      { entries: [], next: null, oldest: 801 },
    ];
    const parts = (async (part: unknown) => {
      asked.push(part);
      return pages[asked.length - 1];
    }) as Parts;
    expect(await walkGate(parts, { from: 0, to: NOW }, () => {})).toBe(501);
    expect(asked).toHaveLength(2);
  });
});
