// Random histories of one org, run against the real service while its D1, its gate and its replies fail, and
// then held against the model. The audit chain is the witness: its order is the order in which everything
// happened. Checked: each effect has one entry and is what the model says at that place; each answer was
// right at some moment between its request and itself; what came after an answer in real time comes after it
// in the chain; no keyed call took effect twice; D1 and the gate hold the same rows, and nothing is in doubt.
import fc from 'fast-check';
import { runTasks } from '../../src/gate/tasks/run';
import { type Fate, faults, reset } from '../support/faults';
import { evict, inGate } from '../support/gate';
import { newPolicy } from '../support/governance/policies';
import { type Caller, callerOf, newOrg } from '../support/world';
import { problemOf } from './invariants';
import { type Answer, ended, type Op, type State, step } from './model';

// ---------------------------------------------------------------- what is planned

const names = ['A', 'B', 'C'];
const kinds = [
  'create',
  'put',
  'patch',
  'rotate',
  'rollback',
  'delete',
  'restore',
  'read',
  'read by name',
  'bulk',
  'policy',
  'mint',
  'revoke',
  'rotate key',
] as const;

interface Planned {
  kind: (typeof kinds)[number];
  /** Which of the things that are known by then; numbers wrap around. */
  who: number;
  target: number;
  name: string;
  pick: number;
  keyed: boolean;
}

interface Phase {
  /** Ops that run side by side. */
  ops: Planned[];
  /** What happens once they have ended. */
  after: 'nothing' | 'evict' | 'work' | 'orphans';
  /** Seconds that pass. */
  pass: number;
}

export interface Plan {
  phases: Phase[];
  /** How the n-th call of D1, and of the gate, ends. */
  fates: (Fate | null)[];
  rpcs: ({ fate: 'before' | 'after'; retryable: boolean } | null)[];
  /** How long D1 takes, in milliseconds. */
  delays: number[];
  /** Whether D1 lags behind the replies. */
  lags?: boolean;
}

const weighted = <T>(...options: [number, T][]) =>
  fc.oneof(...options.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));
const planned: fc.Arbitrary<Planned> = fc.record({
  kind: weighted<Planned['kind']>(
    [4, 'create'],
    [4, 'put'],
    [6, 'patch'],
    [3, 'rotate'],
    [2, 'rollback'],
    [3, 'delete'],
    [2, 'restore'],
    [4, 'read'],
    [3, 'read by name'],
    [2, 'bulk'],
    [1, 'policy'],
    [3, 'mint'],
    [2, 'revoke'],
    [1, 'rotate key'],
  ),
  who: fc.nat(7),
  target: fc.nat(5),
  name: fc.constantFrom(...names),
  pick: fc.nat(11),
  keyed: fc.boolean(),
});

export const plans: fc.Arbitrary<Plan> = fc.record({
  phases: fc.array(
    fc.record({
      ops: fc.array(planned, { minLength: 1, maxLength: 5 }),
      after: weighted<Phase['after']>([4, 'nothing'], [1, 'evict'], [1, 'work'], [1, 'orphans']),
      pass: weighted([5, 0], [1, 61], [1, 1001], [1, 691_200]),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  fates: fc.array(
    weighted<Fate | null>(
      [14, null],
      [1, 'before'],
      [1, 'after'],
      [1, 'late'],
      [1, 'reset before'],
      [1, 'reset after'],
      [1, 'reset late'],
    ),
    { maxLength: 40 },
  ),
  rpcs: fc.array(
    weighted<Plan['rpcs'][number]>(
      [12, null],
      [1, { fate: 'before', retryable: true }],
      [1, { fate: 'after', retryable: true }],
      [1, { fate: 'after', retryable: false }],
    ),
    { maxLength: 40 },
  ),
  // Mostly quick, now and then slow enough to be overtaken by everything else.
  delays: fc.array(weighted([8, 0], [3, 1], [1, 4], [1, 12]), { minLength: 1, maxLength: 12 }),
  lags: fc.boolean(),
});

// ---------------------------------------------------------------- what happens

/** One request: an op may take several, under one Idempotency-Key. Ticks order what is seen from outside. */
interface Attempt {
  id: string;
  op: Op;
  as: string;
  key: string | null;
  now: number;
  start: number;
  end: number;
  /** Null where nobody can say. */
  answer: Answer | null;
}

/** Requests a minute that session tokens may make here. */
const RATE = 6;
const LOSING = new Set(['UNAVAILABLE', 'OVERLOADED', 'IDEMPOTENCY_IN_PROGRESS', 'RATE_LIMITED']);

interface Running {
  o: Caller;
  tick: number;
  attempts: Attempt[];
  secrets: string[];
  tokens: { id: string; token: string; kind: 'api_key' | 'session' }[];
  rootId: string;
  policies: { naming: string; approval: string };
}

/** What a plan means with what is known by now. */
function opOf({ kind, target, name, pick }: Planned, { secrets, tokens }: Running, id: string): Op {
  const secret = secrets.length ? (secrets[target % secrets.length] as string) : 'sec_0';
  const keys = tokens.filter(({ kind: of }) => of === 'api_key');
  const value = `value of ${id}`;
  const ttl = [undefined, undefined, undefined, null, 60, 90_000][pick % 6];
  const tag: [number, number] | undefined = pick % 4 === 0 ? [1 + (pick % 3), 0] : undefined;
  switch (kind) {
    case 'create':
      return {
        do: kind,
        id: null,
        name,
        value: pick % 4 === 3 ? null : value,
        made: pick % 4 === 3,
        ttl: ttl ?? null,
      };
    case 'put':
      return { do: kind, id: null, name, value: pick % 3 ? value : 'the same' };
    case 'patch':
      if (pick % 5 === 0) return { do: kind, secret, name, tag };
      return {
        do: kind,
        secret,
        ...(pick % 5 !== 1 && { value: pick % 5 === 2 ? 'the same' : value }),
        ttl: ttl ?? (pick % 5 === 1 ? null : undefined),
        tag,
      };
    case 'rotate':
      return { do: kind, secret, value: pick % 3 === 0 ? null : value, made: pick % 3 === 0, tag };
    case 'rollback':
      return { do: kind, secret, version: 1 + (pick % 3), tag };
    case 'delete':
      return { do: kind, secret, permanent: pick % 3 === 0, tag };
    case 'restore':
      return { do: kind, secret };
    case 'read':
      return { do: kind, secret, ...(pick % 3 === 0 && { version: 1 + (pick % 4) }) };
    case 'read by name':
      return { do: kind, name };
    case 'bulk':
      return { do: kind };
    case 'policy':
      return { do: kind, which: pick % 4 === 0 ? 'approval' : 'naming', enabled: pick % 3 !== 1 };
    case 'mint':
      return { do: kind, id: null, ttl: pick % 2 ? 60 : 1000 };
    case 'revoke':
      return { do: kind, credential: tokens[target % tokens.length]?.id ?? 'tok_0' };
    case 'rotate key':
      return {
        do: kind,
        id: null,
        credential: keys[target % keys.length]?.id ?? 'key_0',
        overlap: pick % 2 ? 0 : 60,
      };
  }
}

function request(op: Op, policies: Running['policies']): [string, string, unknown?, Record<string, string>?] {
  const tag: Record<string, string> =
    'tag' in op && op.tag ? { 'If-Match': `"v${op.tag[0]}${op.tag[1] ? `.${op.tag[1]}` : ''}"` } : {};
  const at = 'secret' in op ? `/secrets/${op.secret}` : '';
  switch (op.do) {
    case 'create':
      return [
        'POST',
        '/secrets',
        {
          name: op.name,
          type: 'password',
          ...(op.made ? { generate: {} } : { value: op.value }),
          ...(op.ttl !== null && { ttlSeconds: op.ttl }),
        },
      ];
    case 'put':
      return ['PUT', `/secrets/by-name/${op.name}`, { value: op.value, type: 'password' }];
    case 'patch':
      return ['PATCH', at, { name: op.name, value: op.value, ttlSeconds: op.ttl }, tag];
    case 'rotate':
      return ['POST', `${at}/rotate`, op.made ? {} : { value: op.value }, tag];
    case 'rollback':
      return ['POST', `${at}/rollback`, { version: op.version }, tag];
    case 'delete':
      return ['DELETE', `${at}${op.permanent ? '?permanent=true' : ''}`, undefined, tag];
    case 'restore':
      return ['POST', `${at}/restore`];
    case 'read':
      return ['GET', `${at}${op.version ? `?version=${op.version}` : ''}`];
    case 'read by name':
      return ['GET', `/secrets/by-name/${op.name}`];
    case 'bulk':
      return ['GET', '/environments/production/values'];
    case 'policy':
      return ['PATCH', `/policies/${policies[op.which]}`, { enabled: op.enabled }];
    case 'mint':
      return ['POST', '/access-tokens', { ttlSeconds: op.ttl }];
    case 'revoke':
      return [
        'DELETE',
        `/${op.credential.startsWith('key_') ? 'api-keys' : 'access-tokens'}/${op.credential}`,
      ];
    case 'rotate key':
      return ['POST', `/api-keys/${op.credential}/rotate`, { overlap_seconds: op.overlap }];
  }
}

/** Runs one op to its answer; a keyed one is repeated while its answer is lost. */
async function perform(running: Running, plan: Planned, id: string): Promise<void> {
  const { o, tokens } = running;
  const op = opOf(plan, running, id);
  // What ends credentials is done by the first key, which stays.
  const caller =
    op.do === 'revoke' || op.do === 'rotate key' || op.do === 'policy' || plan.who > tokens.length
      ? undefined
      : tokens[plan.who - 1];
  const as = caller ?? { id: running.rootId, token: o.token };
  const key = plan.keyed ? id : null;
  for (let attempt = 0; attempt < (key ? 3 : 1); attempt++) {
    const one: Attempt = {
      id: `${id}.${attempt}`,
      op,
      as: as.id,
      key,
      now: faults.clock as number,
      start: ++running.tick,
      end: 0,
      answer: null,
    };
    running.attempts.push(one);
    const [method, path, body, headers] = request(op, running.policies);
    const { status, json } = await callerOf(o.id, as.token).call(method, path, body, {
      ...headers,
      'X-Access-Reason': one.id,
      ...(key && { 'Idempotency-Key': key }),
    });
    one.end = ++running.tick;
    const code = json?.error?.code as string | undefined;
    if (code !== undefined && LOSING.has(code)) {
      if (code === 'RATE_LIMITED') one.answer = { status: 429 };
      continue;
    }
    one.answer = {
      status,
      ...(code && { code }),
      ...(json?.version && { version: json.version }),
      ...(json?.value && { value: json.value }),
      ...(json?.values && { values: json.values }),
      ...(json?.generated !== undefined && { generated: json.generated }),
    };
    // Two attempts share what their op made.
    if ('id' in op && status === 201) op.id = json.id;
    if ((op.do === 'create' || op.do === 'put') && status === 201) running.secrets.push(json.id);
    if ((op.do === 'rotate' || op.do === 'create') && op.value === null && json?.value) op.value = json.value;
    if ((op.do === 'mint' || op.do === 'rotate key') && status === 201 && json.token) {
      const kind = op.do === 'mint' ? 'session' : 'api_key';
      running.tokens.push({ id: json.id, token: json.token, kind });
      if (kind === 'session') await limit(o, json.id);
    }
    return;
  }
}

/** Gives a session token a small budget. */
const limit = (o: Caller, id: string) =>
  inGate(o, ({ core }) => {
    const row = core.rows.get('credential', id);
    if (row) core.rows.put('credential', { ...row, rate_limit: RATE });
  }).catch(() => {});

/**
 * Everything that was in doubt is settled: D1 is well again, what was on its way has landed, the alarm has
 * run.
 */
async function quieten(running: Running): Promise<void> {
  const { clock, orphans } = faults;
  reset();
  faults.clock = clock;
  for (const land of orphans) await land().catch(() => {});
  await evict(running.o).catch(() => {});
  await inGate(running.o, ({ core }) => runTasks(core, Number.MAX_SAFE_INTEGER));
}

/** The policies that histories switch on and off: see the model. */
async function newPolicies(o: Caller) {
  const approval = {
    operations: ['secret.read', 'secret.update'],
    required: 1,
    approvers: { role: 'owner' },
  };
  const naming = await newPolicy(o, 'naming', { pattern: '^[AB]$' }, { enabled: false });
  const held = await newPolicy(o, 'approval', approval, { enabled: false, applies_to: { names: ['B'] } });
  return { naming: naming.id, approval: held.id };
}

/** Entries of an org, its key and these policies. */
const SETUP = 4;

/** Runs a plan and throws with what does not hold. */
export async function runHistory(plan: Plan): Promise<void> {
  reset();
  faults.clock = Date.now();
  const o = await newOrg();
  const key = await o.post('/api-keys', { name: 'k', scopes: ['*'] });
  const running: Running = {
    o,
    tick: 0,
    attempts: [],
    secrets: [],
    tokens: [{ id: key.json.id, token: key.json.token, kind: 'api_key' }],
    rootId: o.keyId,
    policies: await newPolicies(o),
  };
  let rpc = 0;
  let call = 0;
  faults.fail = () => plan.fates[call++] ?? null;
  faults.rpc = () => plan.rpcs[rpc++] ?? null;
  faults.lags = plan.lags ?? false;
  faults.delay = (n) => plan.delays[n % plan.delays.length] as number;
  for (const [p, phase] of plan.phases.entries()) {
    await Promise.all(phase.ops.map((op, i) => perform(running, op, `${p}-${i}`)));
    if (phase.after === 'evict') await evict(o).catch(() => {});
    if (phase.after === 'work') await inGate(o, ({ core }) => runTasks(core)).catch(() => {});
    if (phase.after === 'orphans') for (const land of faults.orphans.splice(0)) await land().catch(() => {});
    faults.clock = (faults.clock as number) + phase.pass * 1000;
  }
  await quieten(running);
  const last = (kind: Planned['kind'], target = 0, pick = 1): Planned => ({
    kind,
    who: 0,
    target,
    name: 'A',
    pick,
    keyed: false,
  });
  for (const [i] of running.secrets.entries()) await perform(running, last('read', i), `end-${i}`);
  await perform(running, last('bulk'), 'end-bulk');
  await check(running);
}

// ---------------------------------------------------------------- what must hold

interface Entry {
  sequence: number;
  reason: string | null;
  status: number;
  resource: string | null;
  actor: { id: string | null };
  time: string;
  count: number;
  action: string;
}

const CHANGES = new Set<Op['do']>([
  'create',
  'put',
  'patch',
  'rotate',
  'rollback',
  'delete',
  'restore',
  'mint',
  'revoke',
  'rotate key',
  'policy',
]);

async function check({ o, attempts, rootId, tokens }: Running): Promise<void> {
  const fail = (why: string, attempt?: Attempt) => {
    throw new Error(
      `${why}${attempt ? `: ${JSON.stringify(attempt)}` : ''}\n${attempts.map((one) => JSON.stringify(one)).join('\n')}`,
    );
  };
  const whole = await o.get('/audit-log/verify');
  if (whole.json.ok !== true) fail(`the chain does not hold: ${whole.text}`);
  const entries = (await o.get('/audit-log?format=ndjson')).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
    .reverse();
  for (const [i, { sequence }] of entries.entries())
    if (sequence !== i + 1) fail(`entry ${i + 1} has the sequence ${sequence}`);

  // Where each attempt stands in the chain. What was over the limit is counted in entries of its own.
  const places = new Map<string, number>();
  for (const entry of entries) {
    if (entry.reason === null || entry.status === 429 || entry.status === 401 || entry.status === 503)
      continue;
    places.set(entry.reason, entry.sequence);
  }

  // The states that the chain tells: one before it, one after each entry.
  const key = { kind: 'api_key', parent: null, expires: null, revoked: null, successor: false } as const;
  const first = (tokens[0] as { id: string }).id;
  const states: State[] = [
    { secrets: {}, credentials: { [rootId]: key, [first]: key }, naming: false, approval: false, kept: {} },
  ];
  const effects = new Set<string>();
  const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  const asked = ({ op, as, now, key: under }: Attempt, made: string | null = null) => ({
    op: 'id' in op ? { ...op, id: op.id ?? made } : op,
    as,
    now,
    key: under,
  });
  for (const entry of entries) {
    const before = states.at(-1) as State;
    const attempt = entry.reason === null ? undefined : byId.get(entry.reason);
    const changes = attempt && CHANGES.has(attempt.op.do) && entry.status < 400;
    if (!attempt || !changes) {
      states.push(before);
      continue;
    }
    const [expected, after] = step(
      before,
      asked(attempt, attempt.op.do === 'rotate key' ? null : entry.resource),
      true,
    );
    if (expected.status !== entry.status)
      fail(`entry ${entry.sequence} says ${entry.status}, the model ${JSON.stringify(expected)}`, attempt);
    if (attempt.answer && attempt.answer.status !== 429 && !fits(expected, attempt.answer))
      fail(`the model says ${JSON.stringify(expected)}`, attempt);
    // What lost its reply on the way from the gate is decided once more; it never takes effect once more.
    if (effects.has(attempt.id) && JSON.stringify(after) !== JSON.stringify(before))
      fail('two effects', attempt);
    effects.add(attempt.id);
    states.push(after);
  }

  // Between which entries each answer has to be right.
  const placed = attempts.filter(
    ({ id, answer }) => answer !== null && answer.status < 400 && places.has(id),
  );
  for (const attempt of attempts) {
    const { id, answer } = attempt;
    const low = Math.max(
      SETUP,
      ...placed.filter(({ end }) => end < attempt.start).map((other) => places.get(other.id) as number),
    );
    const high = Math.min(
      entries.length,
      ...attempts
        .filter(({ start, id: other }) => attempt.end && start > attempt.end && places.has(other))
        .map((other) => (places.get(other.id) as number) - 1),
    );
    const place = places.get(id);
    if (place !== undefined && answer && answer.status < 400 && (place <= low || place > high))
      fail(`entry ${place} lies outside ${low + 1} to ${high}`, attempt);
    if (!answer || answer.status === 429) continue;
    const moments = states.slice(low, Math.max(high, low) + 1);
    if (CHANGES.has(attempt.op.do) && answer.status < 400) {
      if (place === undefined) fail('an effect without an entry', attempt);
      if (!moments.some((state) => ended(state, attempt.as, attempt.now) === null))
        fail('admitted though it had ended', attempt);
    } else if (!moments.some((state) => fits(step(state, asked(attempt))[0], answer)))
      fail(
        `never true from ${low} to ${high}: the model says ${JSON.stringify(moments.map((state) => step(state, asked(attempt))[0]))}`,
        attempt,
      );
  }

  // Budgets: never more than there are in any minute, and nobody is turned away who has some left.
  for (const { id, kind } of tokens) {
    if (kind !== 'session') continue;
    const times = entries
      .filter(({ actor, status }) => actor.id === id && status !== 429)
      .map(({ time }) => Date.parse(time));
    for (const at of times)
      if (times.filter((time) => time <= at && time > at - 60_000).length > RATE)
        fail(`${id} got more than its budget`);
    for (const attempt of attempts.filter(({ as, answer }) => as === id && answer?.status === 429)) {
      const tried = attempts.filter(
        (other) => other.as === id && other.now > attempt.now - 60_000 && other.start < attempt.end,
      ).length;
      if (tried <= RATE) fail(`${id} was turned away with some of its budget left`, attempt);
    }
  }
  const problem = await problemOf(o);
  if (problem) fail(problem);
  const standing = await inGate(o, ({ core }) => core.rows.after('secret', '', 1000));
  for (const [id, { version }] of Object.entries((states.at(-1) as State).secrets)) {
    const row = standing.find((one) => one.id === id);
    if (row && row.version !== version)
      fail(`secret ${id} is at version ${row.version}, the model at ${version}`);
  }
}

const fits = (expected: Answer, actual: Answer): boolean =>
  expected.or?.some(({ status, code }) => status === actual.status && code === actual.code) ||
  (expected.status === actual.status && expected.code === actual.code && fitsBody(expected, actual));

const fitsBody = (expected: Answer, actual: Answer): boolean =>
  (expected.version === undefined || expected.version === actual.version) &&
  (expected.generated === undefined || expected.generated === actual.generated) &&
  (expected.value === undefined || expected.value === null || expected.value === actual.value) &&
  (expected.values === undefined ||
    (Object.keys(expected.values).sort().join() ===
      Object.keys(actual.values ?? {})
        .sort()
        .join() &&
      Object.entries(expected.values).every(
        ([name, value]) => value === null || value === actual.values?.[name],
      )));
