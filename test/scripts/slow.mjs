// Tests of scripts that take long: `npm test` skips them, `npm run test:whole` runs them (SLOW=1).

/**
 * The timeout of a test that starts many processes: for one that never ends, since a busy machine may need
 * ten times as long as an idle one.
 */
export const NEVER_ENDS = 7_200_000;

/** For a test with a reason of its own to be skipped. */
export const skipped = process.env.SLOW ? false : 'slow: npm run test:whole';

/** Options of a slow test. @param {number} timeout Milliseconds. */
export const slow = (timeout) => ({
  timeout,
  skip: skipped,
});
