// Panic: revokes every credential of the organisation. Invariants: the consequences are shown first, a phrase
// is typed and the passkey is required; the result, which is shown once, stays on the page until the member
// leaves it.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { confirmed, forget, here, vault } from '../../requests/api';
import { confirmAgain, me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';

type Panicked = components['schemas']['Panicked'];

const WORD = 'revoke everything';

const Consequences = ({ withKeys, withSso }: { withKeys: boolean; withSso: boolean }) => (
  <div class="note bad">
    <p>When you confirm:</p>
    <ul class="bullets">
      <li>All session tokens, agent credentials, provider tokens and break-glass tokens are revoked.</li>
      <li>All other members are signed out in browsers and terminals. Your other sessions end too.</li>
      {withKeys ? (
        <li>
          All API keys and trusts are revoked. You get one new API key. Programs fail until they get a new
          key.
        </li>
      ) : (
        <li>API keys and trusts stay valid, so programs with a key keep running.</li>
      )}
      {withSso && (
        <li>Nobody signs in by single sign-on until an owner changes the connection. Passkeys work.</li>
      )}
      <li>Secrets, members and policies are unchanged. Revoked credentials cannot be restored.</li>
    </ul>
  </div>
);

function PanicDialog({ onDone, onClose }: { onDone: (result: Panicked) => void; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [withKeys, setWithKeys] = useState(false);
  const [withSso, setWithSso] = useState(false);
  const [typed, setTyped] = useState('');
  const problems = useProblems();
  const panic = async () => {
    const { data } = await confirmed(() =>
      vault().api.POST('/orgs/{org_id}/panic', {
        params: { path: here() },
        body: { reason, ...(withKeys && { api_keys: true }), ...(withSso && { sso: true }) },
      }),
    );
    onDone(data);
    // Only the current JWT of this session is left; a confirmation starts a new session. Without it, the
    // member stays signed in until the JWT expires.
    await confirmAgain().catch(() =>
      tell('Confirm with your passkey soon', 'Otherwise your session ends within 15 minutes.'),
    );
    await forget('credentials', 'audit', 'sessions', 'incidents', ...(withSso ? ['sso-connections'] : []));
  };
  return (
    <Dialog title="Revoke all credentials" onClose={onClose} dirty={reason !== ''}>
      <Form
        action="Revoke all credentials"
        danger
        onSubmit={panic}
        onCancel={onClose}
        problems={problems}
        disabled={typed !== WORD}
      >
        <TextField
          label="Reason"
          value={reason}
          onValue={setReason}
          error={problems.of('reason')}
          hint="Recorded in the audit log and sent to owners"
          required
          maxLength={1024}
        />
        <Checkbox
          label="Also revoke API keys and trusts"
          hint="Choose this if an API key leaked, or if you do not know what leaked."
          checked={withKeys}
          onChecked={setWithKeys}
        />
        <Checkbox
          label="Also stop single sign-on"
          hint="Choose this if the identity provider may be compromised."
          checked={withSso}
          onChecked={setWithSso}
        />
        <Consequences withKeys={withKeys} withSso={withSso} />
        <TextField
          label={`Type “${WORD}” to confirm`}
          class="mono"
          spellcheck={false}
          value={typed}
          onValue={setTyped}
        />
      </Form>
    </Dialog>
  );
}

interface Item {
  id: string;
  text: string;
  at: string;
}

const changed = ({ id, name, updated_at }: { id: string; name: string; updated_at: string }, at: string) => ({
  id,
  text: `${name}, ${at}`,
  at: updated_at,
});

/** What lets people in, or sends something elsewhere. */
const reachingOut = (recent: Panicked['recent']): [string, string, Item[]][] => [
  [
    'Connections to identity providers',
    'Recently created or changed. They let people in.',
    recent.sso_connections.map((one) => changed(one, one.issuer)),
  ],
  [
    'Domains',
    'Recently added or verified.',
    recent.domains.map(({ id, domain, verified_at, created_at }) => ({
      id,
      text: verified_at === null ? `${domain}, pending` : domain,
      at: verified_at ?? created_at,
    })),
  ],
  [
    'SCIM tokens',
    'They still work, unless all API keys were revoked too.',
    recent.scim_tokens.map(({ id, name, created_at }) => ({ id, text: name, at: created_at })),
  ],
  [
    'Log streams',
    'Recently created or changed. Those of members have stopped.',
    recent.log_streams.map((one) => changed(one, one.kind)),
  ],
  [
    'Upstreams',
    'Recently created or changed. Those of members have stopped.',
    recent.upstreams.map((one) => changed(one, one.base_url)),
  ],
];

/** Recent items that may belong to an attacker, by kind, with advice. */
const recentOf = (recent: Panicked['recent']): [string, string, Item[]][] => [
  [
    'Passkeys',
    'They still work. Remove any that their members do not recognise.',
    recent.passkeys.map(({ id, name, member_id, created_at }) => ({
      id,
      text: `${name}, of ${member_id}`,
      at: created_at,
    })),
  ],
  [
    'Enrolment links',
    'They still work. To replace one, create a new link for the member.',
    recent.enrolments.map(({ member_id, email, created_at }) => ({
      id: member_id,
      text: email,
      at: created_at,
    })),
  ],
  [
    'Grants',
    'They are still in effect.',
    recent.grants.map(({ id, grantee, permission, created_at }) => ({
      id,
      text: `${grantee.type} ${grantee.id} may ${permission}`,
      at: created_at,
    })),
  ],
  [
    'Trusts',
    'Recently created or changed.',
    recent.trusts.map(({ id, name, issuer, updated_at }) => ({
      id,
      text: `${name}, ${issuer}`,
      at: updated_at,
    })),
  ],
  ...reachingOut(recent),
  [
    'Sessions',
    'They have ended, except yours.',
    recent.sessions.map(({ id, member_id, last_used_place, created_at }) => ({
      id,
      text: `${member_id}${last_used_place ? `, ${last_used_place}` : ''}`,
      at: created_at,
    })),
  ],
];

/** What was created in the seven days before a panic. */
export function Recent({ recent }: Pick<Panicked, 'recent'>) {
  const kinds = recentOf(recent).filter(([, , items]) => items.length);
  return (
    <>
      {kinds.map(([name, advice, items]) => (
        <details key={name} open={name !== 'Sessions'}>
          <summary>
            {name} <span class="count">{items.length}</span>
          </summary>
          <p class="dim small">{advice}</p>
          <ul class="timeline">
            {items.map(({ id, text, at }) => (
              <li key={id}>
                <span class="grow truncate">{text}</span>
                <span class="dim">
                  <Time at={at} />
                </span>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {!kinds.length && <p class="dim">Nothing was created in the seven days before.</p>}
    </>
  );
}

const Aftermath = ({ result }: { result: Panicked }) => (
  <div class="stack" role="status">
    <p class="note good">
      All credentials were revoked <Time at={result.ended_at} />. New ones work.
    </p>
    {result.incident_id && (
      <p>
        <Link href={`/incident/report/${result.incident_id}`}>Follow the incident</Link>
      </p>
    )}
    <h3>Review items from the last seven days</h3>
    <Recent recent={result.recent} />
  </div>
);

export function PanicCard() {
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<Panicked | null>(null);
  const [seen, setSeen] = useState(false);
  const isOwner = me.value?.role === 'owner';
  const token = result?.api_key?.token;
  return (
    <section class="card stack panic" aria-labelledby="panic">
      <h2 id="panic">Revoke all credentials</h2>
      {result ? (
        <Aftermath result={result} />
      ) : (
        <>
          <p class="dim">
            Use this if you do not know what is compromised. Immediately revokes all tokens and sessions of
            the organisation, and API keys if you choose to.
          </p>
          {!isOwner && <p class="note plain">Only an owner can do this. Contact one now.</p>}
          <div>
            <Button kind="danger" disabled={!isOwner} onPress={() => setOpen(true)}>
              Revoke all credentials…
            </Button>
          </div>
        </>
      )}
      {isOpen && (
        <PanicDialog
          onClose={() => setOpen(false)}
          onDone={(done) => {
            setResult(done);
            setOpen(false);
          }}
        />
      )}
      {token && !seen && (
        <OneTime
          title="Your new API key"
          lead="All other API keys are revoked. This one has every permission: use it to create new ones."
          text={token}
          onClose={() => setSeen(true)}
        />
      )}
    </section>
  );
}
