// Which programs run_command may run. Invariant: a program that is allowed by its path is that very file,
// whatever directory a call names.
import fs from 'node:fs';
import path from 'node:path';
import { usage } from '../errors.ts';
import { clean } from '../text.ts';

/** What --allow-run gives away: for its help, and for the message at the start. */
export const RUN_GIVES_AWAY =
  'a program that gets a value can print it in any encoding, so the agent can read every value that it can use';

/** A program that may be run. */
export interface Program {
  file: string;
  /** The name that it sees itself started by. */
  name: string;
}

/** By the text of --allow-command. */
export type Programs = ReadonlyMap<string, Program>;

/**
 * The programs of --allow-command. A path means the file that it leads to when the server starts, whatever
 * directory a call names.
 */
export function allowedPrograms(names: string[], root: string): Programs {
  return new Map(names.map((name) => [name, isPath(name) ? fileAt(name, root) : { file: name, name }]));
}

const isPath = (name: string): boolean => name.includes('/') || name.includes(path.sep);

function fileAt(name: string, root: string): Program {
  const at = path.resolve(root, name);
  try {
    const file = fs.realpathSync(at);
    fs.accessSync(file, fs.constants.X_OK);
    // safety: mcp-command-file
    if (fs.statSync(file).isFile()) return { file, name: at };
  } catch {
    // Said below.
  }
  throw usage(
    `--allow-command ${clean(name)}: there is no such program.`,
    'A path starts at the directory of the server',
  );
}

/** The program of a call, if it may be run. */
export function allowedProgram(programs: Programs | 'any' | undefined, name: string): Program {
  if (programs === 'any') return { file: name, name };
  const allowed = programs?.get(name);
  // safety: mcp-allow-command
  if (!allowed)
    throw usage(
      `${clean(name)} is not allowed on this server. Allowed programs: ${[...(programs?.keys() ?? [])].map(clean).join(', ')}.`,
    );
  return allowed;
}
