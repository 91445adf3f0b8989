// What is typed is used as it is typed, or refused by an error that names the option: never dropped, and
// never read as something else.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Machine, signedIn, succeeding } from '../harness.ts';

let machine: Machine;
const { ok, json } = succeeding(() => machine);

beforeAll(async () => {
  ({ machine } = await signedIn());
  await ok(['set', 'A'], { stdin: 'production' });
  await ok(['set', 'A', '--env', 'staging'], { stdin: 'staging' });
});

/** Expects that a command is refused before anything is done, with an error about an option or argument. */
async function refused(argv: string[], error: RegExp, given = {}) {
  const ran = await machine.svc(argv, given);
  expect({ argv, code: ran.code, stdout: ran.stdout }).toEqual({ argv, code: 2, stdout: '' });
  expect(ran.stderr).toMatch(error);
}

describe('options', () => {
  it('options: an empty one is refused, as of a variable that is not set', async () => {
    for (const flag of ['--env', '--url', '--org', '--profile', '--approval', '--reason'])
      await refused(['get', 'A', flag, ''], new RegExp(`^error: ${flag} is empty`));
    await refused(['delete', 'A', '--env=', '--yes'], /^error: --env is empty/);
    await refused(['share', 'A', '--revoke', '', '--yes'], /^error: --revoke is empty/);
    await refused(['run', '--only', '', '--', 'true'], /^error: --only is empty/);
    await refused(
      ['key', 'create', 'k', '--scopes', 'secrets:read', '--secrets', 'a,,b'],
      /^error: --secrets has an empty entry/,
    );
    await refused(['init', '--env', 'staging', '--prefix', ''], /^error: --prefix is empty/);
    expect((await ok(['get', 'A', '--env', 'staging'])).stdout).toBe('staging');
    // Where it has a meaning, it stays possible.
    expect((await json(['list', '--prefix', ''])).data).toHaveLength(1);
    expect(
      (await json(['copy', '--prefix', '', '--from', 'staging', '--to', 'development', '--dry-run'])).data,
    ).toHaveLength(1);
  });

  it('options: a reason that no header can hold is refused by its name', async () => {
    await refused(['list', '--reason', 'two\nlines'], /^error: --reason must be one line/);
    await refused(['list'], /^error: SVC_REASON must be one line/, { env: { SVC_REASON: 'for 5 €' } });
    await ok(['list'], { env: { SVC_REASON: '' } });
  });

  it('options: one that holds one value cannot be given twice', async () => {
    await refused(
      ['get', 'A', '--env', 'production', '--env', 'staging'],
      /^error: --env can be given only once/,
    );
    await refused(['list', '--prefix', 'A', '--prefix', 'B'], /^error: --prefix can be given only once/);
    await refused(['list', '--type', 'json', '--type', 'generic'], /^error: --type can be given only once/);
    await refused(['set', 'A', '--tag', 'a=1', '--tag', 'a=2'], /^error: --tag has a twice/, { stdin: 'x' });
  });

  it('options: one does not take -- or another option for its value', async () => {
    await refused(['run', '--allow-reserved', '--', 'true'], /^error: --allow-reserved requires a value/);
    await refused(['run', '--only', '--listed', '--', 'true'], /^error: --only requires a value/);
    await refused(['get', 'A', '--env', '--profile'], /^error: --env requires a value/);
    await refused(['run', '--prefix', '--'], /^error: --prefix requires a value/);
    await ok(['set', 'DASHES', '--description', '--other'], { stdin: 'x' });
  });

  it('options: a list that is given twice has the entries of both', async () => {
    const key = await json([
      'key',
      'create',
      'k',
      '--scopes',
      'secrets:read',
      '--scopes',
      'secrets:list, secrets:write',
      '--secrets',
      'a',
      '--secrets',
      'b',
    ]);
    expect(key).toMatchObject({
      scopes: ['secrets:read', 'secrets:list', 'secrets:write'],
      secrets: ['a', 'b'],
    });
  });

  it('options: an empty argument is refused', async () => {
    await refused(['policy', 'show', ''], /^error: The argument id is empty/);
    await refused(['key', 'revoke', '', '--yes'], /^error: The argument id is empty/);
    await refused(['scan', ''], /^error: The argument paths is empty/);
    await refused(['run', '--', ''], /^error: The argument command is empty/);
    expect((await ok(['run', '--', 'printf', '[%s]', ''])).stdout).toBe('');
  });

  it('options: a time is a date that exists, or a duration with a unit', async () => {
    for (const time of [
      '2026',
      '20260101',
      '2026-02-30',
      'foo 5',
      '12/11/2026',
      '1',
      '2026-01-31T25:00Z',
      '2026-01-31 12:00',
      '2026-1-2',
    ])
      await refused(['audit', '--from', time], /^error: --from takes a time such as/);
    for (const time of ['2026-02-28', '2026-01-31T12:00Z', '2026-01-31T12:00:00.5+02:00', '90s', '2h'])
      await ok(['audit', '--from', time, '--limit', '1']);
    await refused(
      ['contain', 'key_x', '--since', '2026', '--dry-run'],
      /^error: --since takes a time such as/,
    );
  });
});

describe('options of one command', () => {
  it('set --generate: options for a new secret are refused if it exists', async () => {
    await ok(['set', 'MADE', '--generate', '--ttl', '1d', '--description', 'made', '--tag', 'a=1']);
    for (const more of [
      ['--ttl', '3d'],
      ['--description', 'other'],
      ['--tag', 'a=2'],
      ['--type', 'ssh_key'],
    ]) {
      const ran = await machine.svc(['set', 'MADE', '--generate', ...more]);
      expect({ more, code: ran.code }).toEqual({ more, code: 2 });
      expect(ran.stderr).toMatch(new RegExp(`^error: MADE exists, so ${more[0]} would change nothing`));
    }
    expect(await json(['set', 'MADE', '--generate'])).toMatchObject({ version: 2 });
  });

  it('share: what it does is one thing', async () => {
    for (const more of [
      ['--list', '--revoke', 'shr_x'],
      ['--list', '--views', '3'],
      ['--revoke', 'shr_x', '--expires', '1h'],
      ['--list', '--passphrase'],
    ])
      await refused(['share', 'A', ...more], /^error: --(list|revoke) cannot be combined with/);
    expect((await json(['share', 'A', '--list'])).data).toEqual([]);
  });

  it('run --only: a name without a secret is refused, and a secret that is left out is said', async () => {
    const ran = await machine.svc(['run', '--only', 'A,MISSING', '--', 'true']);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toMatch(/^error: No secret in production becomes MISSING/);
    await ok(['run', '--only', 'A', '--', 'true']);
  });
});
