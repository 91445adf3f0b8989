// The terminal of whoever runs a script: text that is safe to print there, and questions. Invariant: without
// a terminal nothing is asked, and the caller decides what that means.
import readline from 'node:readline/promises';

/**
 * Control characters, which JSON may contain escaped, become spaces, and so do those that change the writing
 * direction.
 * @param {string} text
 */
export const harmless = (text) => text.replace(/(?!\t)[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, ' ');

export const isAsked = () => Boolean(process.stdin.isTTY && process.stderr.isTTY);

/** The answer to a question, on a terminal. @param {string} question */
export async function ask(question) {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}

/** Whether the answer is yes. @param {string} question */
export const agrees = async (question) => /^y(es)?$/i.test(await ask(`${question} [y/N] `));
