// A vault that is hostile, or none: whatever it answers is one clear error, and neither memory nor time
// without a bound.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isAnswerOf } from '../../src/requests/answers.ts';
import { pages } from '../../src/secrets/lookup.ts';
import { Machine, until } from '../harness.ts';
import { answeringEverything, answerOf, type Hostile, OPERATIONS, startHostile } from '../hostile.ts';

let hostile: Hostile;
let machine: Machine;
beforeAll(async () => {
  hostile = await startHostile();
  machine = new Machine({
    SVC_URL: hostile.url,
    SVC_TOKEN: 'svcag_x',
    SVC_ORG_ID: 'org_1',
    SVC_ENVIRONMENT: 'staging',
  });
});
afterAll(() => hostile.close());
afterEach(() => {
  hostile.handler = undefined;
});

const answering = (body: string, status = 200, headers = {}) => {
  hostile.handler = (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(body);
  };
};

const COMMANDS = [
  ['whoami'],
  ['list'],
  ['get', 'A'],
  ['set', 'A'],
  ['set', 'A', '--generate'],
  ['rotate', 'A'],
  ['delete', 'A', '--yes'],
  ['restore', 'A'],
  ['history', 'A'],
  ['rollback', 'A', '1', '--yes'],
  ['diff', 'staging', 'production'],
  ['copy', 'A', '--from', 'staging', '--to', 'production', '--yes'],
  ['promote', 'A', '--from', 'staging', '--to', 'production', '--yes'],
  ['export'],
  ['export', '--prefix', 'a'],
  ['share', 'A'],
  ['run', '--', 'true'],
  ['init', '--env', 'staging', '--force'],
  ['environment', 'list'],
  ['key', 'list'],
  ['key', 'create', 'x', '--scopes', 'secrets:read'],
  ['agent', 'list'],
  ['token', 'list'],
  ['trust', 'list'],
  ['member', 'list'],
  ['team', 'list'],
  ['team', 'create', 'x'],
  ['grant', 'list'],
  ['device', 'list'],
  ['approval', 'list'],
  ['approval', 'show', 'apr_1'],
  ['policy', 'list'],
  ['audit'],
  ['sync', 'list'],
  ['webhook', 'list'],
  ['log-stream', 'list'],
  ['log-stream', 'show', 'log_1'],
  ['incident', 'list'],
];

/** Commands that show what a vault says of what they changed, or that read several things. */
const MORE = [
  ['doctor'],
  ['import', 'app.env', '--source', 'dotenv'],
  ['scan', 'app.env'],
  ['org', 'show'],
  ['org', 'set', '--regions', 'weur'],
  ['environment', 'create', 'x'],
  ['environment', 'rename', 'staging', 'x'],
  ['environment', 'delete', 'staging', '--yes'],
  ['key', 'rotate', 'key_1', '--yes'],
  ['key', 'revoke', 'key_1', '--yes'],
  ['agent', 'create', 'x', '--scopes', 'secrets:read'],
  ['agent', 'update', 'agt_1', '--ttl', '1d'],
  ['agent', 'revoke', 'agt_1', '--yes'],
  ['token', 'create', '--ttl', '1h'],
  ['token', 'revoke', 'tok_1', '--yes'],
  ['trust', 'create', 'x', '--issuer', 'github', '--claim', 'sub=a', '--scopes', 'secrets:read'],
  ['trust', 'show', 'trs_1'],
  ['trust', 'delete', 'trs_1', '--yes'],
  ['member', 'invite', 'a@example.com', '--name', 'x', '--role', 'viewer'],
  ['member', 'role', 'mem_1', 'viewer'],
  ['member', 'environments', 'mem_1', 'staging'],
  ['member', 'access', 'mem_1', 'secrets:read'],
  ['member', 'remove', 'mem_1', '--yes'],
  ['team', 'members', 'team_1'],
  ['team', 'add', 'team_1', 'mem_1'],
  ['team', 'remove', 'team_1', 'mem_1', '--yes'],
  ['team', 'delete', 'team_1', '--yes'],
  ['grant', 'create', 'mem_1', '--permission', 'read'],
  ['grant', 'delete', 'grt_1', '--yes'],
  ['device', 'register', 'x', '--serial', 'y', '--platform', 'linux'],
  ['device', 'assign', 'dev_1', 'mem_1'],
  ['device', 'block', 'dev_1', '--yes'],
  ['device', 'remove', 'dev_1', '--yes'],
  ['approval', 'wait', 'apr_1', '--timeout', '1s'],
  ['approval', 'cancel', 'apr_1'],
  ['policy', 'show', 'pol_1'],
  ['policy', 'enable', 'pol_1'],
  ['policy', 'disable', 'pol_1', '--yes'],
  ['policy', 'violations', 'pol_1'],
  ['policy', 'delete', 'pol_1', '--yes'],
  ['sync', 'run', 'int_1'],
  ['sync', 'status', 'syn_1'],
  ['sync', 'cancel', 'syn_1'],
  ['sync', 'connections'],
  ['sync', 'disconnect', 'int_1', '--yes'],
  ['webhook', 'create', 'https://example.com/a', '--events', 'SECRET_ROTATED'],
  ['webhook', 'test', 'whk_1'],
  ['log-stream', 'test', 'log_1'],
  ['log-stream', 'seek', 'log_1', '--from', '1'],
  ['log-stream', 'enable', 'log_1'],
  ['log-stream', 'disable', 'log_1', '--yes'],
  ['log-stream', 'delete', 'log_1', '--yes'],
  ['webhook', 'rotate', 'whk_1', '--yes'],
  ['webhook', 'deliveries', 'whk_1'],
  ['webhook', 'redeliver', 'dlv_1'],
  ['webhook', 'enable', 'whk_1'],
  ['webhook', 'disable', 'whk_1'],
  ['webhook', 'delete', 'whk_1', '--yes'],
  ['contain', 'agt_1', '--yes'],
  ['incident', 'show', 'inc_1'],
  ['incident', 'close', 'inc_1'],
  ['incident', 'open', 'inc_1'],
];

const ONE_ERROR = /^error: .*UNEXPECTED_RESPONSE.*\n( {2}.*\n)*$/;
/** What an error says that no command has foreseen. */
const SLIPS = /undefined|TypeError|Cannot read|is not a function|\[object/;

describe('shape of an answer', () => {
  it.each(['{}', '[]', '{"data":[{}],"next_cursor":null,"has_more":false}', '{"data":{}}', '[null]'])(
    'response: %s is one clear error of every command',
    async (body) => {
      answering(body);
      const odd: string[] = [];
      for (const argv of COMMANDS)
        for (const isJson of argv[0] === 'run' ? [false] : [false, true]) {
          const { code, stdout, stderr } = await machine.svc([...argv, ...(isJson ? ['--json'] : [])], {
            stdin: 'value',
          });
          const isOneError = isJson
            ? stderr.includes('"code": "UNEXPECTED_RESPONSE"')
            : ONE_ERROR.test(stderr);
          if (code !== 1 || stdout !== '' || !isOneError || SLIPS.test(stderr))
            odd.push(`${argv.join(' ')}: ${code} ${stdout}${stderr}`);
        }
      expect(odd).toEqual([]);
      expect(fs.existsSync(path.join(machine.work, '.svc.json'))).toBe(false);
    },
  );

  it('response: an answer with every field of its schema passes, and without one that is required it does not', () => {
    expect(OPERATIONS.length).toBeGreaterThan(140);
    for (const { operation, status, schema } of OPERATIONS) {
      expect(isAnswerOf(answerOf(schema, 'x'), operation, status), operation).toBe(true);
      expect(isAnswerOf(answerOf(schema, 'x'), operation, 299), operation).toBe(false);
      // Which kinds a search shows depends on the caller.
      const isEmptyOne = operation === 'GET /orgs/{org_id}/search';
      for (const odd of [...(isEmptyOne ? [] : [{}]), null, [], 'x', 5])
        expect(isAnswerOf(odd, operation, status), operation).toBe(false);
    }
    const page = answerOf('SecretPage', 'x', { data: [answerOf('Secret', 'x', { version: '1' })] });
    expect(isAnswerOf(page, 'GET /orgs/{org_id}/secrets', 200)).toBe(false);
  });

  it.each([
    '{}',
    '{"runs":[]}',
    '{"runs":[{}]}',
    '{"runs":[{"tool":{"driver":{"rules":[]}},"invocations":[],"results":[{}]}]}',
  ])('scan: a log %s is one clear error, and not a scan without findings', async (body) => {
    machine.write('a.txt', 'text');
    answering(body, 201, { 'Content-Type': 'application/sarif+json' });
    const ran = await machine.svc(['scan', 'a.txt']);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, '', expect.stringMatching(ONE_ERROR)]);
  });

  it('login: a session of another shape is not stored', async () => {
    const start = { device_code: 'svcdc_x', user_code: 'A-B', expires_in: 5, interval: 1 };
    const page = `${hostile.url}/device`;
    for (const session of [{}, { token: 5 }, { token: 'x', refresh_token: 'y', expiresAt: 5 }]) {
      const other = new Machine();
      hostile.handler = (request, response) => {
        const isStart = request.url?.endsWith('/auth/device');
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(
          JSON.stringify(
            isStart ? { ...start, verification_uri: page, verification_uri_complete: page } : session,
          ),
        );
      };
      const ran = await other.svc(['login', '--url', hostile.url, '--no-browser']);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('may not be a vault')]);
      expect(fs.existsSync(other.config)).toBe(false);
    }
  });
});

describe('text of an answer', () => {
  const ESCAPES = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\r\nfake line';
  /** Commands that print a value or a file, lines and all. */
  const PRINTS = new Set<string | undefined>(['get', 'export']);
  /** Those of svc itself. */
  const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[(2?2|3[123]|39)m`, 'g');

  it('escape sequences: no text of an answer acts on the terminal or adds a line, whatever the command', async () => {
    const odd: string[] = [];
    let shown = 0;
    hostile.handler = answeringEverything(ESCAPES, { default_environment: 'staging' });
    machine.write('app.env', 'A=1');
    for (const argv of [...COMMANDS, ...MORE])
      for (const more of [[], ['--json']]) {
        if (argv[0] === 'run' && more.length > 0) continue;
        const { stdout, stderr } = await machine.svc([...argv, ...more], { stdin: 'value', terminal: true });
        const text = (stdout + stderr).replaceAll(COLOURS, '');
        shown += Number(text.includes('owned'));
        if (/[^\P{Cc}\n\t]|\p{Cf}/u.test(text) || /^fake line/m.test(PRINTS.has(argv[0]) ? stderr : text))
          odd.push(`${argv.join(' ')}: ${JSON.stringify(text)}`);
      }
    fs.rmSync(path.join(machine.work, '.svc.json'), { force: true });
    expect(odd).toEqual([]);
    expect(shown).toBeGreaterThan(20);
  });
});

describe('size and time', () => {
  it('response: an endless body is given up', async () => {
    let open = 0;
    hostile.handler = ({ method }, response) => {
      open++;
      let isClosed = false;
      response.writeHead(method === 'GET' ? 200 : 403, { 'Content-Type': 'application/json' });
      response.on('close', () => {
        isClosed = true;
        open--;
      });
      const chunk = Buffer.alloc(256 * 1024, ' ');
      const more = () => {
        while (!isClosed && response.write(chunk));
        if (!isClosed) response.once('drain', more);
      };
      more();
    };
    const login = ['login', '--url', hostile.url, '--key-stdin'];
    expect(
      await machine.svc(login, { stdin: `svcag_${'0'.repeat(40)}`, env: { SVC_TOKEN: '' } }),
    ).toMatchObject({ code: 1, stdout: '' });
    expect(await machine.svc(['team', 'create', 'x'])).toMatchObject({ code: 4, stdout: '' });
    // The state before the change is read first.
    expect(await machine.svc(['team', 'rename', 'team_1', 'x'])).toMatchObject({ code: 1, stdout: '' });
    await until(() => open === 0);
  });

  it('list: pages without an end are given up', async () => {
    let asked = 0;
    hostile.handler = (request, response) => {
      asked++;
      answeringEverything('x', { next_cursor: 'again', has_more: true })(request, response);
    };
    for (const argv of [
      ['list'],
      ['audit', '--limit', '1000'],
      ['team', 'list'],
      ['org', 'list', '--url', hostile.url],
    ]) {
      const ran = await machine.svc(argv, { env: { BOOTSTRAP_TOKEN: 'b'.repeat(32) } });
      expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, '', expect.stringMatching(ONE_ERROR)]);
    }
    expect(asked).toBeLessThan(20);
    let cursor = 0;
    const next = async () => {
      if (cursor > 50_000) throw new Error('the list has no end');
      return { data: [], next_cursor: String(++cursor) };
    };
    await expect(pages(Number.POSITIVE_INFINITY, next)).rejects.toMatchObject({
      problem: { code: 'UNEXPECTED_RESPONSE' },
    });
  });

  it('redirect: not followed when the state before a change is read', async () => {
    const elsewhere = await startHostile();
    hostile.handler = (request, response) => {
      response.writeHead(307, { Location: `${elsewhere.url}${request.url}` });
      response.end();
    };
    expect((await machine.svc(['team', 'rename', 'team_1', 'x', '--reason', 'mine'])).code).toBe(1);
    expect(elsewhere.stolen).toEqual([]);
    elsewhere.close();
  });

  it('cookie: one that the vault sets is not sent back', async () => {
    answering(JSON.stringify(answerOf('WhoAmI', 'x')), 200, { 'Set-Cookie': 'a=b; Path=/' });
    hostile.stolen.length = 0;
    for (let n = 0; n < 2; n++) expect((await machine.svc(['doctor'])).stdout).toContain(hostile.url);
    expect(hostile.stolen.join()).not.toContain('cookie');
  });

  it('promote: a dry run without an ETag is followed by no promotion', async () => {
    const promoted = JSON.stringify({ created: [], updated: ['A'], removed: [], unchanged: [] });
    const argv = ['promote', 'A', '--from', 'staging', '--to', 'production', '--yes'];
    hostile.stolen.length = 0;
    for (const headers of [{}, { ETag: '*' }, { ETag: '"a", *' }, { ETag: '' }] as Record<string, string>[]) {
      answering(promoted, 200, headers);
      const ran = await machine.svc(argv);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(ONE_ERROR)]);
    }
    expect(hostile.stolen).toHaveLength(4);
    for (const ETag of ['"a"', 'W/"a"']) {
      answering(promoted, 200, { ETag });
      expect((await machine.svc(argv)).code).toBe(0);
      expect(hostile.stolen.at(-1)).toContain('"if-match":"\\"a\\""');
    }
  });

  it('login: a pause of any length between polls is bounded by the life of the code', async () => {
    const page = `${hostile.url}/device`;
    const start = {
      device_code: 'svcdc_x',
      user_code: 'A-B',
      verification_uri: page,
      verification_uri_complete: page,
    };
    let polls = 0;
    hostile.handler = (request, response) => {
      const isStart = request.url?.endsWith('/auth/device');
      if (!isStart) polls++;
      response.writeHead(isStart ? 200 : 400, { 'Content-Type': 'application/json' });
      response.end(
        JSON.stringify(
          isStart
            ? { ...start, expires_in: 1, interval: 1e300 }
            : { error: { code: 'AUTHORIZATION_PENDING' } },
        ),
      );
    };
    const ran = await new Machine().svc(['login', '--url', hostile.url, '--no-browser']);
    expect([ran.code, ran.stderr, polls < 3]).toEqual([3, expect.stringContaining('The code expired'), true]);
  });
});

it('regions: an answer from the log names those that it lacks, once', async () => {
  hostile.handler = answeringEverything('x', { regions_missing: ['weur', 'a\u001b[31m', 1] });
  for (const args of [['audit'], ['incident', 'show', 'inc_1'], ['contain', 'key_1', '--dry-run']]) {
    const { stderr } = await machine.svc(args);
    expect(stderr.match(/No reply from weur, a.*: audit entries/g), args[0]).toHaveLength(1);
    expect(stderr).not.toContain('\u001b[31m');
  }
});

describe('waiting for a decision', () => {
  it('approval: a server that answers at once without a decision is asked once a second', async () => {
    let asked = 0;
    hostile.handler = ({ url }, response) => {
      const isHeld = !url?.includes('/approvals/');
      if (!isHeld) asked++;
      response.writeHead(isHeld ? 403 : 200, { 'Content-Type': 'application/json' });
      const pending = answerOf('Approval', 'x', { id: 'apr_1', status: asked > 3 ? 'rejected' : 'pending' });
      const refusal = { code: 'APPROVAL_REQUIRED', message: 'Held.', approval: { id: 'apr_1' } };
      response.end(JSON.stringify(isHeld ? { error: refusal } : pending));
    };
    const began = Date.now();
    expect((await machine.svc(['get', 'A', '--wait'])).stderr).toContain('is rejected');
    expect(asked).toBe(4);
    expect(Date.now() - began).toBeGreaterThan(2900);
  });
});
