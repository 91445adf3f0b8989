// The program svc. Invariant: it exits with the exit code of its command, and with 0 if the reader of its output closes the pipe.
import { svc } from './cli.ts';
import { thisMachine } from './host.ts';

// A reader such as head may close the pipe; this is not a failure.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

process.exitCode = await svc(process.argv.slice(2), thisMachine());
