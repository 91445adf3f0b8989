// The language of the documents: sentences that can be read at once, in paragraphs, lists and table cells
// alike.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { markdownFiles, read } from './markdown.mjs';

const MOST_WORDS = 30;

/**
 * The texts of a document: paragraphs, items of lists and cells of tables, each with its line.
 * @param {string} markdown @returns {{ line: number, text: string }[]}
 */
function textsOf(markdown) {
  const blank = (/** @type {string} */ block) => block.replace(/[^\n]/g, '');
  const lines = markdown.replace(/^```[\s\S]*?^```$|<!--[\s\S]*?-->/gm, blank).split('\n');
  /** @type {{ line: number, text: string }[]} */
  const texts = [];
  let isOpen = false;
  for (const [at, line] of lines.entries()) {
    const last = texts.at(-1);
    if (line.startsWith('|')) {
      texts.push(...line.split(/(?<!\\)\|/).map((text) => ({ line: at + 1, text })));
      isOpen = false;
    } else if (line.trim() === '' || /^(#| {4})/.test(line)) isOpen = false;
    else if (isOpen && last && !/^\s*([-*>]|\d+\.) /.test(line)) last.text += ` ${line.trim()}`;
    else {
      texts.push({ line: at + 1, text: line.replace(/^\s*([-*>]|\d+\.) /, '') });
      isOpen = true;
    }
  }
  return texts;
}

/** @param {string} text @returns {string[]} */
const sentencesOf = (text) => text.split(/(?<=[.!?:][)*_]*)\s+(?=[*_]*[A-Z`["(])/);

/**
 * How many words a sentence has. Lists of names in code and of links are no prose.
 * @param {string} sentence
 */
const wordsOf = (sentence) =>
  sentence
    .replace(/`[^`]*`(?=,|$)/g, '')
    .replace(/`[^`]*`/g, 'code')
    .replace(/\[[^\]]*\]\([^)]*\)(?=,|$)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\s+/)
    .filter((word) => /\w/.test(word)).length;

it(`language: no sentence has more than ${MOST_WORDS} words`, () => {
  const long = markdownFiles().flatMap((file) =>
    textsOf(read(file)).flatMap(({ line, text }) =>
      sentencesOf(text)
        .filter((sentence) => wordsOf(sentence) > MOST_WORDS)
        .map((sentence) => `${file}:${line}: ${wordsOf(sentence)} words: ${sentence}`),
    ),
  );
  assert.deepEqual(long, []);
});

it('language: sentences are counted in paragraphs, lists and tables', () => {
  const long = 'word '.repeat(31);
  for (const markdown of [
    `${long}.`,
    `- ${long}\n  on`,
    `| a | ${long} |`,
    `**Bold.** ${long}`,
    `Short: ${long}`,
  ])
    assert.ok(
      textsOf(markdown).some(({ text }) =>
        sentencesOf(text).some((sentence) => wordsOf(sentence) > MOST_WORDS),
      ),
      markdown,
    );
  assert.deepEqual(sentencesOf('**One.** Two `a.b` three. Four: five? (Six.) Seven'), [
    '**One.**',
    'Two `a.b` three.',
    'Four: five?',
    '(Six.)',
    'Seven',
  ]);
});
