// Connections by SAML, and sign-in with them. The SAML Worker is the one of the tests: `packages/saml` has
// the tests of signatures and XML.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { faults } from '../../support/faults';
import { approvalIn, newApprovalPolicy, plantApproval, under } from '../../support/governance/approvals';
import { type Browser, newSignedIn } from '../../support/signin/browser';
import { answerNames, newResolver } from '../../support/signin/dns';
import { askedIn, formOf, metadataOf, samlWorker } from '../../support/signin/saml';
import {
  enrolled,
  newDomain,
  newSsoBrowser,
  reasonOf,
  type SsoBrowser,
} from '../../support/signin/sso-signin';
import { type Caller, codeOf, newSecret, send, useWorld } from '../../support/world';

useWorld();

const IDP = 'https://idp.example.com';
let served: () => Response;
beforeEach(() => {
  served = () => new Response(metadataOf(IDP));
  answerNames(newResolver(), () => served());
  faults.variables = { SAML: samlWorker };
  faults.isolate++;
});
afterEach(() => {
  vi.unstubAllGlobals();
  faults.variables = {};
  faults.isolate++;
});

let domains = 0;
async function office(more: object = {}, entityId = IDP) {
  const { o, browser } = await newSignedIn();
  await browser.confirm();
  const domain = `saml-${++domains}.example.com`;
  const made = await make(browser, {
    metadata_xml: metadataOf(entityId),
    domains: [await newDomain(o, domain)],
    ...more,
  });
  if (made.status !== 201) throw new Error(made.text);
  return { o, owner: browser, domain, id: made.json.id as string, at: (name: string) => `${name}@${domain}` };
}
const make = (browser: Browser, fields: object) =>
  browser.o.post('/sso-connections', { kind: 'saml', name: 'Okta', domains: [], ...fields });

const post = (browser: SsoBrowser, form: URLSearchParams) =>
  browser.call('POST', '/sso/acs', form.toString(), {
    'Content-Type': 'application/x-www-form-urlencoded',
    Origin: 'null',
  });
async function start(browser: SsoBrowser, body: unknown) {
  const { status, json, text } = await browser.start(body);
  if (status !== 200) throw new Error(text);
  return askedIn(json.url);
}
const says = (email: string, subject: string, attributes: Record<string, string[]> = {}) => ({
  assertion: { subject, attributes: { email: [email], ...attributes } },
});

it('saml connection: is made of metadata, shown, and changed with new certificates', async () => {
  const { owner, id } = await office();
  const path = `/sso-connections/${id}`;
  const shown = (await owner.o.get(path)).json;
  expect(shown).toMatchObject({
    kind: 'saml',
    issuer: IDP,
    client_id: null,
    redirect_uri: null,
    acs_url: 'http://localhost/sso/acs',
    entity_id: `http://localhost/sso/saml/${id}`,
  });
  expect(shown.certificates).toHaveLength(1);
  served = () => new Response(metadataOf(IDP, { certificates: ['key-1', 'key-2'] }));
  const changed = await owner.o.patch(path, { metadata_url: `${IDP}/metadata` });
  expect([changed.status, changed.json.certificates.length, changed.json.metadata_url]).toEqual([
    200,
    2,
    `${IDP}/metadata`,
  ]);
});

it('saml connection: refuses fields of other kinds, private addresses and unreadable metadata', async () => {
  const { owner, id } = await office();
  const metadata_xml = metadataOf(IDP);
  const wrong: [object, string][] = [
    [{}, 'metadata_xml'],
    [{ metadata_xml, metadata_url: IDP }, 'metadata_xml'],
    [{ metadata_xml, client_secret: 'x' }, 'client_secret'],
    [{ metadata_xml: '<' }, 'metadata_xml'],
    [{ metadata_xml: metadataOf(IDP, { signInUrl: 'https://169.254.169.254/' }) }, 'metadata_xml'],
    [{ metadata_xml: metadataOf(IDP, { signInUrl: 'javascript:alert(1)' }) }, 'metadata_xml'],
    [{ metadata_url: 'http://127.0.0.1/' }, 'metadata_url'],
  ];
  for (const [fields, path] of wrong) {
    const { status, json } = await make(owner, fields);
    expect([fields, status, json.error?.details?.[0]?.path]).toEqual([fields, 400, path]);
  }
  const patch = await owner.o.patch(`/sso-connections/${id}`, { issuer: 'https://x.example.com' });
  expect([patch.status, patch.json.error.details[0].path]).toEqual([400, 'issuer']);
  served = () => new Response('', { status: 302, headers: { Location: IDP } });
  expect(codeOf(await make(owner, { metadata_url: IDP }))).toEqual([502, 'TARGET_UNREACHABLE']);
});

it('saml connection: a provider that names people by addresses needs subject_attribute, at creation and later', async () => {
  const { owner } = await office();
  const format = (version: string, name: string) =>
    `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`;
  const email = format('1.1', 'emailAddress');
  const of = (...nameIdFormats: string[]) => ({ metadata_xml: metadataOf(IDP, { nameIdFormats }) });
  for (const fields of [of(email), of(email, format('2.0', 'transient'))]) {
    const { status, json } = await make(owner, fields);
    expect([status, json.error?.details?.[0]?.path]).toEqual([400, 'subject_attribute']);
  }
  for (const fields of [
    of(),
    of(email, format('2.0', 'persistent')),
    of(email, format('1.1', 'unspecified')),
    of(format('2.0', 'transient')),
  ])
    expect((await make(owner, fields)).status).toBe(201);
  const { status, json } = await make(owner, { ...of(email), subject_attribute: 'oid' });
  expect(status).toBe(201);
  const path = `/sso-connections/${json.id}`;
  expect((await owner.o.patch(path, { subject_attribute: null })).json.error.details[0].path).toBe(
    'subject_attribute',
  );
  expect((await owner.o.patch(path, { name: 'Renamed' })).status).toBe(200);
  const lasting = { ...of(format('2.0', 'persistent')), subject_attribute: null };
  expect((await owner.o.patch(path, lasting)).status).toBe(200);
  expect((await owner.o.patch(path, of(email))).status).toBe(400);
});

it('saml connection: a deployment without the SAML Worker says so', async () => {
  const { owner, id } = await office();
  faults.variables = {};
  faults.isolate++;
  const { status, text } = await make(owner, { metadata_xml: metadataOf(IDP) });
  expect([status, text.includes('npm run deploy -- --saml')]).toEqual([400, true]);
  const started = await newSsoBrowser().start({ connection_id: id });
  expect([codeOf(started), started.text.includes('--saml')]).toEqual([[503, 'MISCONFIGURED'], true]);
});

it('saml metadata: names the entity and the address of responses', async () => {
  const { id } = await office();
  const { status, text } = await send('GET', `/sso/saml/${id}`);
  expect([status, text.includes(`entityID="http://localhost/sso/saml/${id}"`)]).toEqual([200, true]);
  expect(text).toContain('Location="http://localhost/sso/acs"');
  expect((await send('GET', '/sso/saml/sso_x')).status).toBe(404);
});

it('saml sign-in: makes a member, begins a session, and gives the roles of groups', async () => {
  const { at, o } = await office({ jit: true, role_mappings: [{ group: 'devs', role: 'developer' }] });
  const browser = newSsoBrowser();
  const begun = await browser.start({ email: at('bea') });
  expect(begun.headers.get('set-cookie')).toMatch(/^__Host-svc_sso=.*; HttpOnly; Secure; SameSite=None$/);
  const asked = askedIn(begun.json.url);
  expect([asked.force, asked.persistent]).toEqual([false, true]);
  const form = formOf(asked, IDP, says(at('bea'), 'bea', { groups: ['devs'] }));
  const { status, headers, text } = await post(browser, form);
  expect([status, headers.get('location'), await reasonOf(o)], text).toEqual([303, '/console', null]);
  expect((await browser.session()).member).toMatchObject({ email: at('bea'), role: 'developer' });
  expect((await browser.whoami()).status).toBe(200);
});

it('saml sign-in: a member with a passkey links with it', async () => {
  const { at, o } = await office();
  const bea = await enrolled(o, at('bea'));
  const browser = newSsoBrowser();
  const form = formOf(await start(browser, { email: bea.email }), IDP, says(bea.email, 'bea'));
  const { status, headers } = await post(browser, form);
  expect([status, headers.get('location')]).toEqual([303, '/sso/link#/console']);
  expect(headers.get('set-cookie')).toContain('SameSite=Lax');
  expect((await browser.link(bea.passkey)).status).toBe(200);
});

it('saml sign-in: a subject comes from subject_attribute, or else from a persistent NameID', async () => {
  const { at, o, owner, id } = await office({ jit: true });
  const one = newSsoBrowser();
  const { assertion } = says(at('bea'), at('bea'), { oid: ['o-1'] });
  const format = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
  const said = { assertion: { ...assertion, format } };
  expect((await post(one, formOf(await start(one, { connection_id: id }), IDP, said))).status).toBe(403);
  expect(await reasonOf(o)).toContain('persistent');
  expect((await owner.o.patch(`/sso-connections/${id}`, { subject_attribute: 'oid' })).status).toBe(200);
  const two = newSsoBrowser();
  const asked = await start(two, { connection_id: id });
  expect(asked.persistent).toBe(false);
  expect((await post(two, formOf(asked, IDP, said))).status).toBe(303);
});

// ---------------------------------------------------------------- attacks

const attacks: [string, Parameters<typeof formOf>[2], string][] = [
  ['another request', { requestId: '_other' }, 'another request'],
  ['another provider', { issuer: 'https://evil.example.net' }, 'another provider'],
  ['another audience', { audience: 'http://localhost/sso/saml/sso_other' }, 'another audience'],
  ['another recipient', { recipient: 'https://evil.example.net/acs' }, 'another address'],
  ['a key of nobody', { key: 'key-9' }, 'signature'],
  ['the past', { isExpired: true }, 'expired'],
];
it.each(attacks)('saml attack: a response of %s begins no session', async (_, said, reason) => {
  const { at, o } = await office({ jit: true });
  const browser = newSsoBrowser();
  const asked = await start(browser, { email: at('bea') });
  const form = formOf(asked, IDP, { ...says(at('bea'), 'bea'), ...said });
  expect((await post(browser, form)).status).toBe(403);
  expect(await reasonOf(o)).toContain(reason);
  expect((await browser.refresh()).status).toBe(401);
});

it('saml attack: a response to nobody, in another browser, or a second time begins no session', async () => {
  const { at } = await office({ jit: true });
  const browser = newSsoBrowser();
  const form = formOf(await start(browser, { email: at('bea') }), IDP, says(at('bea'), 'bea'));
  expect((await post(newSsoBrowser(), form)).status).toBe(403);
  // Login CSRF: the attacker's response in a browser that began a sign-in of its own.
  const victim = newSsoBrowser();
  await start(victim, { email: at('ann') });
  expect((await post(victim, form)).status).toBe(403);
  const cookies = new Map(browser.jar);
  expect((await post(browser, form)).status).toBe(303);
  const again = newSsoBrowser();
  for (const [name, value] of cookies) again.jar.set(name, value);
  expect((await post(again, form)).status).toBe(403);
});

it('saml attack: a response without its RelayState, or with two, begins no session', async () => {
  const { at } = await office({ jit: true });
  const changes: ((form: URLSearchParams) => void)[] = [
    (form) => form.delete('RelayState'),
    (form) => form.set('RelayState', 'another'),
    (form) => form.append('RelayState', form.get('RelayState') as string),
    (form) => form.append('SAMLResponse', form.get('SAMLResponse') as string),
  ];
  for (const change of changes) {
    const browser = newSsoBrowser();
    const form = formOf(await start(browser, { email: at('bea') }), IDP, says(at('bea'), 'bea'));
    change(form);
    expect((await post(browser, form)).status).toBe(403);
  }
});

it('saml attack: an address of a domain that another organisation proved makes nobody', async () => {
  const { id, o } = await office({ jit: true });
  const other = await office({ jit: true }, 'https://other.example.com');
  await enrolled(other.o, other.at('ann'));
  for (const name of ['ann', 'new']) {
    const browser = newSsoBrowser();
    const form = formOf(await start(browser, { connection_id: id }), IDP, says(other.at(name), name));
    expect((await post(browser, form)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the address is in no verified domain of the connection');
  }
});

it("saml attack: another connection's response does not count, nor does one over a changed provider", async () => {
  const { at, owner, id, o } = await office({ jit: true });
  const other = await office({ jit: true });
  const browser = newSsoBrowser();
  const mine = await start(browser, { connection_id: id });
  const theirs = await start(newSsoBrowser(), { connection_id: other.id });
  const form = formOf(theirs, IDP, says(at('bea'), 'bea'));
  expect((await post(browser, form)).status).toBe(403);
  expect(mine.issuer).not.toBe(theirs.issuer);
  const stale = newSsoBrowser();
  const asked = await start(stale, { connection_id: id });
  const evil = 'https://evil.example.net';
  await patched(owner.o, id, { metadata_xml: metadataOf(evil) });
  expect((await post(stale, formOf(asked, evil, says(at('bea'), 'bea')))).status).toBe(403);
  expect(await reasonOf(o)).toContain('another issuer');
});

it('saml attack: the callback of OpenID Connect and that of SAML take no sign-in of the other', async () => {
  const { at } = await office({ jit: true });
  const browser = newSsoBrowser();
  const { relayState } = await start(browser, { email: at('bea') });
  expect((await browser.callback(new URLSearchParams({ code: 'x', state: relayState }))).status).toBe(403);
});

async function patched(o: Caller, id: string, fields: object) {
  const { status, text } = await o.patch(`/sso-connections/${id}`, fields);
  if (status !== 200) throw new Error(text);
}

it('saml attack: whoever changes the keys that sign spends nothing that was approved for its members', async () => {
  const { at, o, owner, id } = await office({ jit: true, default_role: 'developer' });
  const bea = newSsoBrowser();
  await post(bea, formOf(await start(bea, { email: at('bea') }), IDP, says(at('bea'), 'bea')));
  await newSecret(o, { name: 'DB' });
  await newApprovalPolicy(o, ['secret.read']);
  const asked = approvalIn(await o.as((await bea.session()).token).get('/secrets/by-name/DB'));
  await plantApproval(o, asked.id);
  const metadata_xml = metadataOf(IDP, { certificates: ['key-2'] });
  expect((await owner.o.patch(`/sso-connections/${id}`, { metadata_xml })).status).toBe(200);
  const puppet = newSsoBrowser();
  const said = { ...says(at('bea'), 'bea'), key: 'key-2' };
  expect((await post(puppet, formOf(await start(puppet, { email: at('bea') }), IDP, said))).status).toBe(303);
  const as = o.as((await puppet.session()).token);
  expect(codeOf(await as.get('/secrets/by-name/DB', under(asked.id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});
