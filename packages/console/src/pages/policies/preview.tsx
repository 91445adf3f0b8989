// The secrets that a policy would affect, before it is saved. Invariant: it is labelled as a preview of the
// names read so far; the service decides.
import { counted } from '../../counted';
import { type Secret, useSelected } from '../../organisation/inventory';
import { useMembers } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { type Draft, selectionOf } from './draft';

const SHOWN = 8;
const DAY = 86_400_000;

const Names = ({ secrets }: { secrets: Secret[] }) =>
  secrets.length ? (
    <p class="small dim mono names">
      {secrets
        .slice(0, SHOWN)
        .map(({ name, environment }) => `${name} (${environment})`)
        .join(', ')}
      {secrets.length > SHOWN && ` and ${(secrets.length - SHOWN).toLocaleString()} more`}
    </p>
  ) : null;

/** The pattern as a regular expression of this browser; null if it is not valid here. */
function compiled(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return null;
  }
}

function NamingPreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  const pattern = compiled(draft.pattern);
  if (!pattern)
    return (
      <p>The preview does not support this pattern. Save the policy as disabled to see its violations.</p>
    );
  const bad = secrets.filter(({ name }) => !pattern.test(name));
  return (
    <>
      <p>
        <strong>{counted(bad.length, 'secret')}</strong> of {secrets.length.toLocaleString()}{' '}
        {bad.length === 1 ? 'does' : 'do'} not match. They are kept, but new names and renames that do not
        match are refused.
      </p>
      <Names secrets={bad} />
    </>
  );
}

function RotationPreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  const oldest = Date.now() - Number(draft.days) * DAY;
  const due = draft.when === 'age' ? secrets.filter(({ updated_at }) => Date.parse(updated_at) < oldest) : [];
  return (
    <>
      <p>
        It applies to <strong>{counted(secrets.length, 'secret')}</strong>.{' '}
        {draft.when === 'age' && `At least ${due.length.toLocaleString()} of them would be due now.`}
      </p>
      <Names secrets={due.length ? due : secrets} />
    </>
  );
}

/** The members who may approve according to the draft, as far as the caller can see them. */
function useApprovers({ approvers }: Draft): string[] {
  const { members } = useMembers();
  const isTeam = approvers.startsWith('team_');
  const { data } = useRead(
    ['teams', 'people', approvers, 'first'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/teams/{id}/members', {
        params: { path: { ...here(), id: approvers }, query: { limit: 100 } },
        signal,
      }),
    isTeam,
  );
  if (isTeam) return data?.data.map(({ name }) => name) ?? [];
  return members
    .filter(({ role, status }) => status === 'active' && `role:${role}` === approvers)
    .map(({ name }) => name);
}

/** Too few approvers to decide the request of one of them, and so to change the policy itself. */
const Stuck = ({ approvers, needed }: { approvers: string[]; needed: number }) => (
  <p>
    <strong>
      {approvers.length < needed
        ? `This needs ${needed} approvers, so nothing can be approved yet.`
        : needed === 1
          ? `${approvers[0]} is the only approver, so nobody can approve their requests, or let them change this policy.`
          : 'There is no spare approver, so nobody can approve the requests of an approver, or let them change this policy.'}
    </strong>{' '}
    Add another approver first.
  </p>
);

function ApprovalPreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  return draft.approvers === 'accountable' ? (
    <AgentPreview secrets={secrets} />
  ) : (
    <PeoplePreview draft={draft} secrets={secrets} />
  );
}

/** One person's check on a program. */
const AgentPreview = ({ secrets }: { secrets: Secret[] }) => (
  <>
    <p>
      It holds requests of agents for <strong>{counted(secrets.length, 'secret')}</strong>. The member
      accountable for the agent approves each.
    </p>
    <Names secrets={secrets} />
    <p>
      <strong>Only agents and credentials that they created are held.</strong> Other callers pass, unless
      another policy holds them.
    </p>
  </>
);

function PeoplePreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  const approvers = useApprovers(draft);
  const isOfSecrets = draft.operations.some((operation) => operation.startsWith('secret.'));
  return (
    <>
      {isOfSecrets && (
        <>
          <p>
            It holds requests for <strong>{counted(secrets.length, 'secret')}</strong>. Programs that read
            them will need approval.
          </p>
          <Names secrets={secrets} />
        </>
      )}
      <p>
        {approvers.length
          ? `Approvers: ${approvers.slice(0, 6).join(', ')}${approvers.length > 6 ? ` and ${approvers.length - 6} more` : ''}. No one can approve their own requests.`
          : 'There are no approvers yet: such requests wait until there is one.'}
      </p>
      {approvers.length > 0 && approvers.length <= Number(draft.required) && (
        <Stuck approvers={approvers} needed={Number(draft.required)} />
      )}
      <p class="small dim">
        Neither can members who brought in the requester in the last 7 days, or whom the requester brought in,
        directly or through others, nor members with a grant from one to the other.
      </p>
    </>
  );
}

const previews = { naming: NamingPreview, rotation: RotationPreview, approval: ApprovalPreview };

export function Preview({ draft }: { draft: Draft }) {
  const { secrets, isWhole, error, isPending } = useSelected(selectionOf(draft));
  if (error || isPending) return null;
  const Kind = previews[draft.kind];
  return (
    <div class="note hits stack tight" role="status" aria-label="Affected secrets">
      <Kind draft={draft} secrets={secrets} />
      {!isWhole && <p class="small dim">Among the first 1,000 secrets.</p>}
    </div>
  );
}
