// What a credential, and what was made with it, read in the last day: the programs that fail without it.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { may } from '../../may';
import { usePreview } from '../incident/data';
import type { Credential } from './kinds';
import { Maker } from './maker';

const DAY = 86_400_000;
const SHOWN = 6;

/** From the report that a containment would write, which changes nothing. */
export function LastDay({ credential }: { credential: Credential }) {
  const [since] = useState(() => new Date(Date.now() - DAY).toISOString());
  const { data } = usePreview(credential.id, { rotate: false, since });
  if (!may('tokens:write') || !data) return null;
  const read = [...new Map(data.read.map((secret) => [secret.secret_id, secret])).values()];
  if (!read.length) return <p class="note good">Nothing was read with it in the last 24 hours.</p>;
  const more = read.length - SHOWN;
  return (
    <section class="note warn affected" aria-label="Affected">
      <p>
        <strong>{counted(read.length, 'secret')}</strong> read with it in the last 24 hours. Programs that
        need {read.length === 1 ? 'it' : 'them'} will fail.
        <Maker id={credential.id} />
      </p>
      <ul class="names">
        {read.slice(0, SHOWN).map(({ secret_id, name }) => (
          <li key={secret_id}>
            <Link href={`/secrets/${secret_id}`} class="mono">
              {name ?? `…${secret_id.slice(-6)}`}
            </Link>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="small dim">And {counted(more, 'other')}.</p>}
    </section>
  );
}
