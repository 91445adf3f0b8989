// Who asks for what, and what an approved request would do. Invariant: what the requester wrote is plain
// text, and shown as theirs.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { Who } from '../../people';
import { Badge, Facts } from '../../ui/parts';
import { nameOfKind } from '../credentials/words';
import { operationWords } from '../policies/words';
import type { Approval } from './badge';
import { Marked, Written } from './written';

/** Facts that the requester wrote. */
const WRITTEN = /^(Call|Request|Header .*|Body(, its .*)?)$/;

/** What the request would do, as plain text. */
export const Shown = ({ shown }: Pick<Approval, 'shown'>) =>
  shown?.length ? (
    <section class="stack">
      <h2>What it does</h2>
      <Facts
        items={shown.map(({ name, value }): [string, ComponentChildren] => [
          name,
          WRITTEN.test(name) ? <Written text={value} /> : <Marked text={value} />,
        ])}
      />
    </section>
  ) : null;

/** What the request is about, with a link if it is a secret. */
export const Target = ({ target }: Pick<Approval, 'target'>) =>
  target.id?.startsWith('sec_') ? (
    <>
      <Link href={`/secrets/${target.id}`} class="mono">
        {target.name ?? target.id}
      </Link>{' '}
      {target.environment && <span class="dim">in {target.environment}</span>}
    </>
  ) : (
    (target.name ?? target.id ?? <span class="dim">None</span>)
  );

const responsible = ({ accountable }: Approval['requester']): [string, ComponentChildren] => [
  'Responsible',
  accountable.map(({ member_id, name }) => (
    <span key={member_id}>
      <Who id={member_id} name={name} />{' '}
    </span>
  )),
];

/** Who asks for what, and why. */
export const asked = ({ requester, target, request, operation }: Approval): [string, ComponentChildren][] => [
  ['Operation', operationWords[operation] ?? operation],
  ['Target', <Target target={target} />],
  [
    'Requester',
    <>
      <Badge>{nameOfKind(requester.kind)}</Badge> <Who id={requester.id} name={requester.name} />
    </>,
  ],
  ...(requester.kind === 'member' ? [] : [responsible(requester)]),
  ['Reason', request.reason ? <Marked text={request.reason} /> : <span class="dim">None</span>],
];
