// What a report of a containment, or its preview, leaves out. Invariant: nobody takes a report with gaps for
// the whole of what happened.
import { counted } from '../../counted';
import type { Contained } from './data';

type Part = Pick<Contained, 'omitted' | 'gaps'>;

/** Whether a report has all that happened. */
export const isComplete = ({ omitted, gaps }: Part): boolean => !omitted && !gaps?.length;

export const Incomplete = ({ report: { omitted, gaps } }: { report: Part }) => (
  <>
    {omitted ? <p class="note warn">{counted(omitted, 'more credential')} or more are not listed.</p> : null}
    {gaps?.length ? (
      <p class="note warn">
        Parts of the audit log are missing or unreadable, so this report may be incomplete.
      </p>
    ) : null}
  </>
);
