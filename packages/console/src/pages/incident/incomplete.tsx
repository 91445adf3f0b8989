// What a report of a containment, or its preview, leaves out. Invariant: nobody takes a report with gaps for
// the whole of what happened.
import { counted } from '../../counted';
import { Late, lateIn } from '../../ui/late';
import type { Contained } from './data';

type Part = Pick<Contained, 'omitted' | 'gaps'>;

/** Whether a report has all that happened. */
export const isComplete = (report: Part): boolean =>
  !report.omitted && !report.gaps?.length && !lateIn([report]).length;

export const Incomplete = ({ report }: { report: Part }) => (
  <>
    <Late answers={[report]} />
    {report.omitted ? (
      <p class="note warn">{counted(report.omitted, 'more credential')} or more are not listed.</p>
    ) : null}
    {report.gaps?.length ? (
      <p class="note warn">
        Parts of the audit log are missing or unreadable, so this report may be incomplete.
      </p>
    ) : null}
  </>
);
