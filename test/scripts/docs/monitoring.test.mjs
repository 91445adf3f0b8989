// The page on monitoring against the code: it lists each event of the log, with its level and an alert, and a
// test sees each of them fire.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { readToml } from '../../../scripts/operate/vault/deployment-config.mjs';
import { project } from '../service.mjs';

const page = fs.readFileSync(path.join(project, 'docs/operations/monitoring.md'), 'utf8');
const textsIn = (folder) =>
  fs
    .readdirSync(path.join(project, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => fs.readFileSync(path.join(project, folder, name), 'utf8'));
const source = textsIn('src').join('\n');
const tests = textsIn('test').join('\n');

/** The events of a section's tables. @param {string} from @param {string} to */
function listed(from, to) {
  const section = page.slice(page.indexOf(from), page.indexOf(to));
  const cells = [...section.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].map(([, cell]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
}
const errors = listed('### Events of level `error`', '### Events of level `warn`');
const warnings = [
  'backlog',
  ...listed('### Events of level `warn`', '| `kind` of').filter((name) => name !== 'backlog'),
];
/** Events of level `info`, which tell of an operator's own command. */
const TOLD = ['keys_rewrapped'];

describe('monitoring', () => {
  it('the page lists each event that the service logs, and no other', () => {
    const plain = [...source.matchAll(/\bevent: '(\w+_\w+|fault|backlog)'/g)].map(([, name]) => name);
    const chosen = [...source.matchAll(/\bevent: \w+ \? '(\w+)' : '(\w+)'/g)].flatMap(([, one, other]) => [
      one,
      other,
    ]);
    const table = /const EVENTS: .* = \{([^}]*)\}/.exec(source)?.[1] ?? '';
    const logged = new Set([...plain, ...chosen, ...[...table.matchAll(/'(\w+)'/g)].map(([, name]) => name)]);
    for (const name of TOLD) logged.delete(name);
    assert.deepEqual([...logged].sort(), [...new Set([...errors, ...warnings])].sort());
  });

  it('each event has an alert, except those of a message that is tried again', () => {
    const alerts = page.slice(page.indexOf('## Alerts'));
    const missing = [...errors, ...warnings].filter((name) => !alerts.includes(`event = "${name}"`));
    assert.deepEqual(missing, ['message_failed']);
    const unknown = [...alerts.matchAll(/event = "(\w+)"/g)]
      .map(([, name]) => name)
      .filter((name) => ![...errors, ...warnings].includes(name));
    assert.deepEqual(unknown, []);
  });

  it('a test sees each event', () => {
    assert.deepEqual(
      [...errors, ...warnings].filter((name) => !new RegExp(`\\b${name}\\b`).test(tests)),
      [],
    );
  });

  it('the code knows how often the queue tries', () => {
    const [, most] = /MAX_RETRIES = (\d+);/.exec(source) ?? [];
    assert.equal(Number(most), readToml().queues.consumers[0].max_retries);
  });
});
