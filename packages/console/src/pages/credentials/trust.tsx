// The dialog that creates or changes a trust: which jobs get session tokens, and the permissions of the
// tokens.
import type { components } from '@secrets-vault/client';
import { useLocation } from 'wouter-preact';
import { byLine, changedOf, type Lines } from '../../changes/merge';
import { linesOf } from '../../globs';
import { at, forget, here, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, type Problems, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { kinds, type Trust } from './kinds';
import { BINDING, claimLines, claimsOf, type Platform, platforms } from './platforms';
import { AddressField, isCustom, leastReach, PlaceFields, type Reach, ScopeFields } from './reach';
import '../../styles/access.css';
import { counted } from '../../counted';

type TrustIn = components['schemas']['TrustIn'];

interface Draft extends Reach {
  name: string;
  platform: string;
  values: Record<string, string>;
  issuer: string;
  claims: string;
  audiences: string;
  jwks: string;
  seconds: string;
}

const emptyDraft = (): Draft => ({
  ...leastReach(),
  name: '',
  platform: 'github',
  values: {},
  issuer: platforms[0]?.issuer ?? '',
  claims: '',
  audiences: '',
  jwks: '',
  seconds: '900',
});

const draftOf = (trust: Trust): Draft => ({
  ...emptyDraft(),
  name: trust.name,
  ...(trust.issuer === BINDING
    ? { platform: 'cloudflare', values: { name: [trust.claims.name ?? []].flat().join(', ') } }
    : { platform: 'other' }),
  issuer: trust.issuer,
  claims: claimLines(trust.claims),
  scopes: trust.scopes,
  isCustom: isCustom(trust.scopes),
  environments: trust.environments ?? [],
  isEverywhere: trust.environments === null,
  names: trust.secrets?.join('\n') ?? '',
  addresses: trust.allowed_addresses?.join('\n') ?? '',
  audiences: trust.audiences.join('\n'),
  seconds: String(trust.ttlSeconds),
  jwks: trust.jwks ? JSON.stringify(trust.jwks, null, 2) : '',
});

const LINES: Lines<Draft> = {
  names: byLine,
  addresses: byLine,
  audiences: byLine,
  claims: (line) => Object.keys(claimsOf(line)).join(),
};

const platformOf = ({ platform }: Draft): Platform =>
  platforms.find(({ id }) => id === platform) ?? (platforms.at(-1) as Platform);

/** The keys as JSON, or the text itself if it is not JSON, so that the service reports the error. */
function keysOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The draft in the format of the API. `orNull` is for a change: an empty field then removes the old value, or
 * restores the default.
 */
function bodyOf(draft: Draft, orNull: boolean): object {
  const platform = platformOf(draft);
  const isOther = platform.id === 'other';
  const audiences = isOther ? linesOf(draft.audiences) : (platform.audiences?.(draft.values) ?? []);
  const none = orNull ? null : undefined;
  const ofTokens = {
    ttlSeconds: Number(draft.seconds),
    allowed_addresses: linesOf(draft.addresses).length ? linesOf(draft.addresses) : none,
    jwks: draft.jwks.trim() ? keysOf(draft.jwks) : none,
    ...(audiences.length ? { audiences } : orNull && { audiences: [location.origin] }),
  };
  return {
    name: draft.name,
    issuer: platform.issuerOf?.(draft.values) ?? draft.issuer,
    claims: isOther ? claimsOf(draft.claims) : platform.claims(draft.values),
    scopes: draft.scopes,
    environments: draft.isEverywhere ? none : draft.environments,
    secrets: linesOf(draft.names).length ? linesOf(draft.names) : none,
    ...(!platform.isBinding && ofTokens),
  };
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
}

/** Claims and audiences in free form. */
const OwnClaims = ({ draft, change, problems }: FieldsProps) => (
  <>
    <TextArea
      label="Claims"
      class="mono"
      rows={4}
      required
      spellcheck={false}
      value={draft.claims}
      onValue={(claims) => change({ claims })}
      error={problems.of('claims')}
      placeholder="sub: system:serviceaccount:shop:api"
      hint="One per line, as claim: pattern. All must match. sub or another claim that identifies the workload is required."
    />
    <TextArea
      label="Audiences"
      optional
      class="mono"
      rows={2}
      value={draft.audiences}
      onValue={(audiences) => change({ audiences })}
      error={problems.of('audiences')}
      hint="One per line. Default: the address of this deployment."
    />
  </>
);

const ACCOUNT =
  'Whoever may deploy Workers to the account of this service can use this trust, under any of these names.';

/** The accepted identities. */
function Workload({ draft, change, problems }: FieldsProps) {
  const platform = platformOf(draft);
  const isOther = platform.id === 'other';
  return (
    <>
      {!platform.issuerOf && (
        <TextField
          label="Issuer"
          class="mono"
          type="url"
          value={draft.issuer}
          onValue={(issuer) => change({ issuer })}
          error={problems.of('issuer')}
          required
          hint={isOther ? 'The exact value of the iss claim.' : 'Change it for a self-hosted platform.'}
        />
      )}
      <div class="columns" hidden={!platform.fields.length}>
        {platform.fields.map(({ id, label, placeholder, hint }) => (
          <TextField
            key={id}
            label={label}
            placeholder={placeholder}
            hint={hint}
            value={draft.values[id] ?? ''}
            onValue={(value) => change({ values: { ...draft.values, [id]: value.trim() } })}
            required
          />
        ))}
      </div>
      {isOther ? (
        <OwnClaims draft={draft} change={change} problems={problems} />
      ) : (
        <div class={platform.isBinding ? 'note warn' : 'note hits'}>
          {platform.isBinding ? (
            <p>{ACCOUNT}</p>
          ) : (
            <>
              <p class="small dim">Accepts tokens with these claims:</p>
              <pre class="small claims">{claimLines(platform.claims(draft.values))}</pre>
            </>
          )}
          {problems.of('claims') && (
            <p class="field-error" role="alert">
              {problems.of('claims')}
            </p>
          )}
        </div>
      )}
      {platform.hasOwnKeys && (
        <TextArea
          label="Issuer keys"
          optional
          class="mono"
          rows={3}
          spellcheck={false}
          value={draft.jwks}
          onValue={(jwks) => change({ jwks })}
          error={problems.of('jwks')}
          hint="A JWKS, for an issuer that is not on the public internet. Get it with kubectl get --raw /openid/v1/jwks."
        />
      )}
    </>
  );
}

const SECONDS = [
  { value: '900', label: '15 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '14400', label: '4 hours' },
  { value: '86400', label: '1 day' },
];

/** What limits its session tokens besides their permissions. */
const Tokens = ({ draft, change, problems }: FieldsProps) => {
  const fields = { reach: draft, change, problems };
  const isUsual = SECONDS.some(({ value }) => value === draft.seconds);
  return (
    <>
      <SelectField
        label="Session token lifetime"
        value={draft.seconds}
        onValue={(seconds) => change({ seconds })}
        error={problems.of('ttlSeconds')}
        choices={
          isUsual
            ? SECONDS
            : [...SECONDS, { value: draft.seconds, label: counted(Number(draft.seconds), 'second') }]
        }
      />
      <details>
        <summary>Restrict to IP addresses</summary>
        <div class="below-summary">
          <AddressField {...fields} />
        </div>
      </details>
    </>
  );
};

/** @param trust the trust to change; omitted to create one */
export function TrustForm({ trust, onClose }: { trust?: Trust; onClose: () => void }) {
  const { first, draft, setDraft, isSame, changing } = useEdit(
    trust,
    (of) => (of ? draftOf(of) : emptyDraft()),
    LINES,
  );
  const problems = useProblems();
  const [, go] = useLocation();
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const patch = changedOf(bodyOf(first, true), bodyOf(draft, true));
  const save = async () => {
    const { api } = vault();
    const { id } = trust
      ? (
          await changing((header) =>
            api.PATCH('/orgs/{org_id}/trusts/{id}', { ...at(trust.id, header), body: patch }),
          )
        ).data
      : (
          await api.POST('/orgs/{org_id}/trusts', {
            params: { path: here() },
            body: bodyOf(draft, false) as TrustIn,
          })
        ).data;
    await forget('credentials');
    tell(trust ? `${draft.name} saved` : `${draft.name} created`);
    onClose();
    if (!trust) go(`/credentials/${id}`);
  };
  const choose = (platform: string) =>
    change({ platform, issuer: platforms.find(({ id }) => id === platform)?.issuer ?? '', values: {} });
  return (
    <Dialog
      side
      title={trust ? `Edit ${trust.name}` : 'New trust'}
      lead={kinds.trust.lead}
      onClose={onClose}
      dirty={!isSame}
    >
      <Form
        action={trust ? 'Save changes' : 'Create trust'}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={trust && !Object.keys(patch).length}
      >
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => change({ name })}
          error={problems.of('name')}
          required
          maxLength={255}
          hint="For example, deploy of acme/app"
        />
        {!trust && (
          <SelectField
            label="Platform"
            value={draft.platform}
            onValue={choose}
            choices={platforms.map(({ id, label }) => ({ value: id, label }))}
          />
        )}
        <Workload draft={draft} change={change} problems={problems} />
        <ScopeFields reach={draft} change={change} problems={problems} />
        <PlaceFields reach={draft} change={change} problems={problems} />
        {!platformOf(draft).isBinding && <Tokens draft={draft} change={change} problems={problems} />}
      </Form>
    </Dialog>
  );
}
