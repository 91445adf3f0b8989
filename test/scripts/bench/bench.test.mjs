// The benchmark runs on the real service, and its numbers have the shape that programs read.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { env, project } from '../service.mjs';
import { slow } from '../slow.mjs';

const bench = (...args) =>
  spawnSync(process.execPath, ['scripts/bench/bench.mjs', ...args], {
    cwd: project,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });

it('benchmark: measures floor and subject and ends with a line of JSON', slow(60_000), () => {
  const only = ['warm read', 'mint', '401 junk token'];
  const ran = bench(
    '--json',
    '--seconds',
    '0.1',
    '--rounds',
    '2',
    '--connections',
    '4',
    ...only.flatMap((name) => ['--only', name]),
  );
  assert.equal(ran.status, 0, ran.stderr);
  const { rows } = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1));
  assert.deepEqual(
    rows.map(({ name, connections, gate_calls, d1_queries }) => [name, connections, gate_calls, d1_queries]),
    [
      ['floor', 4, 1, 0],
      ['warm read', 4, 1, 0],
      ['mint', 4, 1, 0],
      ['401 junk token', 4, 0, 0],
    ],
  );
  for (const row of rows) {
    assert.ok(
      row.rps > 0 && row.p50_ms > 0 && row.p99_ms >= row.p50_ms && row.ratio_to_floor > 0,
      JSON.stringify(row),
    );
  }
});

it('benchmark: an unknown row is refused with the names of the known ones', () => {
  const ran = bench('--only', 'nothing');
  assert.equal(ran.status, 1);
  assert.match(ran.stderr, /--only nothing .*warm read/);
});

it('another checkout takes the place of the floor, row by row', slow(60_000), () => {
  const ran = bench(
    '--json',
    '--against',
    '.',
    '--seconds',
    '0.1',
    '--rounds',
    '2',
    '--connections',
    '4',
    '--only',
    'warm read',
  );
  assert.equal(ran.status, 0, ran.stderr);
  const { rows } = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1));
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['warm read'],
  );
  assert.ok(rows[0].cpu_ms_there > 0 && rows[0].cpu_ratio > 0, JSON.stringify(rows));
});

it('a directory that is not a checkout is named', () => {
  const ran = bench('--against', 'src');
  assert.equal(ran.status, 1);
  assert.match(ran.stderr, /--against src is not a checkout/);
});

it('benchmark: creates with webhooks are compared with creates without', slow(60_000), () => {
  const ran = bench(
    '--json',
    '--seconds',
    '0.1',
    '--rounds',
    '2',
    '--connections',
    '4',
    '--only',
    'create with 10 webhooks',
  );
  assert.equal(ran.status, 0, ran.stderr);
  const { rows } = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1));
  assert.deepEqual(
    rows.map(({ name, gate_calls, d1_queries }) => [name, gate_calls, d1_queries]),
    [['create with 10 webhooks', 1, 0]],
  );
  assert.ok(rows[0].cpu_ratio > 0, JSON.stringify(rows));
});

it(
  'benchmark: calls of upstreams and reads by a binding are compared with what they replace',
  slow(120_000),
  () => {
    const only = ['call of an upstream', 'read by binding'];
    const few = ['--seconds', '0.1', '--rounds', '2', '--connections', '4'];
    const ran = bench('--json', ...few, ...only.flatMap((name) => ['--only', name]));
    assert.equal(ran.status, 0, ran.stderr);
    const { rows } = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1));
    assert.deepEqual(
      rows.map(({ name, gate_calls }) => [name, gate_calls]),
      [
        ['call of an upstream', 2],
        ['read by binding', 1],
      ],
    );
    for (const row of rows) assert.ok(row.cpu_ratio > 0, JSON.stringify(row));
  },
);

it('benchmark: deliveries and streams are measured', slow(60_000), () => {
  const args = [
    'scripts/bench/events.mjs',
    '--events',
    '20',
    '--webhooks',
    '2',
    '--streams',
    '3',
    '--seconds',
    '1',
  ];
  const ran = spawnSync(process.execPath, args, { cwd: project, env, encoding: 'utf8', timeout: 60_000 });
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stdout, /^deliveries: 40 in .* a second/m);
  assert.match(ran.stdout, /^one event to all of them: /m);
});
