// Every storage statement, D1 call and gate call of an enrolment, a login, a confirmation, a refresh, a
// sign-out and a terminal login fails once before and once after taking effect, and the gate is reset there.
// Afterwards nothing is half done: what was begun is whole, and what was asked again is done.
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { runTasks } from '../../src/gate/tasks/run';
import { type Fault, faults, faultsOf, reset } from '../support/faults';
import { inCore } from '../support/gate';
import { sampled } from '../support/limits/sampled';
import { type Browser, invite, newBrowser, newSignedIn, ORIGIN } from '../support/signin/browser';
import { newPasskey } from '../support/signin/passkey';
import { decide, newTerminal } from '../support/signin/terminal';
import { few } from '../support/slow';
import { type Answer, type Caller, db, useWorld } from '../support/world';

useWorld();

interface Step {
  /** Made once and, where it was not answered, once more. */
  send(): Promise<Answer>;
  /** What the same person does, whose attempt was lost for good. */
  anew(): Promise<Answer>;
  /** What must be so in the end, whichever way it went. */
  check(): Promise<void>;
}

const passkey = () => newPasskey(ORIGIN);

async function enrolled(o: Caller): Promise<Browser> {
  const browser = newBrowser(await passkey());
  const answer = await browser.enrol((await invite(o, 'viewer')).url);
  if (answer.status !== 200) throw new Error(answer.text);
  return browser;
}

const rowsOf = async (o: Caller, member: string) => {
  const count = async (sql: string) => (await db.prepare(sql).bind(o.id, member).first<number>('n')) ?? 0;
  return {
    passkeys: await count('select count(*) n from passkeys where org_id = ? and member_id = ?'),
    sessions: await count(
      "select count(*) n from credentials where org_id = ? and member_id = ? and kind = 'browser' and revoked_at is null",
    ),
    enrolling: await count(
      'select count(*) n from members where org_id = ? and id = ? and enrolment_hash is not null',
    ),
  };
};

const steps: Record<string, (o: Caller) => Promise<Step>> = {
  enrol: async (o) => {
    const { id, url } = await invite(o, 'viewer');
    const token = new URL(url).hash.slice(1);
    const browser = newBrowser(await passkey());
    const options = await browser.auth('/enrol/options', { token });
    const response = await browser.passkey.create(options.json);
    const attempt = () => browser.auth('/enrol', { token, response });
    return {
      send: attempt,
      // Whose reply was lost has a passkey: it signs in.
      anew: () => browser.login(),
      async check() {
        expect((await browser.whoami()).json.id).toBe(id);
        const { passkeys, sessions, enrolling } = await rowsOf(o, id);
        expect([passkeys, enrolling]).toEqual([1, 0]);
        expect(sessions).toBeLessThanOrEqual(2);
        expect(
          await inCore(
            o,
            (core) =>
              core.outbox
                .oldest(1000)
                .filter(({ type, data }) => type === 'MEMBER_ENROLLED' && data.member_id === id).length,
          ),
        ).toBe(1);
        expect((await attempt()).status).toBe(410);
      },
    };
  },
  login: async (o) => {
    const browser = await enrolled(o);
    const response = await browser.passkey.get(await browser.options());
    const attempt = () => browser.auth('/login', { response });
    return {
      send: attempt,
      anew: () => browser.login(),
      async check() {
        expect((await browser.whoami()).status).toBe(200);
        expect((await rowsOf(o, browser.member.id)).sessions).toBeLessThanOrEqual(3);
        expect((await attempt()).status).toBe(401);
      },
    };
  },
  confirm: async (o) => {
    const browser = await enrolled(o);
    const { cookie, token } = browser;
    const response = await browser.passkey.get(await browser.confirmOptions());
    const attempt = () => browser.auth('/confirm', { response }, { Authorization: `Bearer ${token}` });
    const sid = decodeJwt(token).sid as string;
    return {
      send: attempt,
      // Whose reply was lost still has the token from before.
      anew: () => browser.confirm(),
      async check() {
        const { refresh } = (await inCore(o, (core) => core.rows.get('credential', sid))) ?? {};
        expect(refresh).toMatchObject({ used: [], confirmed: refresh?.last, live: [refresh?.last] });
        expect((await browser.refresh()).status).toBe(200);
        expect((await attempt()).status).toBe(401);
        expect((await browser.refresh(cookie)).status).toBe(401);
        expect((await browser.whoami()).status).toBe(401);
      },
    };
  },
  refresh: async (o) => {
    const browser = await enrolled(o);
    const { cookie } = browser;
    return {
      send: () => browser.refresh(cookie),
      anew: () => browser.refresh(cookie),
      async check() {
        expect((await browser.whoami()).status).toBe(200);
        expect((await browser.refresh()).status).toBe(200);
        faults.clock = Date.now() + 30_000;
        expect((await browser.refresh(cookie)).status).toBe(401);
        expect((await browser.whoami()).status).toBe(401);
        faults.clock = null;
      },
    };
  },
  'sign out': async (o) => {
    const browser = await enrolled(o);
    const { cookie } = browser;
    return {
      send: () => browser.logout(cookie),
      anew: () => browser.logout(cookie),
      async check() {
        expect((await browser.whoami()).status).toBe(401);
        expect((await browser.refresh(cookie)).status).toBe(401);
        expect((await rowsOf(o, browser.member.id)).sessions).toBe(0);
      },
    };
  },
};

/** A terminal login that waits for its member. */
async function waiting(o: Caller) {
  const browser = await enrolled(o);
  const terminal = newTerminal();
  await terminal.start();
  const confirm = () => decide(browser, 'confirm', terminal.codes.user_code);
  const isOne = async () => expect((await rowsOf(o, browser.member.id)).sessions).toBe(2);
  return { terminal, confirm, isOne };
}

Object.assign(steps, {
  'confirm a terminal login': async (o) => {
    const { terminal, confirm, isOne } = await waiting(o);
    return {
      send: confirm,
      anew: confirm,
      async check() {
        expect((await confirm()).status).toBe(200);
        expect((await terminal.poll()).status).toBe(200);
        expect((await terminal.whoami()).status).toBe(200);
        await isOne();
      },
    };
  },
  'fetch the session of a terminal login': async (o) => {
    const { terminal, confirm, isOne } = await waiting(o);
    await confirm();
    return {
      send: () => terminal.poll(),
      anew: () => terminal.poll(),
      async check() {
        expect((await terminal.whoami()).status).toBe(200);
        expect((await terminal.refresh()).status).toBe(200);
        await isOne();
        faults.clock = Date.now() + 30_000;
        expect((await terminal.poll()).status).toBe(400);
        expect((await terminal.whoami()).status).toBe(401);
        faults.clock = null;
      },
    };
  },
  'refresh a terminal session': async (o) => {
    const { terminal, confirm, isOne } = await waiting(o);
    await confirm();
    await terminal.poll();
    const { refreshToken } = terminal;
    return {
      send: () => terminal.refresh(refreshToken),
      anew: () => terminal.refresh(refreshToken),
      async check() {
        expect((await terminal.refresh()).status).toBe(200);
        await isOne();
        faults.clock = Date.now() + 30_000;
        expect((await terminal.refresh(refreshToken)).status).toBe(401);
        expect((await terminal.whoami()).status).toBe(401);
        faults.clock = null;
      },
    };
  },
} satisfies typeof steps);

const done = ({ status }: Answer) => status === 200 || status === 204;

async function run(o: Caller, step: Step, fault?: Fault): Promise<void> {
  Object.assign(faults, { statements: 0, d1: 0, gate: 0 }, fault?.how);
  let answer = await step.send();
  if (!fault) return expect(done(answer), answer.text).toBe(true);
  const { orphans } = faults;
  reset();
  if (!done(answer)) expect(answer.status, `${fault.what}: ${answer.text}`).toBe(503);
  if (!done(answer)) answer = await step.send();
  for (const land of orphans) await land().catch(() => {});
  // What was done, its reply lost, cannot be done again: the person goes on from there.
  for (let i = 0; i < 3 && !done(answer); i++)
    answer = await (answer.status === 503 ? step.send() : step.anew());
  expect(done(answer), `${fault.what}: ${answer.text}`).toBe(true);
  await inCore(o, (core) => runTasks(core, Date.now() + 10_000));
  await step.check();
}

it.each(few(Object.keys(steps), 3))(
  'sign-in fault: to %s is done completely or not at all, whatever call fails',
  async (what) => {
    const prepare = steps[what] as (o: Caller) => Promise<Step>;
    let { o } = await newSignedIn();
    await run(o, await prepare(o));
    const { statements, d1, gate } = faults;
    expect(statements).toBeGreaterThan(3);
    let used = 0;
    for (const fault of sampled(
      [...faultsOf({ statements, d1, gate })],
      what.includes('terminal') ? 12 : 4,
    )) {
      if (++used % 60 === 0) ({ o } = await newSignedIn());
      await run(o, await prepare(o), fault);
    }
    expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: true });
  },
);
