// Where settings come from: the `.svc.json` of a repository, and the profiles of a user. Neither contains a credential. Invariant: a
// repository can select among the user's vaults, but never makes svc send a credential to an address that the user has not given.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CliError, usage } from './errors.ts';
import { readForeign, readPrivate, writePrivate } from './files.ts';
import { clean } from './text.ts';

export interface Settings {
  url?: string;
  org?: string;
  environment?: string;
}

const FIELDS: Record<keyof Settings, { test: (text: string) => boolean; what: string }> = {
  url: { test: (text) => originOf(text) !== undefined, what: 'an address such as https://vault.example.com' },
  org: { test: (text) => /^org_[A-Za-z0-9]{1,60}$/.test(text), what: 'the id of an organisation, such as org_…' },
  environment: { test: (text) => /^[A-Za-z0-9_-]{1,64}$/.test(text), what: 'the slug or id of an environment' },
};

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The origin of an address: https, or http only on this machine. Undefined if it is neither, or contains more than an origin.
 */
export function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.username || url.password || url.search || url.hash || !/^\/?$/.test(url.pathname)) return undefined;
  // safety: cli-plain-http
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) return undefined;
  return url.origin;
}

/** Validates a setting from a flag, a variable or a file. */
export function checked<Field extends keyof Settings>(field: Field, text: string, from: string): string {
  if (!FIELDS[field].test(text))
    throw usage(`${from} must be ${FIELDS[field].what}.`, field === 'url' ? 'Plain http is allowed only for this machine' : undefined);
  return field === 'url' ? (originOf(text) as string) : text;
}

/** The directory where svc keeps the files of a user. */
export function configDir(env: NodeJS.ProcessEnv): string {
  if (env.XDG_CONFIG_HOME && path.isAbsolute(env.XDG_CONFIG_HOME)) return path.join(env.XDG_CONFIG_HOME, 'svc');
  if (process.platform === 'win32' && env.APPDATA) return path.join(env.APPDATA, 'svc');
  return path.join(env.HOME || os.homedir(), '.config', 'svc');
}

export const PROJECT_FILE = '.svc.json';

export interface Project {
  file: string;
  settings: Settings;
}

/** The `.svc.json` of this directory or the nearest one above it. */
export function findProject(cwd: string): Project | undefined {
  const owners = [0, process.getuid?.(), fs.statSync(cwd).uid];
  for (let dir = path.resolve(cwd); ; dir = path.dirname(dir)) {
    const file = path.join(dir, PROJECT_FILE);
    const text = readForeign(file, (stat) => {
      // A file that another user of this machine put in a parent directory, such as /tmp, must not have any effect.
      // safety: cli-foreign-project
      if (process.platform !== 'win32' && !owners.includes(stat.uid))
        throw new CliError(`${clean(file)} belongs to another user.`, {
          exit: 'usage',
          code: 'UNSAFE_FILE',
          next: 'Remove it, or work in another directory',
        });
    });
    if (text !== undefined) return { file, settings: projectSettings(text, file) };
    if (path.dirname(dir) === dir) return undefined;
  }
}

function projectSettings(text: string, file: string): Settings {
  const parsed = parsedObject(text, file);
  const settings: Settings = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '$schema') continue;
    if (!Object.hasOwn(FIELDS, name))
      throw usage(
        `${clean(file)} has the unknown field ${clean(name.slice(0, 40))}.`,
        'Only url, org and environment are allowed, never a credential',
      );
    if (typeof value !== 'string') throw usage(`${name} in ${clean(file)} must be a string.`);
    settings[name as keyof Settings] = checked(name as keyof Settings, value, `${name} in ${clean(file)}`);
  }
  return settings;
}

function parsedObject(text: string, file: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw usage(`${clean(file)} is not valid JSON.`, 'Write it again with svc init --force');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw usage(`${clean(file)} must contain a JSON object.`);
  return parsed as Record<string, unknown>;
}

/** The profiles of a user, by name. */
export type Profiles = Record<string, Settings>;

const profilesFile = (dir: string) => path.join(dir, 'config.json');

export function readProfiles(dir: string): Profiles {
  const text = readPrivate(profilesFile(dir));
  if (text === undefined) return Object.create(null);
  const { profiles } = parsedObject(text, profilesFile(dir)) as { profiles?: Profiles };
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
  if (!/^[a-z0-9][a-z0-9_-]{0,39}$/.test(text)) throw usage('A profile name must have 1 to 40 characters of a-z, 0-9, - and _.');
  return text;
}
