// The details of a trust: the identities it accepts, and the configuration that a job or a Worker needs.
import type { ComponentChildren } from 'preact';
import { counted } from '../../counted';
import { org } from '../../session/session';
import { CopyButton } from '../../ui/parts';
import type { Trust } from './kinds';
import { BINDING, claimLines } from './platforms';

export function trustFacts(trust: Trust | undefined): [string, ComponentChildren][] {
  if (!trust) return [];
  const accepted: [string, ComponentChildren][] = [
    ['Issuer', <code>{trust.issuer}</code>],
    ['Claims', <pre class="claims">{claimLines(trust.claims)}</pre>],
  ];
  if (trust.issuer === BINDING) return accepted;
  return [
    ...accepted,
    ['Audiences', <code>{trust.audiences.join(', ')}</code>],
    ['Keys', trust.jwks ? `${trust.jwks.keys.length} entered here` : 'Fetched from the issuer'],
    ['Session token lifetime', counted(Math.round(trust.ttlSeconds / 60), 'minute')],
  ];
}

/** The first name that the trust takes and a Worker may have: nothing else gets into the lines. */
const nameIn = ({ claims }: Trust): string =>
  [claims.name ?? []].flat().find((name) => /^[A-Za-z0-9_.-]{1,64}$/.test(name)) ?? 'WORKER';

/** The binding of a Worker, as lines of wrangler.toml. */
const bindingOf = (trust: Trust): string =>
  [
    '[[services]]',
    'binding = "VAULT"',
    `service = "${trust.service ?? 'secrets-vault-service'}"`,
    'entrypoint = "Vault"',
    `props = { org = "${org.value}", trust = "${trust.id}", name = "${nameIn(trust)}" }`,
  ].join('\n');

const Lines = ({ lines, label }: { lines: string; label: string }) => (
  <div class="copyable">
    <pre class="grow claims">{lines}</pre>
    <CopyButton text={lines} label={label} />
  </div>
);

function BindingUse({ trust }: { trust: Trust }) {
  return (
    <section class="card stack tight">
      <h2>Worker configuration</h2>
      <p class="dim">
        Add these lines to <code>wrangler.toml</code>. None of them is a secret. The Worker reads with{' '}
        <code>await env.VAULT.get('NAME')</code>.
      </p>
      <Lines lines={bindingOf(trust)} label="Copy binding" />
      <p class="note warn">
        Whoever may deploy Workers to the account of this service can use this trust, under any name that it
        takes.
      </p>
    </section>
  );
}

/** The variables that a job needs. None of them is a secret. */
export function TrustUse({ trust }: { trust: Trust }) {
  if (trust.issuer === BINDING) return <BindingUse trust={trust} />;
  const lines = [`VAULT=${location.origin}`, `VAULT_ORG=${org.value}`, `VAULT_TRUST=${trust.id}`].join('\n');
  return (
    <section class="card stack tight">
      <h2>Job configuration</h2>
      <p class="dim">
        Set these variables in the job. None of them is a secret. The job sends its OIDC token to{' '}
        <code>POST /api/v1/auth/exchange</code> and gets a session token.
      </p>
      <Lines lines={lines} label="Copy variables" />
    </section>
  );
}
