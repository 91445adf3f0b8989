// The common options, by what a command needs.
import type { Command } from './command.ts';

const COMMON: Record<Command['needs'] | 'confirms', Record<string, string>> = {
  nothing: { '--json': 'print JSON' },
  vault: {
    '--url <url>': 'address of the vault (SVC_URL)',
    '-o, --org <id>': 'organisation (SVC_ORG_ID)',
    '--profile <name>': 'profile of svc login (SVC_PROFILE)',
    '--reason <text>': 'reason to record in the audit log (SVC_REASON)',
    '--approval <id>': 'run the command under this approved request',
    '--wait': 'wait for the decision if approval is required',
  },
  environment: { '-e, --env <slug>': 'environment (SVC_ENVIRONMENT)' },
  confirms: { '-y, --yes': 'do not ask for confirmation' },
};

const LEVELS: Command['needs'][] = ['nothing', 'vault', 'environment'];

/** The common options of a command, by their flags. */
export function commonOptions(command: Command): Record<string, string> {
  const levels = LEVELS.slice(0, LEVELS.indexOf(command.needs) + 1);
  return Object.assign({}, ...levels.map((level) => COMMON[level]), command.confirms && COMMON.confirms);
}
