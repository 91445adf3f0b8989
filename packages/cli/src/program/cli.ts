// One run of svc, from its arguments to its exit code. Tests call it in their own process.
import { asCliError, EXIT_CODES, usage } from '../errors.ts';
import type { Host } from '../host.ts';
import { TOKEN } from '../tokens.ts';
import { CommanderError, errorOutput, ofCommander, programOf, type Result } from './program.ts';

/**
 * Runs one command.
 * @param argv the arguments after `svc`
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

/**
 * Refuses a vault token in the arguments of svc, which other users and the shell history can see. Arguments
 * of a program that `svc run` starts are not checked.
 */
function refuseTokens(args: string[]): void {
  const own = args.includes('run') ? args.slice(0, args.indexOf('run')) : args;
  // safety: cli-token-in-argv
  if (own.some((arg) => TOKEN.test(arg)))
    throw usage(
      'An argument contains a token. Other users of this machine can see arguments, and the shell history keeps them.',
      'Revoke this token, and pass a new one on stdin with svc login --key-stdin, or in the variable SVC_TOKEN',
    );
}
