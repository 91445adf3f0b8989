// What a migration may do while the previous release still runs: during a rollout, old code uses the new
// tables. Pure. Invariant: a statement that could break old code is refused, unless the comment before it
// names the release that stopped using what it removes.

/**
 * @typedef {{ code: string, comments: string }} Statement `code` without comments, and with empty string
 *   literals
 */

/** @param {string} sql @returns {Statement[]} */
export function statementsOf(sql) {
  const statements = [];
  let code = '';
  let comments = '';
  // A comment, a literal, a quoted name, the end of a statement, or any other character.
  for (const [token] of sql.matchAll(
    /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|;|[\s\S]/g,
  )) {
    if (/^(--|\/\*)/.test(token)) {
      comments += `${token}\n`;
      code += ' ';
    } else if (token === ';') {
      statements.push({ code: code.trim(), comments });
      [code, comments] = ['', ''];
    } else code += token.startsWith("'") ? "''" : token;
  }
  return [...statements, { code: code.trim(), comments }].filter((statement) => statement.code);
}

const NAME = String.raw`(?:"[^"]*"|\`[^\`]*\`|\[[^\]]*\]|\w+)`;
/** A quoted name may contain anything: only the text outside quotes says what a statement does. */
const unquoted = (code) => code.replaceAll(/"[^"]*"|`[^`]*`|\[[^\]]*\]/g, 'name');
const ALTER = new RegExp(`^alter\\s+table\\s+(?:${NAME}\\s*\\.\\s*)?${NAME}\\s+`, 'i');

/** How a statement could break old code, or undefined. @param {string} code */
export function breaks(code) {
  const [start] = ALTER.exec(code) ?? [''];
  const change = start ? unquoted(code.slice(start.length)) : '';
  if (/^drop\s+(table|view)\b/i.test(code)) return 'drops a table';
  if (/^drop\b/i.test(change)) return 'drops a column';
  if (/^rename\b/i.test(change)) return 'renames';
  if (/^add\b/i.test(change) && /\bnot\s+null\b/i.test(change) && !/\bdefault\b(?!\s+null\b)/i.test(change))
    return 'adds a column that old code would leave out, NOT NULL and without a default';
  if (/^pragma\s+(?:\w+\s*\.\s*)?writable_schema\b/i.test(code)) return 'rewrites the schema by hand';
  return undefined;
}

const RELEASE = /unused since (\d+)\.(\d+)\.(\d+)\b/i;

/**
 * What is wrong with a migration that ships in `version` or shipped earlier.
 * @param {string} sql
 * @param {string} version of package.json
 * @returns {string[]}
 */
export function rolloutProblems(sql, version) {
  return statementsOf(sql).flatMap(({ code, comments }) => {
    const why = breaks(code);
    if (!why) return [];
    const what = `${code.replaceAll(/\s+/g, ' ').slice(0, 80)}: it ${why}`;
    const [, ...since] = RELEASE.exec(comments) ?? [];
    if (since.length === 0)
      return [
        `${what}, and the previous release may still use that while this one is rolled out. Let one release stop using it first; then write -- Unused since X.Y.Z (that release) on the line before the statement`,
      ];
    if (!earlier(since.map(Number), version.split('.').map(Number)))
      return [`${what}, and ${since.join('.')} is not a release before ${version}: ship that one first`];
    return [];
  });
}

/** @param {number[]} a @param {number[]} b */
function earlier(a, b) {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && a[at] < b[at];
}
