// A member at the console: a real Chromium with a virtual authenticator, signed in to a separate organisation
// on the real service. Invariant: a test fails if the page logs an error, throws, violates its policy, or
// ends with a page wider than its screen.
import fs from 'node:fs';
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { call, newOrg, settle } from '../../../../test/packages/vault.mjs';
import { type Look, lookOf, onContext, tooWide } from './look.ts';

const usual = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
/** The path of Chromium; without it, tests of the console are skipped. */
export const executablePath = usual.find((file) => file && fs.existsSync(file));

export interface Person {
  page: Page;
  context: BrowserContext;
  org: string;
  key: string;
  /** Calls the API below `/orgs/ORG` with the organisation's first API key. */
  // biome-ignore lint/suspicious/noExplicitAny: what the test knows of the answer.
  api: (method: string, at: string, body?: unknown) => Promise<any>;
  /** Opens an address below /console and waits for its heading. */
  go: (at: string, heading?: string) => Promise<void>;
  /** Follows an entry of the navigation, which is behind a button on narrow screens. */
  navigate: (label: string) => Promise<void>;
  /** Whether the member confirms when asked for their passkey. They do, until this says otherwise. */
  confirms: (is: boolean) => Promise<void>;
  devtools: CDPSession;
  /** Errors that the page logged or threw, and policy violations. Empty at the end of a test. */
  said: string[];
  url: string;
}

/** One a worker, for all of its files: it ends with the process. Each person has a context of their own. */
let browser: Browser | undefined;

/** The browser for the tests of a file. After each test, no page may be wider than its screen. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });
  afterEach(async () => {
    const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
    expect(await Promise.all(pages.map(tooWide))).toEqual(pages.map(() => null));
  });
  afterAll(async () => {
    await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
  });
}

/**
 * An authenticator that confirms at once, or refuses: as a person does who cancels, or whose finger is not
 * recognised.
 */
export async function addAuthenticator(
  devtools: CDPSession,
): Promise<(isUserVerified: boolean) => Promise<void>> {
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return async (isUserVerified) => {
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
  };
}

export interface Circumstances {
  /** The organisation and the enrolment link; default: the owner of a new organisation. */
  invited?: { org: string; key: string; enrolmentUrl: string };
  /** Default: the look of the test file. */
  look?: Look;
  /** A proxy between the browser and the service (test/packages/proxy.mjs). */
  proxy?: string;
}

/** Opens the navigation if it is behind its button. */
export async function openNavigation(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Open navigation' });
  if (await button.isVisible()) await button.click();
}

/** A member with a passkey at the console. */
export async function newPerson({
  invited,
  proxy,
  look = lookOf(expect.getState().testPath ?? ''),
}: Circumstances = {}): Promise<Person> {
  const url = inject('vaultUrl');
  const { org, key, enrolmentUrl } = invited ?? (await newOrg(url));
  const context = await (browser as Browser).newContext({
    ...onContext(look),
    ...(proxy && { proxy: { server: proxy, bypass: '<-loopback>' } }),
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const said: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      said.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => said.push(String(error)));
  const devtools = await context.newCDPSession(page);
  const confirms = await addAuthenticator(devtools);
  await page.goto(enrolmentUrl);
  await page.click('#act');
  await page.waitForSelector('#who:not([hidden])');
  said.length = 0;
  const go = async (at: string, heading?: string) => {
    await page.goto(`${url}/console${at}`);
    await page.waitForSelector(heading ? `h1:text-is(${JSON.stringify(heading)})` : 'h1');
  };
  const navigate = async (label: string) => {
    await openNavigation(page);
    await page
      .getByRole('navigation', { name: 'Console' })
      .getByRole('link', { name: new RegExp(`^${label}`) })
      .click();
  };
  const api = (method: string, at: string, body?: unknown) =>
    call(url, key, method, `/orgs/${org}${at}`, body);
  return { page, context, org, key, api, go, navigate, confirms, devtools, said, url };
}

/** Checks that no error was logged and no policy was violated. */
export const expectQuiet = ({ said }: Person): void => expect(said).toEqual([]);

/**
 * As if the members had known each other for longer than a week: until then neither decides for the other.
 * A gate fails a call while its file is written, so these people's pages call nothing meanwhile.
 */
export async function settleWithout(org: string, ...people: Person[]): Promise<void> {
  const addresses = people.map(({ page }) => page.url());
  await Promise.all(people.map(({ page }) => page.goto('about:blank')));
  settle(inject('vaultState'), org);
  await Promise.all(people.map(({ page }, i) => page.goto(addresses[i] as string)));
}
