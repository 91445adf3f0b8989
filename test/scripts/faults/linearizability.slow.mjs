// Histories of the running service under faults are linearizable: what clients read, what a revoked
// credential may do, and how often a budget is used. Run by hand or in CI: npm run test:linearizability.
// SEED, RUNS and OPERATIONS say which histories, how many and how long each.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { buildChecker, textOf, violations } from '../../linearizability/history.mjs';
import { record } from '../../linearizability/record.mjs';
import { copyOfProject, project, startService } from '../service.mjs';

const check = buildChecker();
/** @param {string} name @param {number} otherwise */
const number = (name, otherwise) => Number(process.env[name] || otherwise);
const first = number('SEED', randomInt(2 ** 31));
const operations = number('OPERATIONS', 3000);

/** Where an organisation has replicas. The first history of each pair has none. */
const REGIONS = ['weur', 'enam', 'oc'];

for (let run = 0; run < number('RUNS', 2); run++) {
  const seed = first + run;
  const regions = process.env.REGIONS ? process.env.REGIONS.split(' ') : run % 2 ? REGIONS : [];
  const where = regions.length ? `with replicas in ${regions.join(', ')}` : 'without replicas';
  it(`linearizability: secrets, credentials and budgets under faults, ${where}, seed ${seed}`, {
    timeout: 600_000,
    skip: check === null && 'Go is not installed, or its modules cannot be downloaded',
  }, async (test) => {
    const dir = copyOfProject();
    const service = await startService(dir);
    const { lines, faults } = await record({ service, dir, seed, operations, regions });
    const kept = path.join(project, '.wrangler', `history-${seed}`);
    fs.mkdirSync(path.dirname(kept), { recursive: true });
    fs.writeFileSync(`${kept}.jsonl`, textOf(lines));
    const { isLinearizable, said } = /** @type {NonNullable<typeof check>} */ (check)(lines, `${kept}.html`);
    const byReplicas = lines.filter(({ region }) => region !== undefined && region !== 'gate').length;
    test.diagnostic(`${said.trim()}; ${byReplicas} by replicas; ${JSON.stringify(faults)}`);
    assert.ok(isLinearizable, `${said}The history is in ${kept}.jsonl. To repeat it: SEED=${seed} RUNS=1`);
    assert.ok(!regions.length || byReplicas > 0, 'replicas answer');
    for (const [what, inject] of Object.entries(violations)) {
      const broken = inject(lines);
      if (broken) assert.equal(check(broken).isLinearizable, false, `${what} is found`);
      else test.diagnostic(`The history has no place for ${what}.`);
    }
    if (process.env.KEEP === undefined) fs.rmSync(`${kept}.jsonl`);
    await service.stop();
  });
}
