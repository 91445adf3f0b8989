// The whole tree of commands, loaded: what help, the reference page and completions are made from.
import { type Command, isGroup } from './command.ts';
import { COMMANDS, type Entry } from './commands/index.ts';

export interface Leaf {
  /** Such as `key create`. */
  name: string;
  section: Entry['section'];
  summary: string;
  command: Command;
}

/** Every command that does something. */
export async function leaves(): Promise<Leaf[]> {
  const found: Leaf[] = [];
  for (const [name, { section, summary, load }] of Object.entries(COMMANDS)) {
    const { default: command } = await load();
    if (!isGroup(command)) found.push({ name, section, summary, command });
    else
      for (const [below, sub] of Object.entries(command.commands))
        found.push({ name: `${name} ${below}`, section, summary: sub.summary, command: sub });
  }
  return found;
}
