// `npm run bench:report`: time, memory and calls for the compliance report of a large organisation. The
// organisation has 100,000 secrets created 400 days ago, 40 policies, 900 API keys, and a million audit log
// entries in closed segments over 90 days: every finding about secrets has 100,000 pieces of evidence.
//   npm run bench:report -- [--secrets N] [--segments N]
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import * as measuring from './measure.mjs';

const { callerOf, fill, good, newOrg, parallel, startVault, tell } = measuring;
const DAY = 86_400_000;
const SEGMENT = 1000;
const options = {
  secrets: { type: 'string', default: '100000' },
  segments: { type: 'string', default: '1000' },
};
const { values } = parseArgs({ options });
const secrets = Number(values.secrets);
const segments = Number(values.segments);
const policies = 40;
const keys = 900;
const megabytes = (bytes) => `${Math.round(bytes / 1024 ** 2).toLocaleString('en')} MB`;

const vault = await startVault();
try {
  const call = callerOf(vault);
  const org = await newOrg(vault, { secrets: 1, keys });
  const at = `/orgs/${org.id}`;
  await parallel(policies, async (n) => {
    const naming = {
      name: `naming ${n}`,
      kind: 'naming',
      config: { pattern: '^[a-z]+[0-9]*(/[a-z0-9_-]+)+$' },
    };
    const rotation = {
      name: `rotation ${n}`,
      kind: 'rotation',
      applies_to: { names: ['g*/s*'] },
      config: { max_age_days: 90 + n },
    };
    good(await call('POST', `${at}/policies`, org.tokens[n], n % 2 ? naming : rotation));
  });
  tell(
    `planting ${segments.toLocaleString('en')} closed segments of ${SEGMENT.toLocaleString('en')} entries`,
  );
  await plant(org.id);
  await fill(vault, org, secrets, Date.now() - 400 * DAY);
  good(await call('GET', `${at}/secrets/${org.secrets[0].id}`, org.token));
  const before = vault.memory();
  process.stdout.write(
    '| format | seconds | CPU seconds | gate calls | D1 calls | bytes | memory of the runtime, at most |\n|---|---|---|---|---|---|---|\n',
  );
  for (const format of ['json', 'csv', 'html', 'json'])
    process.stdout.write(`${await measure(org, call, format)}\n`);
  process.stdout.write(`memory of the runtime before: ${megabytes(before)}\n`);
} finally {
  await vault.stop();
}
process.exit();

/** Creates one report. */
async function measure(org, call, format) {
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, vault.memory());
  }, 20);
  vault.readLog();
  const started = performance.now();
  const cpu = vault.cpu();
  const answer = await call('GET', `/orgs/${org.id}/compliance/report?format=${format}`, org.token);
  const seconds = (performance.now() - started) / 1000;
  const used = (vault.cpu() - cpu) / 1000;
  clearInterval(watch);
  if (answer.status !== 200) throw new Error(`no report: ${answer.status} ${answer.text().slice(0, 300)}`);
  const text = answer.text();
  if (format === 'json')
    for (const { id, status, examined, count, complete } of JSON.parse(text).findings)
      tell(`  ${id}: ${status}, ${count} of ${examined}${complete ? '' : ', incomplete'}`);
  const [gate, d1] = await calls();
  const cells = [
    format,
    seconds.toFixed(1),
    used.toFixed(1),
    gate,
    d1,
    text.length.toLocaleString('en'),
    megabytes(most),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The calls according to the Worker's log line of the request, which may appear a little later. */
async function calls() {
  for (let waited = 0; waited < 5000; waited += 20) {
    const found = /\\"gate_calls\\":(\d+),\\"d1_calls\\":(\d+)/.exec(vault.readLog());
    if (found) return found.slice(1);
    await new Promise((done) => setTimeout(done, 20));
  }
  return ['', ''];
}

/** Writes closed segments to D1 before the gate loses its storage: it continues after them. */
async function plant(org) {
  const sha256 = (text) => createHash('sha256').update(text).digest('hex');
  const idOf = (prefix, n) => `${prefix}_${String(n).padStart(22, '0')}`;
  const begin = Date.now() - 89 * DAY;
  const step = (88 * DAY) / (segments * SEGMENT);
  let hash = sha256(`svc/v1/audit/${org}`);
  for (let segment = 0; segment < segments; segment++) {
    const entries = Array.from({ length: SEGMENT }, (_, n) => {
      const sequence = segment * SEGMENT + n + 1;
      // One segment in 50 has an emergency; every segment has administrative requests, one of 20 of them
      // refused.
      const isEmergency = segment % 50 === 7 && n > 10 && n < 16;
      const isAdministrative = n % 50 === 0;
      const status = isAdministrative && n % 1000 === 0 ? 403 : 200;
      const actor = isEmergency
        ? { kind: 'break_glass', id: idOf('bgt', segment) }
        : { kind: 'api_key', id: idOf('key', sequence % 200) };
      const body = {
        id: idOf('aud', sequence),
        sequence,
        time: new Date(begin + sequence * step).toISOString(),
        actor: { ...actor, parent_id: null, name: isEmergency ? null : `service ${sequence % 200}` },
        action: isAdministrative ? 'member.list' : 'secret.read',
        resource: isAdministrative ? null : idOf('sec', (sequence * 7919) % secrets),
        resource_name: isAdministrative ? null : measuring.nameOf((sequence * 7919) % secrets),
        environment: isAdministrative ? null : 'production',
        version: 1,
        reason: null,
        request_id: idOf('req', sequence),
        ip: '203.0.113.7',
        user_agent: 'service/1.0',
        outcome: status < 400 ? 'success' : 'denied',
        status,
        count: 1,
        emergency: isEmergency,
        prev_hash: hash,
      };
      hash = sha256(JSON.stringify(body));
      return { ...body, hash };
    });
    const distinct = (of) => JSON.stringify([...new Set(entries.flatMap((entry) => of(entry) ?? []))]);
    const first = entries[0];
    const last = entries.at(-1);
    await vault.db
      .prepare('insert into audit_segments values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .bind(
        ...[
          org,
          first.sequence,
          last.sequence,
          Date.parse(first.time),
          Date.parse(last.time),
          first.prev_hash,
          last.hash,
        ],
        ...[
          distinct(({ actor }) => actor.id),
          distinct(({ action }) => action),
          distinct(({ resource }) => resource),
        ],
        gzipSync(JSON.stringify(entries)).toString('base64'),
      )
      .run();
  }
}
