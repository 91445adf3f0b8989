import fs from 'node:fs';
import path from 'node:path';
import type { ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import Ending from './scripts/test/ending.mjs';
import { suitesOf } from './scripts/test/suites.mjs';
import base from './vitest.config.ts';

// All tests in the real runtime, as `npm test` runs them: a folder of test/api is one suite, and so is
// test/unit. Tests that break the runtime on purpose have a start of their own.
const { test, ...config } = base as ViteUserConfig;
const areas = fs.readdirSync('test/api').map((name) => `test/api/${name}`);
const suites = suitesOf(['test/unit', ...areas]);

/** The longest first, so that at the end no worker waits for the other. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sizeOf = ({ moduleId }: TestSpecification) => suites.get(moduleId) ?? fs.statSync(moduleId).size;
    return files.sort((one, other) => sizeOf(other) - sizeOf(one));
  }
}

export default {
  ...config,
  test: {
    ...test,
    include: [
      ...[...suites.keys()].map((file) => path.relative('', file)),
      'test/faults/*.test.ts',
      'test/model/*.test.ts',
    ],
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new Ending()],
  },
};
