// Access check: whether a member may do something, and why. The service applies the same rules as for
// requests.
import type { components } from '@secrets-vault/client';
import { Check, X } from 'lucide-preact';
import { useDeferredValue } from 'preact/compat';
import { useId } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { environments } from '../../organisation/environments';
import { useSelected } from '../../organisation/inventory';
import { type Member, Who } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { scopeGroups } from '../../session/scopes';
import { SelectField, TextField } from '../../ui/forms/field';
import { ErrorNote } from '../../ui/parts';
import { labelOfRole } from './roles';

type Access = components['schemas']['Access'];

const actions = scopeGroups.flatMap(({ resource, label, scopes }) =>
  scopes.map(([verb, words]) => ({
    value: `${resource}:${verb}`,
    label: `${label}: ${words[0]?.toLowerCase()}${words.slice(1)}`,
  })),
);

function Because({ reason, member }: { reason: Access['reasons'][number]; member: Member }) {
  if (reason.source === 'role')
    return (
      <li>
        The role <strong>{labelOfRole(reason.role ?? member.role)}</strong> allows it.
      </li>
    );
  return (
    <li>
      <Link href={`/grants?id=${reason.grant_id}`}>A grant</Link> gives this access to{' '}
      {reason.grantee?.type === 'team' ? (
        <>
          the team <Who id={reason.grantee.id} />
        </>
      ) : (
        member.name
      )}
      .
    </li>
  );
}

const MOST_UPSTREAMS = 20;

function Answer({ access, member, question }: { access: Access; member: Member; question: string }) {
  return (
    <div class={`verdict ${access.allowed ? 'yes' : 'no'}`} role="status">
      {access.allowed ? <Check size={20} aria-hidden="true" /> : <X size={20} aria-hidden="true" />}
      <div>
        <p>
          <strong>{access.allowed ? 'Yes' : 'No'}.</strong> {member.name} {access.allowed ? 'may' : 'may not'}{' '}
          {question}.
        </p>
        {access.upstreams?.length ? (
          <p>
            Through{' '}
            {access.upstreams.slice(0, MOST_UPSTREAMS).map(({ id, name }) => (
              <Link key={id} href={`/upstreams/${id}`}>
                {name}{' '}
              </Link>
            ))}
          </p>
        ) : null}
        {access.allowed ? (
          <ul>
            {access.reasons.map((reason) => (
              <Because key={reason.grant_id ?? reason.role} reason={reason} member={member} />
            ))}
          </ul>
        ) : access.suspended ? (
          <p class="dim">{member.name} is suspended and may do nothing.</p>
        ) : (
          <p class="dim">
            The role {labelOfRole(member.role)} does not allow it, and neither does a grant to {member.name}{' '}
            or their teams.
          </p>
        )}
      </div>
    </div>
  );
}

export function MayThey({ member }: { member: Member }) {
  const [action = '', setAction] = useParameter('may');
  const [environment, setEnvironment] = useParameter('in');
  const [secret, setSecret] = useParameter('secret');
  const chosen = action || 'secrets:read';
  const isOfSecrets = chosen.startsWith('secrets:');
  const name = useDeferredValue(isOfSecrets ? secret : '');
  const place = isOfSecrets ? environment : '';
  const { data, error } = useRead(['members', 'access', member.id, chosen, place, name], (signal) =>
    vault().api.GET('/orgs/{org_id}/members/{id}/access', {
      params: {
        path: { ...here(), id: member.id },
        query: { action: chosen, environment: place || undefined, secret: name || undefined },
      },
      signal,
    }),
  );
  const names = useId();
  const known = useSelected({ environments: place ? [place] : [] });
  const [kind = '', words = chosen] = actions.find(({ value }) => value === chosen)?.label.split(': ') ?? [];
  const anywhere =
    isOfSecrets && !place && (data?.allowed ? 'in at least one environment' : 'in any environment');
  const where = [name && `of ${name}`, place ? `in ${place}` : anywhere].filter(Boolean).join(' ');
  return (
    <section class="card stack" aria-labelledby={`${names}-head`}>
      <h2 id={`${names}-head`}>Check access</h2>
      <div class="columns">
        <SelectField label="Action" value={chosen} onValue={setAction} choices={actions} />
        {isOfSecrets && (
          <>
            <SelectField
              label="Environment"
              value={environment}
              onValue={setEnvironment}
              choices={[
                { value: '', label: 'Any' },
                ...environments.value.map(({ slug, name }) => ({ value: slug, label: name })),
              ]}
            />
            <TextField
              label="Secret"
              optional
              class="mono"
              list={names}
              value={secret}
              onValue={setSecret}
              placeholder="Any name"
            />
            <datalist id={names}>
              {[...new Set(known.secrets.map((each) => each.name))].slice(0, 200).map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          </>
        )}
      </div>
      {error ? <ErrorNote error={error} /> : null}
      {data ? (
        <Answer
          access={data}
          member={member}
          question={[words, where, !isOfSecrets && `(${kind.toLowerCase()})`].filter(Boolean).join(' ')}
        />
      ) : null}
    </section>
  );
}
