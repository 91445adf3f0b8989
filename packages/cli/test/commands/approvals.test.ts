// --wait and --approval: exactly the held request is repeated once it is approved. The requester is a
// developer at a terminal; the owner decides.
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { startProxy } from '../../../../test/packages/proxy.mjs';
import { call, newOrg, settle } from '../../../../test/packages/vault.mjs';
import { CredentialStore } from '../../src/settings/store.ts';
import { Machine, until } from '../harness.ts';

let machine: Machine;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let at: { url: string; org: string; key: string };
let owner: string;

const api = (method: string, path: string, body?: unknown, token = at.key) =>
  call(at.url, token, method, `/orgs/${at.org}${path}`, body);
const decide = (id: string, how: 'approve' | 'reject') => api('POST', `/approvals/${id}/${how}`, {}, owner);
const pending = async (): Promise<{ id: string } | undefined> =>
  (await api('GET', '/approvals?status=pending')).data[0];
const isAsked = (part: string) => proxy.seen.some(({ path }) => path.includes(part));
const calls = () => proxy.seen.filter(({ path }) => path.includes('/by-name/'));

/** Runs svc until its request is held, then decides. */
async function decided(argv: string[], decision: (id: string) => Promise<unknown>, stdin?: string) {
  const running = machine.svc(argv, { stdin });
  let id = '';
  await until(async () => {
    id = (await pending())?.id ?? '';
    return id !== '' && isAsked(`/approvals/${id}?wait=`);
  });
  await decision(id);
  return { id, ran: await running };
}

beforeAll(async () => {
  const made = await newOrg(inject('vaultUrl'));
  at = made;
  proxy = await startProxy(at.url);
  owner = (await signedInTerminal(at.url, made.enrolmentUrl)).browser.token;
  const member = await api('POST', '/members', { email: 'dev@example.com', name: 'Dev', role: 'developer' });
  const { session } = await signedInTerminal(at.url, member.enrolment_url);
  settle(inject('vaultState'), at.org);
  for (const name of ['A', 'B', 'C'])
    await api('POST', '/secrets', { name, type: 'generic', value: 'v', environment: 'staging' });
  await api('POST', '/policies', {
    name: 'four eyes',
    kind: 'approval',
    applies_to: { environments: ['staging'] },
    config: { operations: ['secret.read', 'secret.update'], required: 1, approvers: { role: 'owner' } },
  });
  machine = new Machine({ SVC_URL: proxy.url, SVC_ORG_ID: at.org, SVC_ENVIRONMENT: 'staging' });
  await new CredentialStore(machine.config, async () => undefined).save(proxy.url, 'default', {
    kind: 'terminal',
    session,
  });
});
beforeEach(() => proxy.reset());
afterAll(() => proxy.close());

describe('approval', () => {
  it('approval: with --wait exactly the same request is repeated once it is approved', async () => {
    const { id, ran } = await decided(['set', 'A', '--wait'], (id) => decide(id, 'approve'), 'horse');
    expect(ran.code, ran.stderr).toBe(0);
    const [held, repeated] = calls();
    expect(calls()).toHaveLength(2);
    expect(repeated).toEqual({ ...held, headers: { ...held?.headers, 'approval-id': id } });
    expect(ran.stderr).toContain(`/console/approvals/${id}`);
    expect((await decided(['get', 'A', '--wait'], (id) => decide(id, 'approve'))).ran).toMatchObject({
      code: 0,
      stdout: 'horse',
    });
  });

  it('approval: waiting outlasts the session token, which is renewed', async () => {
    const { ran } = await decided(['get', 'B', '--wait'], async (id) => {
      proxy.fail({
        kind: 'refuse',
        status: 401,
        body: { error: { code: 'TOKEN_EXPIRED', message: 'The token has expired.', docs: '' } },
        when: ({ url }) => Boolean(url?.includes('/approvals/')),
      });
      proxy.hangUp();
      await until(() => isAsked('/auth/refresh'));
      await decide(id, 'approve');
    });
    expect(ran).toMatchObject({ code: 0, stdout: 'v' });
    const [held, repeated] = calls().map(({ headers }) => headers.authorization);
    expect(repeated).not.toBe(held);
  });

  it('approval: a rejected or cancelled request is not repeated', async () => {
    const cancel = (id: string) => machine.svc(['approval', 'cancel', id]);
    for (const decision of [(id: string) => decide(id, 'reject'), cancel]) {
      expect((await decided(['get', 'C', '--wait'], decision)).ran.code).toBe(4);
      expect(proxy.seen.filter(({ headers }) => headers['approval-id'])).toEqual([]);
    }
  });

  it('approval: without --wait svc does not wait; with --approval the header is sent immediately', async () => {
    expect((await machine.svc(['get', 'A'])).code).toBe(8);
    expect(calls()).toHaveLength(1);
    const { id = '' } = (await pending()) ?? {};
    expect((await machine.svc(['approval', 'wait', id, '--timeout', '1s'])).code).toBe(8);
    await decide(id, 'approve');
    expect((await machine.svc(['approval', 'wait', id])).code).toBe(0);
    expect(await machine.svc(['get', 'A', '--approval', id])).toMatchObject({ code: 0, stdout: 'horse' });
    expect(calls().map(({ headers }) => headers['approval-id'])).toEqual([undefined, id]);
  });

  it('approval: a malformed id is not used in a path', async () => {
    const error = {
      code: 'APPROVAL_REQUIRED',
      message: 'Held.',
      docs: '',
      approval: { id: '../../whoami', status: 'pending' },
    };
    proxy.fail({ kind: 'refuse', status: 403, body: { error } });
    expect((await machine.svc(['get', 'A', '--wait'])).code).toBe(8);
    expect(proxy.seen).toHaveLength(1);
  });
});
