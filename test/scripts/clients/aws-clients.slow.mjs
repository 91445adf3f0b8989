// Clients of AWS Secrets Manager, unchanged, against the running service: they create, read, list and delete.
// `npm run test:aws-clients` installs them; a client that is not there is skipped.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { env, freePort, project, sharedService } from '../service.mjs';

const folder = path.join(project, '.sdks/aws');
const tools = path.join(project, 'test/tools');
const js = path.join(folder, 'node_modules/@aws-sdk/client-secrets-manager');
const python = path.join(folder, 'venv/bin/python3');
const cli = path.join(folder, 'venv/bin/aws');
const go = path.join(folder, 'aws-go');
const java = path.join(folder, 'aws-java.class-path');
const agent = path.join(folder, 'agent/bin/aws_secretsmanager_agent');
const missing = (file) => (fs.existsSync(file) ? false : 'not installed: npm run test:aws-clients');

let service;

/** The environment of a client of a new organisation: with a static access key, or one of a session. */
async function clientOf(session = false) {
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const { json } = await service.call('POST', '/orgs', bootstrap, { name: 'clients', owner });
  const { id } = json.org;
  const { token } = json.api_key;
  const key = session
    ? (await service.call('POST', '/auth/aws', token, {})).json
    : (await service.call('PATCH', `/orgs/${id}/api-keys/${json.api_key.id}`, token, { aws: true })).json.aws;
  return {
    ...env,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: `${service.base}/compat/aws/${id}/production`,
    AWS_REGION: 'eu-central-1',
    AWS_DEFAULT_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: key.access_key_id,
    AWS_SECRET_ACCESS_KEY: key.secret_access_key,
    ...(session && { AWS_SESSION_TOKEN: key.session_token }),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_JS: `${js}/dist-cjs/index.js`,
  };
}

async function outputOf(command, args, session) {
  const { stdout } = await promisify(execFile)(command, args, { env: await clientOf(session) });
  return stdout;
}

const run = async (...call) => JSON.parse(await outputOf(...call));

/** A call of an operation, signed by a library. */
async function write(own, operation, input) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = own;
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: 'secretsmanager', region: 'auto' });
  const answer = await client.fetch(own.AWS_ENDPOINT_URL_SECRETS_MANAGER, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.1',
      'X-Amz-Target': `secretsmanager.${operation}`,
    },
    body: JSON.stringify(input),
  });
  assert.equal(answer.status, 200, await answer.text());
}

test('AWS: clients work unchanged', { timeout: 600_000 }, async (t) => {
  service = await sharedService();
  for (const session of [false, true]) {
    const kind = session ? 'a session' : 'a static access key';
    await t.test(`boto3: a program in Python works with ${kind}`, { skip: missing(python) }, async () => {
      const { cached = 'value', ...seen } = await run(python, [path.join(tools, 'aws_boto3.py')], session);
      assert.equal(cached, 'value');
      assert.deepEqual(seen, {
        arn: true,
        exists: 'ResourceExistsException',
        stages: ['AWSCURRENT'],
        binary: '00ff',
        previous: '{"user":"app"}',
        version: ['AWSPREVIOUS'],
        labels: ['AWSCURRENT', 'AWSPREVIOUS'],
        created: true,
        tags: [{ Key: 'a', Value: 'b' }],
        names: ['py/db'],
        batch: [['three'], ['ResourceNotFoundException']],
        policy: false,
        password: 20,
        deleted: true,
        marked: 'InvalidRequestException',
        restored: 'three',
        absent: 'ResourceNotFoundException',
        wrong: session ? 'UnrecognizedClientException' : 'InvalidSignatureException',
      });
    });

    await t.test(
      `JavaScript: a program with AWS's client works with ${kind}`,
      { skip: missing(js) },
      async () => {
        assert.deepEqual(await run(process.execPath, [path.join(tools, 'aws-js.mjs')], session), {
          stages: ['AWSCURRENT'],
          binary: '00ff',
          created: true,
          batch: ['js/db'],
          exists: 'ResourceExistsException',
          absent: 'ResourceNotFoundException',
        });
      },
    );

    await t.test(`Go: a program with AWS's SDK works with ${kind}`, { skip: missing(go) }, async () => {
      assert.deepEqual(await run(go, [], session), {
        empty: 'ResourceNotFoundException',
        stages: ['AWSCURRENT'],
        binary: '00ff',
        names: 'go/db',
        absent: 'ResourceNotFoundException',
      });
    });

    await t.test(`Java: a program with AWS's SDK works with ${kind}`, { skip: missing(java) }, async () => {
      const classPath = fs.readFileSync(java, 'utf8');
      const seen = await outputOf(
        'java',
        ['-cp', classPath, path.join(tools, 'aws-java/AwsJava.java')],
        session,
      );
      assert.deepEqual(seen.trim().split('\n'), [
        'empty ResourceNotFoundException',
        'stages [AWSCURRENT]',
        'binary 00ff',
        'cached two',
        'names [java/db]',
        'absent ResourceNotFoundException',
        'type ResourceNotFoundException',
      ]);
    });
  }

  await t.test('agent: serves a secret, and its new value', { skip: missing(agent) }, async () => {
    const own = await clientOf();
    const port = await freePort();
    const config = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'agent-')), 'agent.toml');
    fs.writeFileSync(config, `http_port = ${port}\nvalidate_credentials = false\nlog_to_file = false\n`);
    const process = spawn(agent, ['--config', config], { env: { ...own, AWS_TOKEN: 'of-this-machine' } });
    after(() => process.kill());
    for await (const line of createInterface(process.stdout)) if (line.includes('listening')) break;
    const at = `http://127.0.0.1:${port}/secretsmanager/get?secretId=agent/db`;
    const ask = async (query = '') => {
      const answer = await fetch(at + query, {
        headers: { 'X-Aws-Parameters-Secrets-Token': 'of-this-machine' },
      });
      return answer.ok ? (await answer.json()).SecretString : answer.text();
    };
    assert.match(await ask(), /ResourceNotFoundException/);
    await write(own, 'CreateSecret', { Name: 'agent/db', SecretString: 'one' });
    assert.equal(await ask(), 'one');
    await write(own, 'PutSecretValue', { SecretId: 'agent/db', SecretString: 'two' });
    assert.equal(await ask(), 'one');
    assert.equal(await ask('&refreshNow=true'), 'two');
  });

  await t.test('command line: creates and reads', { skip: missing(cli) }, async () => {
    const own = await clientOf();
    const aws = async (...args) =>
      JSON.parse(
        (await promisify(execFile)(cli, ['secretsmanager', ...args, '--output', 'json'], { env: own }))
          .stdout,
      );
    await aws('create-secret', '--name', 'cli/db', '--secret-string', 'from the command line');
    const { SecretString } = await aws('get-secret-value', '--secret-id', 'cli/db');
    assert.equal(SecretString, 'from the command line');
    const { Name } = await aws('describe-secret', '--secret-id', 'cli/db');
    assert.equal(Name, 'cli/db');
  });
});
