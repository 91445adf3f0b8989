// The program svc. Invariant: it ends with the exit code of its command, also when the reader of its output has gone.
import { svc } from './cli.ts';
import { thisMachine } from './host.ts';

// A reader such as head may close the pipe; that is no failure.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

process.exitCode = await svc(process.argv.slice(2), thisMachine());
