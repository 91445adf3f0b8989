// Questions to whoever runs a script. Invariant: without a terminal nothing is asked, and the caller decides what that means.
import readline from 'node:readline/promises';

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
