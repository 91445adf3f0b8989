// Command lines in text: splits them into words like a shell, and parses them with svc. Nothing is run.
import { Command as Program } from 'commander';
import { COMMANDS } from '../../src/commands/index.ts';
import type { Command } from '../../src/definition/command.ts';
import { thisMachine } from '../../src/host.ts';
import { type CommanderError, configure } from '../../src/program/program.ts';

const TOKEN =
  /\$\(|\d?[<>]+&?\s*\S*|[|&;()\n]+|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\$(?!\()|[^\s|&;()<>'"\\$])+/g;

/**
 * The words of each command in a shell script, without redirections. Quoted text is part of one word. A
 * command within `$(…)` is a separate command.
 */
export function commandsOf(text: string): string[][] {
  const commands: string[][] = [[]];
  for (const [token] of text.replace(/\\\n/g, ' ').matchAll(TOKEN)) {
    if (/^(\$\(|[|&;()\n]+)$/.test(token)) commands.push([]);
    else if (!/^\d?[<>]/.test(token))
      commands
        .at(-1)
        ?.push(token.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"/g, (_, single, double) => single ?? double));
    for (const [, inner = ''] of token.matchAll(/"[^"]*\$\(([^)]*)\)[^"]*"/g))
      commands.push(...commandsOf(inner));
  }
  return commands;
}

/** The result of parsing a command line: the parser's error, or the arguments that the command would get. */
export async function understood(words: string[]): Promise<{ error?: string; rest?: string[] }> {
  const [top = ''] = words;
  const spec = (await COMMANDS[top]?.load())?.default;
  if (!spec) return { error: 'there is no such command' };
  let rest: string[] | undefined;
  const seen = <Spec extends Command>(command: Spec): Spec => ({
    ...command,
    run: async (_, input) => {
      rest = input.rest;
      return undefined;
    },
  });
  const program = new Program('svc')
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ writeErr: () => {} });
  const all =
    'commands' in spec
      ? {
          commands: Object.fromEntries(Object.entries(spec.commands).map(([name, one]) => [name, seen(one)])),
        }
      : seen(spec);
  configure(program.command(top), all, thisMachine(), { exit: 0 });
  try {
    await program.parseAsync(words, { from: 'user' });
    return rest ? { rest } : { error: 'it names no command of the group' };
  } catch (error) {
    const { code, message } = error as CommanderError;
    return { error: `${code ?? ''} ${message}` };
  }
}
