// The page that an owner sees after the test of a connection: what the provider said, and what a sign-in
// would have done. It has no script, and nothing on it is stored.
import { html } from 'hono/html';
import { json, page, type Rendered } from '../../http/html-page';
import type { TestResult } from './gate/tests';
import type { Person } from './rules';

const WOULD = {
  refused: 'A sign-in would be refused',
  member: 'This member would be signed in',
  asked: 'This member would be asked for a passkey, and then linked and signed in',
  new: 'A new member would be made and signed in',
} as const;

/** What is known of the person and of what they would get, line by line. */
function linesOf(person: Person | null, result: TestResult): [string, string][] {
  const { member, isLinked, role, environments, teams } = result;
  const known: [string, string][] = person
    ? [
        ['Identity', `${person.subject} of ${person.issuer}`],
        ['Verified e-mail address', person.email ?? 'none'],
        ['Name', person.name ?? 'none'],
        [
          'Groups that the connection maps',
          person.groups === null
            ? 'not sent, because they are too many: nothing changes'
            : person.groups.join(', ') || 'none',
        ],
      ]
    : [];
  if (role === null) return known;
  return [
    ...known,
    [
      'Member',
      member
        ? `${member.name} (${member.email})${isLinked ? ', linked already' : ', not linked yet'}`
        : 'new',
    ],
    ['Role', `${role} in ${environments === null ? 'all environments' : environments.join(', ') || 'none'}`],
    ['Teams', teams.join(', ') || 'none'],
  ];
}

export const testPage = (
  connection: string,
  person: Person | null,
  said: object | null,
  result: TestResult,
): Rendered =>
  page(
    'Test of a connection',
    html`<main class="card">
<h1>${WOULD[result.is]}</h1>
<p>This was a test of the connection ${connection}. Nobody was signed in, and nothing was changed.</p>
${result.reason === null ? '' : html`<p>The reason: ${result.reason}.</p>`}
<dl class="pairs">${linesOf(person, result).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${said === null ? '' : html`<h2>What the provider said</h2>${json(said)}`}
<p><a class="button primary" href="/console/sso">Back to the console</a></p>
</main>`,
  );
