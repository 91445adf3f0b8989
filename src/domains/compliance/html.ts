// The compliance report as one page: it loads nothing, has no scripts and prints well. Invariant: text enters
// only through hono's `html`, which escapes it, since names, reasons and user agents are user input.

import { html } from 'hono/html';
import type { CredentialKind } from '../../db/credential-kinds';
import { type Markup, page, responseOf } from '../../http/html-page';
import { areas } from './catalogue';
import { type Bar, bars, narrow, ratio, wide } from './charts';
import { style } from './style';
import { type Control, type Evidence, type Finding, frameworks, type Report, type Status } from './wire';

const words: Record<Status, string> = {
  fail: 'Fail',
  warn: 'Warn',
  pass: 'Pass',
  not_applicable: 'Not applicable',
};
const signs: Record<Status, string> = { fail: '✕', warn: '!', pass: '✓', not_applicable: '–' };
/** Worst first. */
const order: readonly Status[] = ['fail', 'warn', 'pass', 'not_applicable'];

const kinds: Record<CredentialKind, string> = {
  api_key: 'API keys',
  agent: 'Agents',
  provider: 'Provider tokens',
  break_glass: 'Break-glass tokens',
  session: 'Session tokens',
  browser: 'Browser sessions',
  trust: 'Trusts',
  scim: 'SCIM tokens',
};

const badge = (status: Status): Markup =>
  html`<span class="badge ${status}">${signs[status]} ${words[status]}</span>`;
const number = (value: number): string => value.toLocaleString('en');
/** A time to the minute, in UTC. */
const shortTime = (time: string): string => `${time.slice(0, 10)} ${time.slice(11, 16)}`;
const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(value);
const named = (id: string): string => id.replaceAll('_', ' ');

const statusParts = (of: (status: Status) => number): Bar['parts'] =>
  order.map((status) => ({ name: words[status], className: status, value: of(status) }));

function head({ org, generated_at, period, summary }: Report): Markup {
  return html`<header>
<p class="kicker">Compliance report</p>
<h1>${org.name}</h1>
<dl class="meta">
<div><dt>Period</dt><dd>${shortTime(period.from)} to ${shortTime(period.to)} UTC</dd></div>
<div><dt>Made</dt><dd>${shortTime(generated_at)} UTC</dd></div>
<div><dt>Organisation</dt><dd class="id">${org.id}</dd></div>
</dl>
</header>
<div class="tiles">${order.map((status) => html`<div class="tile ${status}"><b>${summary[status]}</b><span>${signs[status]} ${words[status]}</span></div>`)}</div>
${ratio(
  'Findings by status',
  statusParts((status) => summary[status]),
)}`;
}

function charts({ findings, inventory }: Report): Markup {
  const inArea = (area: string, status: Status) =>
    findings.filter((one) => one.area === area && one.status === status).length;
  const byArea = Object.entries(areas).map(([area, label]) => ({
    label,
    parts: statusParts((status) => inArea(area, status)),
  }));
  const said = ({ parts }: Bar) =>
    parts
      .filter(({ value, className }) => value && className !== 'not_applicable')
      .map(({ name, value }) => `${value} ${name.toLowerCase()}`)
      .join(', ') || 'not applicable';
  const ages = inventory.secrets.by_age.map(({ days, secrets }) => ({
    label: days.startsWith('over') ? `${days} days` : `${days.replace('-', ' to ')} days`,
    parts: [{ name: 'Secrets', className: 'bar', value: secrets }],
  }));
  const credentials = inventory.credentials.map(({ kind, live, without_expiry }) => ({
    label: kinds[kind as CredentialKind],
    parts: [
      { name: 'With an expiry', className: 'bar', value: live - without_expiry },
      { name: 'Without an expiry', className: 'warn', value: without_expiry },
    ],
  }));
  const endless = ({ parts: [ending, without] }: Bar) => {
    const all = (ending?.value ?? 0) + (without?.value ?? 0);
    return without?.value ? `${number(all)} (${number(without.value)} without expiry)` : number(all);
  };
  return html`<section aria-labelledby="glance"><h2 id="glance">At a glance</h2>
<div class="charts">
<figure class="wide"><figcaption>Findings by area</figcaption>${bars('Findings by area', byArea, wide, said)}</figure>
<figure><figcaption>Age of current values <small>Active secrets, by days since their value last changed</small></figcaption>${bars('Age of current values', ages, narrow)}</figure>
<figure><figcaption>Live credentials <small>By kind, and how many have no expiry</small></figcaption>${bars('Live credentials', credentials, narrow, endless)}</figure>
</div></section>`;
}

function overview({ findings }: Report): Markup {
  const sorted = [...findings].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  return html`<section aria-labelledby="findings"><h2 id="findings">Findings</h2>
<div class="scroll"><table><thead><tr><th scope="col">Status</th><th scope="col">Finding</th><th scope="col" class="n">Found</th><th scope="col" class="n">Examined</th><th scope="col">SOC 2</th><th scope="col">ISO/IEC 27001</th></tr></thead>
<tbody>${sorted.map(
    ({ id, status, title, count, examined, controls }) =>
      html`<tr><td>${badge(status)}</td><td><a href="#${id}">${title}</a></td><td class="n">${number(count)}</td><td class="n">${number(examined)}</td><td class="dim">${controls.soc2.join(', ')}</td><td class="dim">${controls.iso27001.join(', ')}</td></tr>`,
  )}</tbody></table></div></section>`;
}

function evidenceRow({ id, name, environment, time, detail, facts, people = [] }: Evidence): Markup {
  const shown = Object.entries(facts).filter(([, value]) => value !== null && value !== '');
  return html`<tr>
<td class="wrap">${name === null ? null : html`<strong>${name}</strong><br>`}<span class="id">${id}</span>${environment === null ? null : html`<br><span class="dim">${environment}</span>`}</td>
<td class="at">${time === null ? '' : shortTime(time)}</td>
<td class="wrap">${detail}${people.map(
    (one) =>
      html`<span class="facts">${one.decision === 'approve' ? 'Approved' : 'Rejected'} by ${one.name ?? one.id} (${one.id}) at ${shortTime(one.time)}</span>`,
  )}<span class="facts">${shown.map(([fact, value]) => html`<i>${named(fact)}: ${isTime(value) ? shortTime(value) : String(value)}</i> `)}</span></td>
</tr>`;
}

function evidenceTable({ evidence, count }: Finding): Markup | null {
  if (evidence.length === 0) return null;
  return html`<div class="scroll" tabindex="0"><table class="evidence"><thead><tr><th scope="col" class="what">What</th><th scope="col" class="at">Time (UTC)</th><th scope="col">Evidence</th></tr></thead>
<tbody>${evidence.map(evidenceRow)}</tbody></table></div>
${count > evidence.length ? html`<p class="more">Showing the first ${number(evidence.length)} of ${number(count)}.</p>` : null}`;
}

function details({ findings }: Report): Markup {
  const one = (finding: Finding) => {
    const { id, title, status, count, examined, complete, tested, remedy, controls } = finding;
    return html`<article class="finding" id="${id}"><header><h3>${title}</h3>${badge(status)}</header>
<p class="result">${number(count)} found, ${number(examined)} examined${complete ? '' : '; not everything could be examined'}</p>
<dl class="about"><dt>What was tested</dt><dd>${tested}</dd>${status === 'fail' || status === 'warn' ? html`<dt>Remedy</dt><dd>${remedy}</dd>` : null}
<dt>Controls</dt><dd>SOC 2 ${controls.soc2.join(', ')} · ISO/IEC 27001 ${controls.iso27001.join(', ')}</dd></dl>
${evidenceTable(finding)}</article>`;
  };
  return html`<section aria-labelledby="details"><h2 id="details">Findings in detail</h2>
${Object.entries(areas).map(([area, title]) => html`<h4>${title}</h4>${findings.filter((finding) => finding.area === area).map(one)}`)}</section>`;
}

function controls(report: Report): Markup {
  const titles = new Map(report.findings.map(({ id, title }) => [id, title]));
  const row = ({ id, title, status, findings }: Control) =>
    html`<tr><td class="dim">${id}</td><td>${title}</td><td>${badge(status)}</td><td>${findings.map((finding, at) => html`${at ? ' · ' : ''}<a href="#${finding}">${titles.get(finding) ?? finding}</a>`)}</td></tr>`;
  const table = ([framework, title]: [string, string]) =>
    html`<h4>${title}</h4><div class="scroll"><table><thead><tr><th scope="col">Control</th><th scope="col">Title</th><th scope="col">Status</th><th scope="col">Findings</th></tr></thead>
<tbody>${report.controls.filter((control) => control.framework === framework).map(row)}</tbody></table></div>`;
  return html`<section aria-labelledby="controls"><h2 id="controls">Controls</h2>
<p class="dim">The status of a control is the worst of its findings.</p>
${Object.entries(frameworks).map(table)}</section>`;
}

const pairs = (list: [string, string | number][]): Markup =>
  html`<table><tbody>${list.map(([name, value]) => html`<tr><td>${name}</td><td class="n">${typeof value === 'number' ? number(value) : value}</td></tr>`)}</tbody></table>`;

function inventory({
  inventory: { secrets, credentials, members, devices, policies, audit_log },
}: Report): Markup {
  const { head, verified_from, verified_to, last_checkpoint, retention_days } = audit_log;
  return html`<section aria-labelledby="inventory"><h2 id="inventory">Inventory</h2>
<div class="columns">
<div><h4>Secrets</h4>${pairs([
    ['Active', secrets.active],
    ['of these with a generated value', secrets.generated],
    ['Expired', secrets.expired],
    ['Revoked', secrets.revoked],
    ['Deleted, restorable', secrets.deleted],
  ])}</div>
<div><h4>Members</h4>${pairs([['All', members.total], ['Suspended', members.suspended], ...Object.entries(members.by_role).map(([role, n]): [string, number] => [`Role ${role}`, n])])}</div>
<div><h4>Devices</h4>${pairs([
    ['All', devices.total],
    ['Assigned', devices.assigned],
    ['Blocked', devices.blocked],
  ])}</div>
<div><h4>Enabled policies</h4>${pairs([
    ['Naming', policies.naming],
    ['Rotation', policies.rotation],
    ['Approval', policies.approval],
  ])}</div>
</div>
<h4>Credentials</h4>
<div class="scroll"><table><thead><tr><th scope="col">Kind</th><th scope="col" class="n">Live</th><th scope="col" class="n">Without an expiry</th><th scope="col" class="n">Unused</th><th scope="col" class="n">Over-scoped</th></tr></thead>
<tbody>${credentials.map((one) => html`<tr><td>${kinds[one.kind as CredentialKind]}</td><td class="n">${number(one.live)}</td><td class="n">${number(one.without_expiry)}</td><td class="n">${number(one.unused)}</td><td class="n">${number(one.over_scoped)}</td></tr>`)}</tbody></table></div>
<h4>Audit log</h4>
<table><tbody>
<tr><td>Newest entry</td><td class="wrap">sequence ${number(head.sequence)}, hash <span class="id">${head.hash}</span></td></tr>
<tr><td>Verified for this report</td><td>sequences ${number(verified_from)} to ${number(verified_to)}</td></tr>
<tr><td>Last checkpoint</td><td>${last_checkpoint ? `sequence ${number(last_checkpoint.sequence)}, ${shortTime(last_checkpoint.time)} UTC` : 'none'}</td></tr>
<tr><td>Retention</td><td>${number(retention_days)} days</td></tr>
</tbody></table></section>`;
}

const method = (): Markup => html`<section aria-labelledby="method"><h2 id="method">About this report</h2>
<div class="notes"><p>Secrets, credentials, members and devices are reported as they were when the report was created. Data from the audit log and approvals covers the period.</p>
<p>Each finding says what exactly was tested, with its thresholds, and shows the first 100 pieces of evidence with their total number. Session tokens and browser sessions are counted, and not tested one by one.</p>
<p>A status says whether these tests held. It is evidence for an auditor, and no attestation: controls need more than what a secrets manager can see. The titles of the SOC 2 criteria are summaries.</p>
<p>The report holds no values of secrets and no tokens.</p></div></section>`;

export function htmlOf(report: Report): Response {
  const content = html`<main>
${head(report)}
${charts(report)}
${overview(report)}
${details(report)}
${controls(report)}
${inventory(report)}
${method()}
</main>
<footer>Secrets Vault Service · ${report.org.name} · ${shortTime(report.generated_at)} UTC</footer>`;
  return responseOf(page(`Compliance report: ${report.org.name}`, content, { document: { style } }));
}
