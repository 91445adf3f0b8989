// The program svc. Invariant: it exits with the exit code of its command, and with 0 if the reader of its output closes the pipe.
import { VERSION } from './version.ts';

// A reader such as head may close the pipe; this is not a failure.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) process.stdout.write(`${VERSION}\n`);
else {
  const [{ svc }, { thisMachine }] = await Promise.all([import('./cli.ts'), import('./host.ts')]);
  process.exitCode = await svc(argv, thisMachine());
}
