// Tests of scripts that take long: `npm test` skips them, `npm run test:operations` runs them (SLOW=1).

/** Options of a slow test. @param {number} timeout Milliseconds. */
export const slow = (timeout) => ({
  timeout,
  skip: process.env.SLOW ? false : 'slow: npm run test:operations',
});
