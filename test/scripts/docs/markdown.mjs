// What the tests of documents read from a Markdown file: headings, links, code blocks and the markers before
// them. A marker is a comment on a line of its own directly before a block: `<!-- skip: why -->`,
// `<!-- expect: text -->`, `<!-- set-up -->` or `<!-- file: name -->`.
import fs from 'node:fs';
import path from 'node:path';
import { project } from '../service.mjs';

const NOT_OURS = new Set(['.sdks', 'node_modules', '.git', '.wrangler', 'dist']);

/** Every file of the project, as a path relative to it. @returns {string[]} */
export function projectFiles(dir = project) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(dir, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : projectFiles(at);
    return [path.relative(project, at)];
  });
}

/** Every Markdown file of the project. */
export const markdownFiles = () => projectFiles().filter((name) => name.endsWith('.md'));

/** @param {string} file */
export const read = (file) => fs.readFileSync(path.join(project, file), 'utf8');

/**
 * @typedef {{ language: string, text: string, line: number, skip?: string, expect?: string, file?: string,
 *   setUp: boolean }} Block
 */

/** The fenced code blocks of a document, in order. @param {string} markdown @returns {Block[]} */
export function blocksOf(markdown) {
  // Those of a list are indented.
  return [...markdown.matchAll(/((?:^ *<!-- .* -->\n)*)^( *)```(\w*)\n([\s\S]*?)^\2```$/gm)].map((found) => {
    const [, markers = '', indent = '', language = '', indented = ''] = found;
    const text = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    /** @param {string} name */
    const marker = (name) => new RegExp(`^ *<!-- ${name}: (.+) -->$`, 'm').exec(markers)?.[1];
    return {
      language,
      text,
      line: markdown.slice(0, found.index + markers.length).split('\n').length,
      skip: marker('skip'),
      expect: marker('expect'),
      file: marker('file'),
      setUp: /^ *<!-- set-up -->$/m.test(markers),
    };
  });
}

/** Without code, fenced or inline: nothing in it is a heading or a link. @param {string} markdown */
const prose = (markdown) => markdown.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '');

/** The anchors that GitHub gives to the headings. @param {string} markdown @returns {Set<string>} */
export function anchorsOf(markdown) {
  const anchors = new Set();
  for (const [, title = ''] of markdown
    .replace(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const text = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = text.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The targets of links and images. @param {string} markdown @returns {string[]} */
export const linksOf = (markdown) =>
  [...prose(markdown).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target);
