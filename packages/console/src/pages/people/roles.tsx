// The roles and their permissions, from least to most.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../requests/api';
import { Dialog } from '../../ui/dialogs/dialog';
import { ErrorNote, Skeleton } from '../../ui/parts';

export type Role = components['schemas']['Member']['role'];

/** From least to most permissions, as shown in forms. */
export const roles: { value: Role; label: string; hint: string }[] = [
  { value: 'viewer', label: 'Viewer', hint: 'Can see names of secrets, but not values.' },
  {
    value: 'auditor',
    label: 'Auditor',
    hint: 'Can read the audit log and the compliance report, but not secrets.',
  },
  {
    value: 'developer',
    label: 'Developer',
    hint: 'Can manage all secrets, credentials, webhooks and integrations.',
  },
  { value: 'admin', label: 'Admin', hint: 'Can do everything except create owners.' },
  { value: 'owner', label: 'Owner', hint: 'Can do everything. Assigning this role requires your passkey.' },
];

export const labelOfRole = (role: string): string => roles.find(({ value }) => value === role)?.label ?? role;

export function RolesDialog({ onClose }: { onClose: () => void }) {
  const { data, error, isPending, refetch } = useRead(['roles'], (signal) =>
    vault().api.GET('/orgs/{org_id}/roles', { params: { path: here() }, signal }),
  );
  return (
    <Dialog
      side
      title="Roles"
      lead="The permissions of each role. Grants add access to secrets."
      onClose={onClose}
    >
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
