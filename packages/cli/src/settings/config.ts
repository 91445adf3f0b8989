// Settings: their forms, and the profiles of a user. Invariant: neither contains a credential, and an address
// is https or of this machine.
import os from 'node:os';
import path from 'node:path';
import { usage } from '../errors.ts';
import { clean } from '../text.ts';
import { readPrivate, writePrivate } from './files.ts';

export interface Settings {
  url?: string;
  org?: string;
  environment?: string;
}

/** The form of each setting. */
export const FIELDS: Record<keyof Settings, { test: (text: string) => boolean; what: string }> = {
  url: { test: (text) => originOf(text) !== undefined, what: 'an address such as https://vault.example.com' },
  org: {
    test: (text) => /^org_[A-Za-z0-9]{1,60}$/.test(text),
    what: 'the id of an organisation, such as org_…',
  },
  environment: {
    test: (text) => /^[A-Za-z0-9_-]{1,64}$/.test(text),
    what: 'the slug or id of an environment',
  },
};

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The origin of an address: https, or http only on this machine. Undefined if it is neither, or contains more
 * than an origin.
 */
export function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.username || url.password || url.search || url.hash || !/^\/?$/.test(url.pathname))
    return undefined;
  // safety: cli-plain-http
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    return undefined;
  return url.origin;
}

/** Validates a setting from a flag, a variable or a file. */
export function checked<Field extends keyof Settings>(field: Field, text: string, from: string): string {
  if (!FIELDS[field].test(text))
    throw usage(
      `${from} must be ${FIELDS[field].what}.`,
      field === 'url' ? 'Plain http is allowed only for this machine' : undefined,
    );
  return field === 'url' ? (originOf(text) as string) : text;
}

/** The directory where svc keeps the files of a user. */
export function configDir(env: NodeJS.ProcessEnv): string {
  if (env.XDG_CONFIG_HOME && path.isAbsolute(env.XDG_CONFIG_HOME))
    return path.join(env.XDG_CONFIG_HOME, 'svc');
  if (process.platform === 'win32' && env.APPDATA) return path.join(env.APPDATA, 'svc');
  return path.join(env.HOME || os.homedir(), '.config', 'svc');
}

/** The JSON object in a file of settings. @param next how to repair a file that is damaged */
export function parsedObject(text: string, file: string, next: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw usage(`${clean(file)} is not valid JSON.`, next);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw usage(`${clean(file)} must contain a JSON object.`, next);
  return parsed as Record<string, unknown>;
}

/** The profiles of a user, by name. */
export type Profiles = Record<string, Settings>;

const profilesFile = (dir: string) => path.join(dir, 'config.json');

export function readProfiles(dir: string): Profiles {
  const text = readPrivate(profilesFile(dir));
  if (text === undefined) return Object.create(null);
  const next = 'Remove it, and sign in again: svc login';
  const { profiles } = parsedObject(text, profilesFile(dir), next) as { profiles?: Profiles };
  return Object.assign(Object.create(null), profiles);
}

/** Sets a profile; undefined removes it. */
export function writeProfile(dir: string, name: string, settings: Settings | undefined): void {
  const profiles = readProfiles(dir);
  if (settings) profiles[name] = settings;
  else delete profiles[name];
  writePrivate(profilesFile(dir), `${JSON.stringify({ version: 1, profiles }, null, 2)}\n`);
}

/** Validates the name of a profile, which becomes a file name. */
export function profileName(text: string): string {
  if (!/^[a-z0-9][a-z0-9_-]{0,39}$/.test(text))
    throw usage('A profile name must have 1 to 40 characters of a-z, 0-9, - and _.');
  return text;
}
