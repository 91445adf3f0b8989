// What `npm start` accepts and refuses. Every refusal is one line that names its variable and shows no value.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { originAt, readSettings } from '../../../../scripts/operate/vault/settings.mjs';

const key = (id = 'k1') => `${id}:${randomBytes(32).toString('base64')}`;
const good = () => ({ MASTER_KEYS: key(), BOOTSTRAP_TOKEN: randomBytes(24).toString('hex') });

function accepts(env, devVars = {}) {
  const { settings, problem } = readSettings({ ...good(), ...env }, devVars);
  assert.equal(problem, undefined);
  return settings;
}

function refuses(name, value, others = {}) {
  const { problem } = readSettings({ ...good(), ...others, [name]: value }, {});
  assert.ok(problem, `${name}=${value} is refused`);
  assert.ok(problem.startsWith(name), problem);
  assert.match(problem, /: (set|write|give|use|unset)/, 'says what to do');
  assert.ok(!problem.includes('\n'), 'is one line');
  for (const part of value
    .split(/[,:"{}]+/)
    .filter((text) => text.length > 5 && !text.startsWith('//localhost'))) {
    assert.ok(!problem.includes(part), `shows no part of the value: ${problem}`);
  }
}

describe('settings', () => {
  it('have defaults, except the secrets', () => {
    const secrets = good();
    assert.deepEqual(readSettings(secrets, {}).settings, {
      host: '127.0.0.1',
      port: 8787,
      stateDir: '.wrangler/state',
      worker: {
        ...secrets,
        PUBLIC_URL: 'http://localhost:8787',
        ALLOW_PRIVATE_TARGETS: '',
        PLATFORM_BASE_URLS: '',
        METRICS_TOKEN: '',
        DNS_OVER_HTTPS_URL: '',
      },
    });
    assert.equal(accepts({ PORT: '9000' }).worker.PUBLIC_URL, 'http://localhost:9000');
    assert.equal(accepts({ PORT: '', STATE_DIR: '', PUBLIC_URL: '' }).port, 8787);
  });

  it('prefer the value of the shell to that of .dev.vars', () => {
    const shell = good();
    const file = good();
    assert.equal(readSettings(shell, file).settings.worker.MASTER_KEYS, shell.MASTER_KEYS);
    assert.equal(readSettings({}, file).settings.worker.MASTER_KEYS, file.MASTER_KEYS);
    assert.match(readSettings({ MASTER_KEYS: '' }, file).problem, /^MASTER_KEYS is missing/);
    assert.equal(readSettings({ PORT: '9001' }, { ...file, PORT: '9002' }).settings.port, 9001);
  });

  it('refuse an invalid PORT', () => {
    for (const value of ['0', '65536', '080', '8787 ', '-1', '80.5', '0x50', '1e3', 'http'])
      refuses('PORT', value);
    for (const value of ['1', '6000', '65535']) assert.equal(accepts({ PORT: value }).port, Number(value));
  });

  it('refuse a HOST that is not an IP address', () => {
    for (const value of ['localhost', '0.0.0', 'vault.internal', '10.0.0.4:80', 'fe80::1%eth0'])
      refuses('HOST', value);
    for (const value of ['0.0.0.0', '::', '10.0.0.4']) assert.equal(accepts({ HOST: value }).host, value);
  });

  it('origin: this machine reaches a wildcard or loopback HOST as localhost, and any other by its address', () => {
    for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::'])
      assert.equal(originAt(host, 9000), 'http://localhost:9000');
    assert.equal(originAt('10.0.0.4', 9000), 'http://10.0.0.4:9000');
    assert.equal(originAt('127.0.0.2', 9000), 'http://127.0.0.2:9000', 'localhost does not lead there');
    assert.equal(originAt('2001:db8::1', 9000), 'http://[2001:db8::1]:9000');
    assert.equal(
      accepts({ HOST: '2001:db8::1', PORT: '9000' }).worker.PUBLIC_URL,
      'http://[2001:db8::1]:9000',
    );
    assert.equal(accepts({ HOST: '0.0.0.0', PORT: '9000' }).worker.PUBLIC_URL, 'http://localhost:9000');
  });

  it('refuse missing or malformed MASTER_KEYS', () => {
    const short = `k1:${randomBytes(31).toString('base64')}`;
    const long = `k1:${randomBytes(33).toString('base64')}`;
    const loose = `k1:${Buffer.alloc(32).toString('base64').replace('A=', 'B=')}`; // the same bytes, misspelled
    const urlSafe = `k1:${Buffer.alloc(32, 0xff).toString('base64url')}=`;
    const wrong = [
      '',
      'k1',
      randomBytes(32).toString('base64'),
      short,
      long,
      loose,
      urlSafe,
      key('a b'),
      key('x'.repeat(33)),
      key(''),
      key().slice(0, -1),
    ];
    for (const value of [...wrong, `${key()},`, `,${key()}`, `${key()}, ${key('k2')}`, `${key()}\n`])
      refuses('MASTER_KEYS', value);
    // A new key over an existing vault would open nothing.
    for (const value of ['', 'k1'])
      assert.match(
        String(readSettings({ MASTER_KEYS: value, BOOTSTRAP_TOKEN: 'b'.repeat(40) }, {}).problem),
        /that this vault was created with; for a new vault, MASTER_KEYS=/,
      );
    refuses('MASTER_KEYS', `${key('k1')},${key('k2')},${key('k1')}`);
    accepts({ MASTER_KEYS: [key('2026-11'), key('x'.repeat(32)), key('_')].join(',') });
  });

  it('refuse a BOOTSTRAP_TOKEN that is missing, short or unusable in a header', () => {
    for (const value of [
      '',
      'a'.repeat(31),
      `${'a'.repeat(31)} b`,
      `${'a'.repeat(40)}\t`,
      `${'a'.repeat(40)}é`,
      `${'a'.repeat(40)}\n`,
    ])
      refuses('BOOTSTRAP_TOKEN', value);
    accepts({ BOOTSTRAP_TOKEN: `${'a'.repeat(31)}$` });
  });

  it('refuse ALLOW_PRIVATE_TARGETS other than true and false, and true if PUBLIC_URL is not loopback', () => {
    for (const value of ['1', 'TRUE', 'perhaps', ' true']) refuses('ALLOW_PRIVATE_TARGETS', value);
    for (const PUBLIC_URL of [
      'https://vault.example.com',
      'http://10.0.0.1',
      'http://localhost.example.com',
      'http://127.0.0.1.example.com',
    ]) {
      refuses('ALLOW_PRIVATE_TARGETS', 'true', { PUBLIC_URL });
      accepts({ ALLOW_PRIVATE_TARGETS: 'false', PUBLIC_URL });
    }
    for (const PUBLIC_URL of [
      'http://localhost:1',
      'http://127.0.0.2',
      'https://[::1]:8443',
      'http://vault.localhost',
      '',
    ])
      accepts({ ALLOW_PRIVATE_TARGETS: 'true', PUBLIC_URL });
  });

  it('refuse a METRICS_TOKEN that can be guessed or not be sent', () => {
    for (const value of ['short-token-of-metrics', 'x'.repeat(31), `${'x'.repeat(32)} y`, 'ü'.repeat(32)])
      refuses('METRICS_TOKEN', value);
    const token = 'x'.repeat(32);
    assert.equal(accepts({ METRICS_TOKEN: token }).worker.METRICS_TOKEN, token);
    assert.equal(accepts({ METRICS_TOKEN: '' }).worker.METRICS_TOKEN, '');
  });

  it('refuse a DNS_OVER_HTTPS_URL that is no URL', () => {
    for (const value of [
      'secret-resolver',
      'ftp://secret-resolver',
      'https://secret resolver',
      'https://u:p@resolver',
    ])
      refuses('DNS_OVER_HTTPS_URL', value);
    for (const value of ['', 'https://dns.example.com/dns-query', 'http://127.0.0.1:8053/'])
      assert.equal(accepts({ DNS_OVER_HTTPS_URL: value }).worker.DNS_OVER_HTTPS_URL, value);
  });

  it('refuse PLATFORM_BASE_URLS that are not an object from platforms to URLs', () => {
    for (const value of [
      '{',
      '[]',
      'null',
      '"flying"',
      '1',
      '{"unheard-of":"http://localhost:1"}',
      '{"__proto__":"http://localhost:1"}',
    ])
      refuses('PLATFORM_BASE_URLS', value);
    const urls = [
      'ftp://files',
      '//relative',
      'http://user:password@there',
      'http://there/?query',
      'http://there/#fragment',
      'http://there?',
      'http:there',
      ' http://there',
      '',
    ];
    for (const url of [...urls, 1, null, {}]) refuses('PLATFORM_BASE_URLS', JSON.stringify({ fly: url }));
    for (const value of [
      '{}',
      '',
      '{"vercel":"http://localhost:9000","github-actions":"https://github.example.com/api"}',
    ])
      accepts({ PLATFORM_BASE_URLS: value });
  });

  it('refuse a PUBLIC_URL that is not an origin, and normalise one that is', () => {
    const wrong = [
      'secret-host.test',
      'ftp://secret-host.test',
      'https://secret-host.test/path',
      'https://user@secret-host.test',
      'https://secret-host.test/?',
    ];
    for (const value of [
      ...wrong,
      'https://secret-host.test#',
      'https:secret-host.test',
      'https://',
      'https://secret-host.test:99999',
    ])
      refuses('PUBLIC_URL', value);
    assert.equal(
      accepts({ PUBLIC_URL: 'HTTPS://Secret-Host.test:443/' }).worker.PUBLIC_URL,
      'https://secret-host.test',
    );
  });
});
