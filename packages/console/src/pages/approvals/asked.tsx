// Who asks for what in an approval request, and why. Invariant: a credential is never taken for a member.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { Badge } from '../../ui/parts';
import { nameOfKind } from '../credentials/words';
import { operationWords } from '../policies/words';
import type { Approval } from './badge';
import { Marked } from './written';

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
