// The mutants that follow from their tags: without a `change`, the tagged statement goes, or the condition of
// a tagged `if` becomes false.

/**
 * Checks whose removal a test notices, as mutants.
 * @param {Record<string, string>} notices The test that notices, by tag.
 * @returns {import('./index.mjs').Mutant[]}
 */
export const checks = (notices) =>
  Object.entries(notices).map(([tag, notice]) => ({
    name: `without ${tag.replaceAll('-', ' ')}`,
    tag,
    notice,
  }));
