// What a policy would hit, before it is saved. Invariant: it says that it is a preview of the names that were read; the service decides.
import { here, useRead, vault } from '../../api';
import { type Secret, useSelected } from '../../inventory';
import { useMembers } from '../../people';
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

const count = (number: number): string => `${number.toLocaleString()} ${number === 1 ? 'secret' : 'secrets'}`;

/** The pattern as this browser understands it; null where it does not. */
function compiled(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return null;
  }
}

function NamingPreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  const pattern = compiled(draft.pattern);
  if (!pattern) return <p>The preview cannot read this pattern. Save the policy switched off, and see its violations.</p>;
  const bad = secrets.filter(({ name }) => !pattern.test(name));
  return (
    <>
      <p>
        <strong>{count(bad.length)}</strong> of {secrets.length.toLocaleString()} {bad.length === 1 ? 'does' : 'do'} not fit. They stay as
        they are; new names and renames that do not fit are refused.
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
        It applies to <strong>{count(secrets.length)}</strong>.{' '}
        {draft.when === 'age' && `At least ${due.length.toLocaleString()} of them would be due now.`}
      </p>
      <Names secrets={due.length ? due : secrets} />
    </>
  );
}

/** Those who may approve by the draft, as far as the caller may see them. */
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
  return members.filter(({ role }) => `role:${role}` === approvers).map(({ name }) => name);
}

function ApprovalPreview({ draft, secrets }: { draft: Draft; secrets: Secret[] }) {
  const approvers = useApprovers(draft);
  const isOfSecrets = draft.operations.some((operation) => operation.startsWith('secret.'));
  return (
    <>
      {isOfSecrets && (
        <>
          <p>
            It holds requests for <strong>{count(secrets.length)}</strong>. Programs that read them need an approval from then on.
          </p>
          <Names secrets={secrets} />
        </>
      )}
      <p>
        {approvers.length
          ? `May approve: ${approvers.slice(0, 6).join(', ')}${approvers.length > 6 ? ` and ${approvers.length - 6} more` : ''}. Nobody approves their own requests.`
          : 'Nobody may approve it yet: such requests wait until there is an approver.'}
      </p>
      <p class="small dim">Whoever the requester invited or promoted in the last 7 days may not approve either.</p>
    </>
  );
}

const previews = { naming: NamingPreview, rotation: RotationPreview, approval: ApprovalPreview };

export function Preview({ draft }: { draft: Draft }) {
  const { secrets, isWhole, error, isPending } = useSelected(selectionOf(draft));
  if (error || isPending) return null;
  const Kind = previews[draft.kind];
  return (
    <div class="note hits stack tight" role="status" aria-label="What it would hit">
      <Kind draft={draft} secrets={secrets} />
      {!isWhole && <p class="small dim">Among the first 1,000 secrets.</p>}
    </div>
  );
}
