// A migration meets the release before: what that one could trip over is refused, unless it says since when
// nothing uses it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { rolloutProblems } from '../../../scripts/build/migration-rules.mjs';
import { copyOfProject, project } from '../service.mjs';
import { slow } from '../slow.mjs';

const problems = (sql) => rolloutProblems(sql, '0.3.0');

describe('migration', () => {
  it('may add tables, indexes, and columns that old code can omit', () => {
    for (const sql of [
      'CREATE TABLE `a` (`id` text NOT NULL, `gone` text);',
      'CREATE INDEX a_b ON a (b); DROP INDEX a_c;',
      'ALTER TABLE `a` ADD `b` text;',
      "ALTER TABLE a ADD COLUMN b integer DEFAULT 0 NOT NULL; ALTER TABLE a ADD c text NOT NULL DEFAULT '';",
      'ALTER TABLE `a` ADD `drop` text; ALTER TABLE `rename` ADD `b` text;',
      "INSERT INTO a VALUES ('x; DROP TABLE a; --'); UPDATE a SET b = 1 WHERE c = ';';",
      '-- DROP TABLE a;\n/* ALTER TABLE a RENAME TO b; */ SELECT 1;',
    ])
      assert.deepEqual(problems(sql), [], sql);
    assert.deepEqual(
      rolloutProblems(fs.readFileSync(path.join(project, 'migrations/0000_foundation.sql'), 'utf8'), '0.1.0'),
      [],
    );
  });

  it('is refused if it removes something that old code may use', () => {
    for (const [sql, why] of [
      ['DROP TABLE `orgs`;', /drops a table/],
      ['drop  table if exists orgs', /drops a table/],
      ['ALTER TABLE `orgs` DROP COLUMN `name`;', /drops a column/],
      ['ALTER TABLE "or gs" DROP name', /drops a column/],
      ['ALTER TABLE orgs RENAME TO organisations;', /renames/],
      ['/* why */ ALTER /* not */ TABLE main.orgs\n RENAME COLUMN a TO b;', /renames/],
      ['ALTER TABLE orgs ADD region text NOT NULL;', /NOT NULL and without a default/],
      ['ALTER TABLE orgs ADD `default` text NOT NULL;', /NOT NULL and without a default/],
      ['ALTER TABLE orgs ADD region text NOT NULL DEFAULT NULL;', /NOT NULL and without a default/],
      [
        "ALTER TABLE orgs ADD region text NOT NULL CHECK (region <> ' default ');",
        /NOT NULL and without a default/,
      ],
      ['SELECT 1; -- Unused since 0.2.0\nSELECT 2; DROP TABLE orgs;', /drops a table/],
    ]) {
      const [problem, ...others] = problems(sql);
      assert.match(problem ?? 'none', why, sql);
      assert.match(problem, /Unused since X\.Y\.Z/);
      assert.deepEqual(others, []);
    }
  });

  it('is refused if it rebuilds a table, as drizzle-kit does', () => {
    const rebuild =
      'PRAGMA foreign_keys=OFF;--> statement-breakpoint\nCREATE TABLE `__new_orgs` (`id` text);--> statement-breakpoint\nINSERT INTO `__new_orgs`("id") SELECT "id" FROM `orgs`;--> statement-breakpoint\nDROP TABLE `orgs`;--> statement-breakpoint\nALTER TABLE `__new_orgs` RENAME TO `orgs`;';
    assert.equal(problems(rebuild).length, 2);
  });

  it('may remove something that an earlier release has stopped using', () => {
    assert.deepEqual(
      problems('-- Unused since 0.2.0: names moved to members.\nALTER TABLE orgs DROP COLUMN name;'),
      [],
    );
    assert.deepEqual(
      problems(
        '--> statement-breakpoint\n-- unused since 0.2.9\nDROP TABLE `orgs`;--> statement-breakpoint\n',
      ),
      [],
    );
    for (const release of ['0.3.0', '0.10.0', '1.0.0'])
      assert.match(
        problems(`-- Unused since ${release}\nDROP TABLE orgs;`)[0],
        /is not a release before 0\.3\.0/,
      );
  });

  it('is checked by npm run check:migrations', slow(120_000), () => {
    const dir = copyOfProject();
    fs.writeFileSync(path.join(dir, 'migrations', '0001_gone.sql'), 'DROP TABLE `orgs`;\n');
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build/check-migrations.mjs'], {
      cwd: dir,
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, /^migrations\/0001_gone\.sql: DROP TABLE `orgs`: it drops a table/m);
  });

  it('is named on the page about upgrades, if it came after 0.5.0', () => {
    const page = fs.readFileSync(path.join(project, 'docs/operations/upgrade.md'), 'utf8');
    const newer = fs
      .readdirSync(path.join(project, 'migrations'))
      .map((name) => /^(\d{4})_.*\.sql$/.exec(name)?.[1])
      .filter((number) => number !== undefined && number > '0014');
    assert.deepEqual(
      newer.filter((number) => !page.includes(`\`${number}\``)),
      [],
    );
  });
});
