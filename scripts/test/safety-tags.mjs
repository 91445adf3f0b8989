// Safety tags in the source: `// safety: TAG` is directly above the statement, property or argument of a
// safety check, and a mutant names the tag and how that statement changes. Invariant: a mutant changes
// nothing outside the statements that it tags.
import fs from 'node:fs';
import path from 'node:path';

/** @typedef {import('./mutants/index.mjs').Mutant} Mutant */
/** @typedef {Map<string, string>} Sources Source texts by path. */

const IF = /^\s*if \(/;
const TAG_LINE = /^[ \t]*\/\/ safety: (.+)\n/gm;

const MUTATED = ['src', 'migrations', 'packages/cli/src'];

/** The test file in a mutant's `notice`. @param {string} name @returns {string} */
export function testFile(name) {
  const [, pack, file] = /^packages\/([^/]+)\/(.+)$/.exec(name) ?? [];
  return pack ? `packages/${pack}/test/${file}.test.ts` : `test/${name}.test.ts`;
}

/**
 * The sources that mutants may change: those of the service, the migrations, and those of svc.
 * @param {string} root
 * @returns {Sources}
 */
export function sourcesIn(root) {
  const files = MUTATED.flatMap((dir) =>
    fs
      .readdirSync(path.join(root, dir), { recursive: true, encoding: 'utf8' })
      .map((file) => path.posix.join(dir, file)),
  );
  return new Map(
    files
      .filter((file) => /\.(ts|sql)$/.test(file))
      .map((file) => [file, fs.readFileSync(path.join(root, file), 'utf8')]),
  );
}

/** @typedef {{ tag: string, file: string, at: number }} Tagged The position of the code below a tag. */

/**
 * The tags of sources that were read once: each mutant looks for its own.
 * @type {WeakMap<Sources, Tagged[]>}
 */
const known = new WeakMap();

/** Each tag with its file and the position of the code below it. @param {Sources} sources */
export function tagsIn(sources) {
  let found = known.get(sources);
  if (!found) {
    found = [...sources].flatMap(([file, source]) =>
      [...source.matchAll(TAG_LINE)].flatMap(({ 0: line, 1: tags, index }) =>
        tags.split(', ').map((tag) => ({ tag, file, at: index + line.length })),
      ),
    );
    known.set(sources, found);
  }
  return found;
}

/**
 * The file that a mutant changes, and its text with the mutant.
 * @param {Mutant} mutant
 * @param {Sources} sources
 */
export function applied({ name, tag, file, change }, sources) {
  if (file !== undefined)
    return { file, source: changed(sources.get(file) ?? '', change, `${file}: mutant "${name}"`) };
  const result = { file: '', source: '' };
  for (const wanted of [tag].flat()) {
    const current = result.file ? new Map([[result.file, result.source]]) : sources;
    const found = tagsIn(current).filter((one) => one.tag === wanted);
    if (found.length !== 1) {
      const places = found.map((one) => one.file).join(', ') || 'nowhere';
      throw new Error(
        `Mutant "${name}": the tag ${wanted} must occur in the source exactly once, and occurs in: ${places}.`,
      );
    }
    const [{ file, at }] = found;
    const source = /** @type {string} */ (current.get(file));
    const end = at + statementLength(source.slice(at));
    result.file = file;
    result.source =
      source.slice(0, at) +
      changed(source.slice(at, end), change, `${file}: mutant "${name}"`) +
      source.slice(end);
  }
  return result;
}

/** @param {string} code @param {Mutant['change']} change @param {string} where */
function changed(code, change = IF.test(code) ? 'never' : 'remove', where) {
  if (change === 'remove') return '';
  if (change === 'never' || change === 'always') {
    const [start, end] = condition(code, where);
    return code.slice(0, start) + (change === 'always') + code.slice(end);
  }
  const parts = code.split(pattern(change.from));
  if (parts.length !== 2)
    throw new Error(
      `${where} replaces a text that must occur exactly once: it occurs ${parts.length - 1} times.`,
    );
  return parts.join(change.to);
}

/**
 * Finds code however it is formatted: with other white space, and with a comma before a closing bracket.
 * @param {string} code
 */
const pattern = (code) =>
  new RegExp(
    (code.match(/\s+|\w+|[^\w\s]/g) ?? [])
      .map((token) => {
        if (/\s/.test(token)) return '';
        if (/\w/.test(token)) return token;
        return /[)\]}]/.test(token) ? `,?\\s*\\${token}` : `\\${token}`;
      })
      .join('\\s*'),
  );

/**
 * The start and end of the condition of an `if`, or of a returned or assigned `A ? B : C`.
 * @param {string} code
 * @param {string} where
 */
function condition(code, where) {
  const test = code.match(IF)?.[0];
  const start = test ? test.length : (code.match(/^\s*(return |const \w+ = )?/)?.[0].length ?? 0);
  for (const { at, char, depth } of tokens(code)) {
    if (test && depth === 1 && char === ')') return [start, at];
    if (!test && depth === 0 && /^\s\?\s/.test(code.slice(at - 1, at + 2))) return [start, at - 1];
  }
  throw new Error(`${where} needs a condition, and the tagged statement has none.`);
}

/**
 * The length of the first statement, property or argument of a text. Code is formatted, so a comma ends it
 * only at the end of a line.
 * @param {string} code
 */
function statementLength(code) {
  for (const { at, char, depth } of tokens(code)) {
    const isLast = /^[ \t]*(\n|$)/.test(code.slice(at + 1));
    if (depth === 0 && /[)\]}]/.test(char)) return at;
    if (
      (depth === 0 && (char === ';' || (char === ',' && isLast))) ||
      (depth === 1 && char === '}' && isLast)
    )
      return at + 1;
  }
  return code.length;
}

/**
 * The characters of code outside comments and literals, each with the number of open brackets before it.
 * @param {string} code
 */
function* tokens(code) {
  // A comment, a string, or a regular expression where no division can be.
  const LITERAL =
    /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<=[(,=:!&|?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+\//y;
  let depth = 0;
  for (let at = 0; at < code.length; at++) {
    LITERAL.lastIndex = at;
    const skipped = code[at] === '`' ? templateLength(code.slice(at)) : (LITERAL.exec(code)?.[0].length ?? 0);
    if (skipped) {
      at += skipped - 1;
      continue;
    }
    const char = code[at];
    yield { at, char, depth };
    if (/[([{]/.test(char)) depth++;
    if (/[)\]}]/.test(char)) depth--;
  }
}

/** The length of the template literal at the start of a text. @param {string} code @returns {number} */
function templateLength(code) {
  for (let at = 1; at < code.length; at++) {
    if (code[at] === '`') return at + 1;
    if (code[at] === '\\') at++;
    else if (code.startsWith('${', at)) {
      for (const token of tokens(code.slice(at + 2)))
        if (token.depth === 0 && token.char === '}') {
          at += 2 + token.at;
          break;
        }
    }
  }
  return code.length;
}
