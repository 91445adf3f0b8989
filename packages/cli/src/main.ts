// The program svc. Invariant: it exits with the exit code of its command, or with 141 if the reader of its
// output closes the pipe first.
import { EXIT_CODES } from './errors.ts';
import { VERSION } from './version.ts';

// A reader such as head may close the pipe. As of a program that SIGPIPE ends: 0 would hide what a scan
// found.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT_CODES.unread[0]);
    throw error;
  });

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) process.stdout.write(`${VERSION}\n`);
else {
  const [{ svc }, { thisMachine }] = await Promise.all([import('./program/cli.ts'), import('./host.ts')]);
  process.exitCode = await svc(argv, thisMachine());
}
