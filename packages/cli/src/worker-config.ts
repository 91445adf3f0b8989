// The configuration of a Worker, wrangler.jsonc or wrangler.toml: what a binding to the vault adds to it.
// Invariants: all that is there stays as it is, comments included; a configuration that cannot be extended
// safely is left alone.
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { applyEdits, modify, type ParseError, parse } from 'jsonc-parser';
import { CliError, usage } from './errors.ts';
import { readForeign } from './settings/files.ts';

/** The names that wrangler looks for, in its order. */
const FILES = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'];

/** One binding of a Worker to the vault. */
export interface Binding {
  binding: string;
  service: string;
  entrypoint: 'Vault' | 'Upstream';
  props: Record<string, string>;
}

export interface WorkerConfig {
  file: string;
  /** The name of the Worker. */
  name: string;
  text: string;
}

/** The name of a Worker. One that begins with a hyphen would be an option of the commands that are shown. */
const NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

const isToml = (file: string) => file.endsWith('.toml');

const byHand = (file: string, why: string, binding: Binding) =>
  new CliError(`${path.basename(file)} ${why}.`, {
    exit: 'conflict',
    code: 'WORKER_CONFIG',
    next: `Write this into its services by hand: ${isToml(file) ? inlineOf(binding) : JSON.stringify(binding)}`,
  });

/** Reads the configuration in a directory. */
export function workerConfig(dir: string): WorkerConfig {
  for (const name of FILES) {
    const file = path.join(dir, name);
    const text = readForeign(file);
    if (text === undefined) continue;
    const worker = isToml(file)
      ? /^name\s*=\s*["']([^"']*)["']/m.exec(beforeTables(text))?.[1]
      : nameOf(text, name);
    if (typeof worker === 'string' && NAME.test(worker)) return { file, name: worker, text };
    throw usage(`${name} has no name of the Worker.`, 'Add the field name');
  }
  throw usage(
    'There is no wrangler.jsonc and no wrangler.toml here.',
    'Run svc init --worker in the directory of a Worker',
  );
}

/** What stands before the first table. */
const beforeTables = (text: string): string => text.split(/^[ \t]*\[/m, 1)[0] ?? '';

function nameOf(text: string, name: string): unknown {
  const errors: ParseError[] = [];
  const found = parsed(text, errors);
  if (errors.length || typeof found !== 'object' || found === null)
    throw usage(`${name} is not valid JSON.`, 'Correct it, and run svc init --worker again');
  return (found as { name?: unknown }).name;
}

/** Text as JSON with comments; undefined if it is nested more deeply than the parser's stack. */
function parsed(text: string, errors: ParseError[]): unknown {
  try {
    return parse(text, errors, { allowTrailingComma: true });
  } catch {
    return undefined;
  }
}

const pairsOf = (texts: Record<string, string>): string[] =>
  Object.entries(texts).map(([name, text]) => `${name} = ${JSON.stringify(text)}`);
/** The fields of one binding, as TOML. */
const fieldsOf = ({ props, ...texts }: Binding): string[] => [
  ...pairsOf(texts),
  `props = { ${pairsOf(props).join(', ')} }`,
];
const inlineOf = (binding: Binding): string => `{ ${fieldsOf(binding).join(', ')} }`;
/** The lines of one binding in wrangler.toml. */
export const tomlOf = (binding: Binding): string => ['[[services]]', ...fieldsOf(binding), ''].join('\n');

/** The configuration with further bindings. One that is there stays. Refuses one whose name is taken. */
export function withBindings({ file, text }: WorkerConfig, bindings: readonly Binding[]): string {
  return bindings.reduce(
    (before, binding) => (isToml(file) ? inToml(file, before, binding) : inJson(file, before, binding)),
    text,
  );
}

function inToml(file: string, text: string, binding: Binding): string {
  if (`${text}\n`.includes(tomlOf(binding))) return text;
  const taken = new RegExp(`\\b(binding|name)\\s*=\\s*["']${binding.binding}["']`);
  if (taken.test(text)) throw byHand(file, `already has another binding ${binding.binding}`, binding);
  // A list of tables cannot follow a list that is written in place.
  if (/^\s*services\s*=/m.test(beforeTables(text)))
    throw byHand(file, 'has its services in one list', binding);
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}\n${tomlOf(binding)}`;
}

function inJson(file: string, text: string, binding: Binding): string {
  const { services } = parse(text, [], { allowTrailingComma: true }) as { services?: unknown };
  if (services !== undefined && !Array.isArray(services))
    throw byHand(file, 'has services that are no list', binding);
  if (services?.some((one) => isDeepStrictEqual(one, binding))) return text;
  if (services?.some((one: { binding?: unknown } | null) => one?.binding === binding.binding))
    throw byHand(file, `already has another binding ${binding.binding}`, binding);
  const isTabbed = /^\t/m.test(text);
  const formattingOptions = {
    insertSpaces: !isTabbed,
    tabSize: 2,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
  const edits = services?.length
    ? modify(text, ['services', services.length], binding, { formattingOptions, isArrayInsertion: true })
    : modify(text, ['services'], [binding], { formattingOptions });
  return applyEdits(text, edits);
}
