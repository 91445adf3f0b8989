// `npm run dead-letters` against a stand-in for Cloudflare's API: what the queue gave up on is counted, sent
// again or dropped.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { project } from '../../service.mjs';
import { NEVER_ENDS } from '../../slow.mjs';
import { deployment } from '../deploying.mjs';

const ORG = `org_${'0'.repeat(21)}A`;
const job = (name, more = {}) => ({ kind: 'job', job: name, org: ORG, ...more });

it('dead letters: every job that gates ask for is known', () => {
  const read = (file) => fs.readFileSync(path.join(project, file), 'utf8');
  const names = (text) => [...(text ?? '').matchAll(/'(\w+)'/g)].map(([, name]) => name);
  const [jobs] = /const jobNames = \[[^\]]*\]/.exec(read('src/gate/queue-messages.ts')) ?? [];
  const [known] = /const JOBS = .*/.exec(read('scripts/operate/deploy/dead-letters.mjs')) ?? [];
  assert.ok(names(jobs).length > 0);
  assert.deepEqual(names(known), names(jobs));
});

/** A deployment with these messages in its queue of dead letters. */
async function withLetters(bodies) {
  const at = await deployment();
  const queue = (name, messages = []) => ({
    id: `${at.account.queues.size}`.padStart(32, '0'),
    consumers: [],
    messages,
    name,
  });
  at.account.queues.set('secrets-vault', queue('secrets-vault'));
  at.account.queues.set(
    'secrets-vault-dead',
    queue(
      'secrets-vault-dead',
      bodies.map((body, id) => ({ id: String(id), body, attempts: 0, lease: null })),
    ),
  );
  const bodiesIn = (name) => at.account.queues.get(name).messages.map(({ body }) => body);
  return { ...at, live: () => bodiesIn('secrets-vault'), dead: () => bodiesIn('secrets-vault-dead') };
}

it('dead letters: are counted and come back, sent again, and dropped', { timeout: NEVER_ENDS }, async () => {
  const many = Array.from({ length: 130 }, () => job('deliver'));
  const odd = { kind: 'job', job: 'rm', org: 'VALUE-OF-A-SECRET' };
  const letters = [...many, job('sync', { id: `syn_${'0'.repeat(22)}` }), { kind: 'probe', id: 'x' }, odd];
  const { account, deadLetters, live, dead } = await withLetters(letters);
  const looked = await deadLetters(['--remote']);
  assert.equal(looked.code, 0, looked.said);
  assert.match(looked.out, new RegExp(`^ +130 deliver +${ORG} newest 2026-01-01T00:00:00.000Z$`, 'm'));
  assert.match(looked.out, /^ +1 unknown /m);
  assert.ok(!looked.said.includes('VALUE-OF-A-SECRET'));
  assert.deepEqual(dead(), letters);
  assert.ok(
    account.queues.get('secrets-vault-dead').messages.every(({ lease }) => lease === null),
    'nothing stays leased',
  );
  const [consumer] = account.queues.get('secrets-vault-dead').consumers;
  assert.deepEqual([consumer.type, consumer.settings.max_retries], ['http_pull', 100]);

  const sent = await deadLetters(['--remote', '--replay']);
  assert.equal(sent.code, 0, sent.said);
  assert.match(sent.out, /^132 sent again or no longer needed, 1 left\.$/m);
  assert.deepEqual(live(), letters.slice(0, 131));
  assert.deepEqual(dead(), [odd]);

  assert.equal((await deadLetters(['--remote', '--drop'])).code, 1, 'nobody was asked');
  assert.deepEqual(dead(), [odd]);
  assert.match((await deadLetters(['--remote', '--drop', '--yes'])).out, /^1 dropped\.$/m);
  assert.deepEqual(dead(), []);
  assert.deepEqual(JSON.parse((await deadLetters(['--remote', '--json'])).out), {
    queue: 'secrets-vault-dead',
    found: [],
    removed: 0,
    left: 0,
  });
});

it('dead letters: those that the platform did not remove are not counted as removed', {
  timeout: NEVER_ENDS,
}, async () => {
  const { account, deadLetters, dead } = await withLetters([job('sync'), job('rotate'), job('deliver')]);
  // Somebody took longer than the lease to answer.
  const endLeases = (/** @type {number} */ kept) => {
    account.broken = ({ path }) => {
      if (path.endsWith('/messages/ack'))
        for (const one of account.queues.get('secrets-vault-dead').messages.slice(0, kept)) one.lease = null;
      return false;
    };
  };
  endLeases(2);
  const dropped = await deadLetters(['--remote', '--drop', '--yes', '--json']);
  assert.equal(dropped.code, 1, dropped.said);
  assert.match(dropped.said, /did not remove 2 of them/);
  const { removed, left } = JSON.parse(dropped.out);
  assert.deepEqual([removed, left], [1, 2]);
  assert.equal(dead().length, 2);
  endLeases(0);
  assert.match(
    (await deadLetters(['--remote', '--replay'])).out,
    /^2 sent again or no longer needed, 0 left\.$/m,
  );
});

it('dead letters: none is lost if sending again is refused or cut off', { timeout: NEVER_ENDS }, async () => {
  const letters = [job('sync'), job('rotate')];
  const { account, deadLetters, live, dead } = await withLetters(letters);
  account.broken = ({ path }) => path.endsWith('/messages/batch');
  const refused = await deadLetters(['--remote', '--replay']);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /^The queue could not be reached \(Authentication error/m);
  assert.deepEqual([live(), dead()], [[], letters]);
  account.broken = () => false;
  account.lost = ({ path }) => path.endsWith('/messages/batch');
  await deadLetters(['--remote', '--replay']);
  account.lost = () => false;
  assert.deepEqual([live(), dead()], [letters, letters]);
  assert.equal((await deadLetters(['--remote', '--replay'])).code, 0);
  assert.deepEqual([live(), dead()], [[...letters, ...letters], []]);
});
