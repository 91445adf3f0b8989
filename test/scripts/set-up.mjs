// Global set-up of the tests of scripts: the service that several of them share (`sharedService` in
// service.mjs), and what its many processes compile of the same large modules, such as wrangler's.
import { copied, freePort, launch, removed } from './service.mjs';

/** @type {{ dir: string, service: ReturnType<typeof launch> } | undefined} */
let shared;

export async function globalSetup() {
  const dir = copied();
  process.env.NODE_COMPILE_CACHE ??= `${dir}.compile-cache`;
  const service = launch(dir, {}, await freePort());
  shared = { dir, service };
  await service.ready();
  process.env.SHARED_SERVICE = JSON.stringify({ dir, port: service.port });
}

export async function globalTeardown() {
  await shared?.service.stop();
  if (shared) removed(shared.dir);
}
