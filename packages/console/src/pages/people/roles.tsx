// The roles: what each may do, from the least to the most.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../api';
import { Dialog } from '../../ui/dialog';
import { ErrorNote, Skeleton } from '../../ui/parts';

export type Role = components['schemas']['Member']['role'];

/** From the least to the most, as forms offer them. */
export const roles: { value: Role; label: string; hint: string }[] = [
  { value: 'viewer', label: 'Viewer', hint: 'Sees names of secrets, and no values.' },
  { value: 'auditor', label: 'Auditor', hint: 'Reads the audit log and the compliance report, and no secrets.' },
  { value: 'developer', label: 'Developer', hint: 'Works with all secrets, credentials, webhooks and integrations.' },
  { value: 'admin', label: 'Admin', hint: 'Everything, but makes no owners.' },
  { value: 'owner', label: 'Owner', hint: 'Everything. You confirm with your passkey.' },
];

export const labelOfRole = (role: string): string => roles.find(({ value }) => value === role)?.label ?? role;

export function RolesDialog({ onClose }: { onClose: () => void }) {
  const { data, error, isPending, refetch } = useRead(['roles'], (signal) =>
    vault().api.GET('/orgs/{org_id}/roles', { params: { path: here() }, signal }),
  );
  return (
    <Dialog side title="Roles" lead="What each role may do. Grants add access to secrets on top of a role." onClose={onClose}>
      {error ? <ErrorNote error={error} onRetry={refetch} /> : null}
      {isPending ? <Skeleton rows={5} /> : null}
      <div class="stack">
        {roles.map(({ value, label, hint }) => (
          <section key={value} class="card stack tight">
            <h3>{label}</h3>
            <p class="dim">{hint}</p>
            <p class="chips">
              {data?.data
                .find(({ role }) => role === value)
                ?.scopes.map((scope) => (
                  <code key={scope} class="chip">
                    {scope}
                  </code>
                ))}
            </p>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
