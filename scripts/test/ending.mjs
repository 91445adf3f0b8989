// A reporter that ends a run whose runtime does not end. Vitest then waits for ever, although every test
// has its result: seen after test/faults/tampering.test.ts, whose runtime does not answer when it is asked
// to stop. Invariant: the exit code is 0 only if every module passed or was skipped.

/** For how long a runtime may end by itself, in milliseconds. */
const PATIENCE = 60_000;

export default class Ending {
  left = 0;
  passed = 0;
  failed = 0;

  /** @param {readonly unknown[]} modules */
  onTestRunStart(modules) {
    this.left = modules.length;
  }

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleEnd(module) {
    for (const test of module.children.allTests()) if (test.result().state === 'passed') this.passed++;
    if (!module.ok()) this.failed++;
    this.left--;
    if (this.left > 0) return;
    setTimeout(() => {
      process.stdout.write(
        `A runtime did not end after its tests: the run ends without it. ${this.passed} tests passed, and ${this.failed} files failed.\n`,
      );
      process.exit(this.failed === 0 ? 0 : 1);
    }, PATIENCE).unref();
  }
}
