// What the Worker accepts as settings, beyond what tests over HTTP see.
import { expect, it } from 'vitest';
import { type Env, settingsOf } from '../../src/env';

const env = (more: object) =>
  ({ MASTER_KEYS: `k1:${btoa('a'.repeat(32))}`, BOOTSTRAP_TOKEN: 'b'.repeat(32), ...more }) as Env;

it('settings: the name of the Worker is that of the deployment, or the one in wrangler.toml', () => {
  const name = 'secrets-vault-service';
  for (const WORKER_NAME of [undefined, '']) {
    expect(settingsOf(env({ WORKER_NAME }))).toMatchObject({ workerName: name });
  }
  expect(settingsOf(env({ WORKER_NAME: `${name}-staging` }))).toMatchObject({
    workerName: `${name}-staging`,
  });
  // It stands in lines of TOML that people copy.
  for (const WORKER_NAME of ['a"\nb = "c', 'a b', 'x'.repeat(256)])
    expect(settingsOf(env({ WORKER_NAME }))).toEqual({ problem: expect.stringContaining('WORKER_NAME') });
});
