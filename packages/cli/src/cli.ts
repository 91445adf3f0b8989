// One call of svc, from its arguments to its exit code. Tests call it in their own process.
import { asCliError, EXIT_CODES, usage } from './errors.ts';
import type { Host } from './host.ts';
import { CommanderError, errorOutput, ofCommander, programOf, type Result } from './program.ts';

/** Our own tokens, wherever they stand in it: an argument that holds one was typed where others see it. */
const TOKEN = /svc(_live_|sess_|ag_|_agent_|prov_|bg_)[A-Za-z0-9]{30,}|svcref_org_[\w.-]{30,}|svcdc_[A-Z]{8}\.[\w-]{30,}/;

/**
 * Runs one command.
 * @param argv what follows `svc`
 * @returns the exit code
 */
export async function svc(argv: string[], host: Host): Promise<number> {
  const result: Result = { exit: 0 };
  try {
    const args = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
    refuseTokens(args);
    await programOf(host, result).parseAsync(args, { from: 'user' });
    return result.exit;
  } catch (thrown) {
    const failure = thrown instanceof CommanderError ? ofCommander(thrown) : asCliError(thrown);
    if (!failure) return 0;
    errorOutput(host, argv).fail(failure);
    return EXIT_CODES[failure.problem.exit][0];
  }
}

/** What a program is run with is that program's business. */
function refuseTokens(args: string[]): void {
  const own = args.includes('run') ? args.slice(0, args.indexOf('run')) : args;
  // safety: cli-token-in-argv
  if (own.some((arg) => TOKEN.test(arg)))
    throw usage(
      'A token stands in an argument. Other users of this machine see arguments, and the history of the shell keeps them.',
      'Pass it through stdin, svc login --key-stdin, or the variable SVC_TOKEN; then revoke this one',
    );
}
