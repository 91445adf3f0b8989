// The person behind a credential, to ask before it or what it reads changes. Invariant: it shows what the
// lists of credentials and members show the member.
import { useMembers, Who } from '../../organisation/people';
import { useRead } from '../../requests/api';
import { may } from '../../session/may';
import { kindOf, readOne } from './kinds';

/** How many creators back the person is who made a credential. */
const DEEPEST = 4;

/** The person who made a credential, through the credentials that made it. */
export function Maker({ id, depth = 0 }: { id: string; depth?: number }) {
  const { members } = useMembers();
  const isCredential = kindOf(id) !== undefined && depth < DEEPEST;
  const { data } = useRead(
    ['credentials', 'one', id],
    (signal) => readOne(id, signal),
    isCredential && may('tokens:read'),
  );
  const person = members.find((each) => each.id === id);
  if (person)
    return (
      <>
        {' '}
        Made by <Who id={person.id} name={person.name} /> ({person.email}).
      </>
    );
  return data ? <Maker id={data.madeBy} depth={depth + 1} /> : null;
}
