// The `.svc.json` of a repository: which vault, organisation and environment its commands use, and which
// secrets it expects. Invariants: a repository can select among the user's vaults, but never makes svc send a
// credential to an address that the user has not given; a file of another user of the machine has no effect.
import fs from 'node:fs';
import path from 'node:path';
import { CliError, usage } from '../errors.ts';
import { isSecretName } from '../names.ts';
import { clean } from '../text.ts';
import { checked, FIELDS, parsedObject, profileName, type Settings } from './config.ts';
import { readForeign } from './files.ts';

export const PROJECT_FILE = '.svc.json';
/** The most bytes of it: 100,000 secrets may have the longest names. */
const MOST = 32 * 1024 * 1024;

export interface Project {
  file: string;
  settings: Settings;
  /** The profile whose credential its commands use. */
  profile?: string;
  /** The prefixes of `svc run`, `svc export`, `svc init` and `svc check`. */
  prefixes?: string[];
  /** The full names of the secrets that it expects. */
  secrets?: string[];
}

/** The `.svc.json` of this directory or the nearest one above it. */
export function findProject(cwd: string): Project | undefined {
  const owners = [0, process.getuid?.(), fs.statSync(cwd).uid];
  for (let dir = path.resolve(cwd); ; dir = path.dirname(dir)) {
    const file = path.join(dir, PROJECT_FILE);
    const text = readForeign(file, {
      most: MOST,
      check(stat) {
        // A file that another user of this machine put in a parent directory, such as /tmp, must not have any
        // effect.
        // safety: cli-foreign-project
        if (process.platform !== 'win32' && !owners.includes(stat.uid))
          throw new CliError(`${clean(file)} belongs to another user.`, {
            exit: 'usage',
            code: 'UNSAFE_FILE',
            next: 'Remove it, or work in another directory',
          });
      },
    });
    if (text !== undefined) return projectIn(text, file);
    if (path.dirname(dir) === dir) return undefined;
  }
}

function projectIn(text: string, file: string): Project {
  const project: Project = { file, settings: {} };
  for (const [name, value] of Object.entries(
    parsedObject(text, file, 'Write it again with svc init --force'),
  )) {
    const what = `${clean(name.slice(0, 40))} in ${clean(file)}`;
    if (name === '$schema') continue;
    if (name === 'secrets') project.secrets = listIn(value, what, isSecretName, 'names of secrets');
    else if (name === 'prefixes') project.prefixes = prefixesIn(value, what);
    else if (name === 'profile' || Object.hasOwn(FIELDS, name)) {
      if (typeof value !== 'string') throw usage(`${what} must be a string.`);
      if (name === 'profile') project.profile = profileName(value);
      else project.settings[name as keyof Settings] = checked(name as keyof Settings, value, what);
    } else
      throw usage(
        `${clean(file)} has the unknown field ${clean(name.slice(0, 40))}.`,
        'Only url, org, environment, profile, prefixes and secrets are allowed, never a credential',
      );
  }
  return project;
}

function listIn(value: unknown, what: string, isItem: (item: string) => boolean, items: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && isItem(item)))
    return value as string[];
  throw usage(`${what} must be a list of ${items}.`);
}

/** The most prefixes of one command. */
export const MOST_PREFIXES = 10;

function prefixesIn(value: unknown, what: string): string[] {
  const prefixes = listIn(
    value,
    what,
    (item) => item !== '' && isSecretName(`${item}x`),
    'prefixes of names',
  );
  if (prefixes.length === 0 || prefixes.length > MOST_PREFIXES)
    throw usage(`${what} must have 1 to ${MOST_PREFIXES} prefixes.`);
  return prefixes;
}
