// Options that many commands have, by what a command needs.
import type { Command } from './command.ts';

const COMMON: Record<Command['needs'] | 'confirms', Record<string, string>> = {
  nothing: { '--json': 'print JSON' },
  vault: {
    '--url <url>': 'the vault (SVC_URL)',
    '-o, --org <id>': 'the organisation (SVC_ORG_ID)',
    '--profile <name>': 'the profile of svc login (SVC_PROFILE)',
    '--reason <text>': 'why; the audit log keeps it (SVC_REASON)',
    '--approval <id>': 'make a call that was approved',
    '--wait': 'wait for the decision where an approval is needed',
  },
  environment: { '-e, --env <slug>': 'the environment (SVC_ENVIRONMENT)' },
  confirms: { '-y, --yes': 'do not ask for confirmation' },
};

const LEVELS: Command['needs'][] = ['nothing', 'vault', 'environment'];

/** Common options of a command, by their flags. */
export function commonOptions(command: Command): Record<string, string> {
  const levels = LEVELS.slice(0, LEVELS.indexOf(command.needs) + 1);
  return Object.assign({}, ...levels.map((level) => COMMON[level]), command.confirms && COMMON.confirms);
}
