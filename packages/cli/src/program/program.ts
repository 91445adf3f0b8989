// The commander program. Names and summaries are registered at the start; the arguments and options of a
// command are loaded when it runs. Invariant: a usage error never repeats the content of an argument, which
// may be a value.
import { CommanderError, Option, Command as Program } from 'commander';
import { COMMANDS } from '../commands/index.ts';
import { type CommonOptions, Context } from '../context.ts';
import { type Command, type Group, isGroup, list, type OptionSpec } from '../definition/command.ts';
import { commonOptions } from '../definition/options.ts';
import { asCliError, CliError, usage } from '../errors.ts';
import type { Host } from '../host.ts';
import { Output } from '../terminal/output.ts';
import { wrapped } from '../text.ts';
import { VERSION } from '../version.ts';
import { explained } from './explained.ts';

/** Holds the exit code of a finished command. */
export interface Result {
  exit: number;
}

export function programOf(host: Host, result: Result): Program {
  const program = new Program('svc')
    .description('Secrets Vault Service from the command line.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp({ subcommandTerm: (sub) => sub.name(), minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => helpWidth(host),
    })
    .addHelpText('after', '\nFor help on a command, run svc COMMAND --help');
  for (const [name, { section, summary }] of Object.entries(COMMANDS)) {
    const sub = program.command(name).description(summary).summary(summary).helpGroup(`${section}:`);
    // Accepts any arguments until it is loaded.
    sub.allowUnknownOption().argument('[any...]');
  }
  program.hook('preSubcommand', async (_, sub) => {
    const entry = COMMANDS[sub.name()];
    if (entry) configure(sub, (await entry.load()).default, host, result);
  });
  return program;
}

/** Configures a command with the arguments and options of its file. */
export function configure(sub: Program, command: Command | Group, host: Host, result: Result): void {
  (sub as unknown as { registeredArguments: unknown[] }).registeredArguments = [];
  sub.allowUnknownOption(false).copyInheritedSettings(sub.parent as Program);
  withOwnHelp(sub);
  if (isGroup(command)) {
    sub.helpCommand(false);
    for (const [name, below] of Object.entries(command.commands)) {
      const leaf = sub.command(name).description(below.summary);
      leaf.copyInheritedSettings(sub);
      withOwnHelp(leaf);
      configureLeaf(leaf, below, host, result);
    }
    return;
  }
  configureLeaf(sub, command, host, result);
}

function configureLeaf(leaf: Program, command: Command, host: Host, result: Result): void {
  for (const [syntax, description] of Object.entries(command.args ?? {})) leaf.argument(syntax, description);
  for (const [flags, spec] of Object.entries(command.options ?? {}))
    leaf.addOption(optionOf(flags, typeof spec === 'string' ? { description: spec } : spec));
  leaf.optionsGroup('Common options:');
  for (const [flags, description] of Object.entries(commonOptions(command)))
    leaf.addOption(optionOf(flags, { description }));
  refuseFlags(leaf);
  if (command.passThrough) leaf.passThroughOptions();
  leaf.addHelpText('after', afterHelp(command, helpWidth(host)));
  leaf.action(async (...given: unknown[]) => {
    const options = leaf.opts<CommonOptions>();
    const values = given.slice(0, -2);
    refuseEmpty(command, values);
    const context = new Context(host, options);
    const args = values.filter((value) => !Array.isArray(value)) as string[];
    const rest = (values.find((value) => Array.isArray(value)) ?? []) as string[];
    try {
      result.exit = (await command.run(context, { args, rest, options, commands: COMMANDS })) ?? 0;
    } catch (error) {
      throw await explained(context, asCliError(error));
    } finally {
      await context.openedVault?.then(({ vault }) => vault.close()).catch(() => {});
    }
  });
}

/** Help has at most 100 columns, for reading. */
const helpWidth = ({ stdout }: Host): number => Math.max(40, Math.min(100, stdout.columns || 80));

/** Notes are wrapped. Examples are not, so that they can be copied. */
function afterHelp({ examples, notes = [] }: Command, width: number): string {
  const shown = Object.entries(examples).map(([line, what]) => `  # ${what}\n  svc ${line}`);
  return [
    ...notes.map((note) => `\n${wrapped(note, width).join('\n')}`),
    `\nExamples:\n${shown.join('\n\n')}`,
  ].join('\n');
}

/**
 * Refuses empty arguments: an id or a name in a variable of a script that is not set. Those of another
 * program may be empty.
 */
function refuseEmpty({ args = {}, passThrough }: Command, values: unknown[]): void {
  for (const [at, syntax] of Object.keys(args).entries()) {
    const given = [values[at]].flat();
    // A value in an argument is refused by the command, which says where it belongs.
    if (!syntax.startsWith('[value') && (passThrough ? given.slice(0, 1) : given).includes(''))
      throw usage(`The argument ${syntax.replace(/[<>[\].]/g, '')} is empty.`);
  }
}

function optionOf(flags: string, { description, choices, parse, repeat, empty }: OptionSpec): Option {
  const option = new Option(flags, description);
  if (!option.required && !option.optional) return option;
  if (choices) option.choices([...choices]);
  const { parseArg: chosen } = option;
  const flag = option.long ?? flags;
  const isMany = repeat || parse === list;
  return option.argParser((text: string, before: unknown) => {
    // safety: cli-empty-option
    if (text === '' && !empty) throw usage(`${flag} is empty.`);
    if (before !== undefined && !isMany) throw usage(`${flag} can be given only once.`);
    const value = parse ? parse(text, flag) : chosen ? chosen(text, undefined) : text;
    return isMany
      ? [...((before as unknown[]) ?? []), ...(parse === list ? (value as string[]) : [value])]
      : value;
  });
}

/** Refuses `--` and options of the command as the value of an option: its own value was left out. */
function refuseFlags({ options }: Program): void {
  const flags = ['--', ...options.map(({ long }) => long)];
  for (const option of options) {
    const { long, parseArg } = option;
    if (!parseArg) continue;
    option.argParser((text: string, before: unknown) => {
      if (flags.includes(text)) throw usage(`${long} requires a value.`);
      return parseArg(text, before);
    });
  }
}

/** Errors of commander name the command whose help explains them. */
function withOwnHelp(command: Program): void {
  const names: string[] = [];
  for (let at: Program | null = command; at; at = at.parent) names.unshift(at.name());
  command.exitOverride((error) => {
    throw Object.assign(error, { explainedBy: names.join(' ') });
  });
}

/** Converts an error of commander, without the content of the argument. */
export function ofCommander(error: CommanderError & { explainedBy?: string }): CliError | undefined {
  if (error.exitCode === 0) return undefined;
  // A suggestion is the name of one of our commands or options.
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split(/\n\(|\?\)$/);
  const help = error.explainedBy
    ? `For its help, run ${error.explainedBy} --help`
    : 'For a list of commands, run svc --help';
  const next = suggestion ? `${suggestion}? ${help}` : help;
  const quoted = /'(.*?)'/s.exec(message)?.[1] ?? '';
  switch (error.code) {
    case 'commander.unknownOption':
      // What follows a short option, or an equals sign, may be a value.
      return usage(`Unknown option ${/^--[a-z][a-z-]*|^-./i.exec(quoted)?.[0] ?? ''}.`, next);
    case 'commander.unknownCommand':
      return usage('Unknown command.', next);
    case 'commander.help':
      return usage('A command is required.', next);
    case 'commander.missingArgument':
      return usage(`The argument ${quoted} is required.`, next);
    case 'commander.optionMissingArgument':
      return usage(`The option ${quoted} requires a value.`, next);
    case 'commander.excessArguments':
      return usage(
        `Too many arguments: ${/Expected.*$/s.exec(message)?.[0].toLowerCase().replace(' but got', ', not') ?? ''}`,
        next,
      );
    case 'commander.invalidArgument':
      return usage(
        `${/--[a-z-]+/.exec(quoted)?.[0] ?? 'The argument'} must be one of ${/Allowed choices are (.*)$/s.exec(message)?.[1] ?? ''}`,
        next,
      );
    default:
      return usage(`${message.replace(/\.?$/, '.')}`, next);
  }
}

/** Whether --json is among the options of svc, not of a program after `--`. */
export const wantsJson = (argv: string[]): boolean => {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  return own.includes('--json');
};

export const errorOutput = (host: Host, argv: string[]): Output => new Output(host, wantsJson(argv));

export { CliError, CommanderError };
