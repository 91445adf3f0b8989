// What a credential, and what was made with it, read in the last day, or used through upstreams: the
// programs that fail without it. Invariant: it is never green for a credential that was used, nor if the
// log has gaps.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { may } from '../../session/may';
import { seenOf } from '../blast/data';
import { usePreview } from '../incident/data';
import { Incomplete, isComplete } from '../incident/incomplete';
import type { Credential } from './kinds';
import { Maker } from './maker';

const DAY = 86_400_000;
const SHOWN = 6;

/** From the report that a containment would write, which changes nothing. */
export function LastDay({ credential }: { credential: Credential }) {
  const [since] = useState(() => new Date(Date.now() - DAY).toISOString());
  const { data } = usePreview(credential.id, { rotate: false, since });
  if (!may('tokens:write') || !data) return null;
  const seen = seenOf(data);
  if (!seen.length)
    return (
      <>
        <p class={`note ${isComplete(data) ? 'good' : 'plain'}`}>
          No secret was read or used with it in the last 24 hours.
        </p>
        <Incomplete report={data} />
      </>
    );
  const more = seen.length - SHOWN;
  return (
    <section class="note warn affected" aria-label="Affected">
      <p>
        <strong>{counted(seen.length, 'secret')}</strong> read or used with it in the last 24 hours. Programs
        that need {seen.length === 1 ? 'it' : 'them'} will fail.
        <Maker id={credential.id} />
      </p>
      <ul class="names">
        {seen.slice(0, SHOWN).map(({ id, name }) => (
          <li key={id}>
            <Link href={`/secrets/${id}`} class="mono">
              {name ?? `…${id.slice(-6)}`}
            </Link>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="small dim">And {counted(more, 'other')}.</p>}
    </section>
  );
}
