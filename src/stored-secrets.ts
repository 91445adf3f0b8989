// Secrets of the deployment that are bindings to Cloudflare's Secrets Store, as the text that all else reads:
// https://developers.cloudflare.com/secrets-store/integrations/workers/. Invariants: an isolate asks for them
// once a minute, so that new ones apply without a deployment; a text that was read once serves for as long as
// the store does not respond.
import type { DeployedEnv, ReadEnv } from './env';

const NAMES = ['MASTER_KEYS', 'BOOTSTRAP_TOKEN'] as const;
/** For how long texts are used before they are asked for again, in milliseconds. */
const LASTS = 60_000;

const known = new WeakMap<DeployedEnv, { env: ReadEnv; at: number }>();

const isText = (given: DeployedEnv): given is ReadEnv =>
  NAMES.every((name) => typeof given[name] !== 'object');

/**
 * The environment with the texts of its secrets: the same object for as long as they are the same, since what
 * is derived from them is kept for it. `UNREADABLE` names one that the store does not give.
 */
export function withStoredSecrets(given: DeployedEnv, now = Date.now()): ReadEnv | Promise<ReadEnv> {
  if (isText(given)) return given;
  const before = known.get(given);
  if (before && now - before.at < LASTS) return before.env;
  // Meanwhile, other requests use what was read before.
  if (before) before.at = now;
  return read(given, before?.env ?? null).then((env) => {
    if (env.UNREADABLE === undefined) known.set(given, { env, at: now });
    return env;
  });
}

async function read(given: DeployedEnv, before: ReadEnv | null): Promise<ReadEnv> {
  const texts = await Promise.all(
    NAMES.map((name) => {
      const secret = given[name];
      return typeof secret === 'object' ? secret.get().catch(() => before?.[name] ?? null) : secret;
    }),
  );
  const [keys, token] = texts;
  if (before && keys === before.MASTER_KEYS && token === before.BOOTSTRAP_TOKEN) return before;
  const { MASTER_KEYS: _keys, BOOTSTRAP_TOKEN: _token, ...rest } = given;
  const unreadable = NAMES.find((_, i) => texts[i] === null);
  return {
    ...rest,
    ...(keys != null && { MASTER_KEYS: keys }),
    ...(token != null && { BOOTSTRAP_TOKEN: token }),
    ...(unreadable && { UNREADABLE: unreadable }),
  };
}
