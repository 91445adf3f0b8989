// Loaded into wrangler by start.mjs. Invariant: wrangler and all that it spawned (one process group) never outlive start.mjs, even where
// that is killed outright: then the pipe between the two closes, and the group ends itself.
import net from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const tether = new net.Socket({ fd: 3 });
  tether.on('error', () => {}).on('close', () => process.kill(0, 'SIGKILL'));
  tether.resume().unref(); // it keeps nothing alive by itself
}
