// Imported by processes that start.mjs spawns. Invariant: such a process and everything it spawned (one
// process group) never outlive start.mjs, even if start.mjs is killed: the pipe between the two closes, and
// the group ends itself.
import net from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const pipe = new net.Socket({ fd: 3 });
  pipe.on('error', () => {}).on('close', () => process.kill(0, 'SIGKILL'));
  pipe.resume().unref(); // it does not keep the process running
}
