// Loads the whole command tree, from which the reference page and completions are generated.
import { type Command, type Commands, type Entry, isGroup } from './command.ts';

export interface Leaf {
  /** The full name, such as `key create`. */
  name: string;
  section: Entry['section'];
  summary: string;
  command: Command;
}

/** Every command that can be run. */
export async function leaves(commands: Commands): Promise<Leaf[]> {
  const found: Leaf[] = [];
  for (const [name, { section, summary, load }] of Object.entries(commands)) {
    const { default: command } = await load();
    if (!isGroup(command)) found.push({ name, section, summary, command });
    else
      for (const [below, sub] of Object.entries(command.commands))
        found.push({ name: `${name} ${below}`, section, summary: sub.summary, command: sub });
  }
  return found;
}
