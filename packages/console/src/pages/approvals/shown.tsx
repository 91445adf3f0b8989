// What an approved request would do. Invariant: what the requester wrote is plain text, and shown as theirs.
import type { ComponentChildren } from 'preact';
import { Facts } from '../../ui/parts';
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
