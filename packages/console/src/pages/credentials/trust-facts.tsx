// The details of a trust: the identities it accepts, and the variables that a job needs.
import type { ComponentChildren } from 'preact';
import { counted } from '../../counted';
import { org } from '../../session';
import { CopyButton } from '../../ui/parts';
import type { Trust } from './kinds';
import { claimLines } from './platforms';

export const trustFacts = (trust: Trust | undefined): [string, ComponentChildren][] =>
  trust
    ? [
        ['Issuer', <code>{trust.issuer}</code>],
        ['Claims', <pre class="claims">{claimLines(trust.claims)}</pre>],
        ['Audiences', <code>{trust.audiences.join(', ')}</code>],
        ['Keys', trust.jwks ? `${trust.jwks.keys.length} entered here` : 'Fetched from the issuer'],
        ['Session token lifetime', counted(Math.round(trust.ttlSeconds / 60), 'minute')],
      ]
    : [];

/** The variables that a job needs. None of them is a secret. */
export function TrustUse({ trust }: { trust: Trust }) {
  const lines = [`VAULT=${location.origin}`, `VAULT_ORG=${org.value}`, `VAULT_TRUST=${trust.id}`].join('\n');
  return (
    <section class="card stack tight">
      <h2>Job configuration</h2>
      <p class="dim">
        Set these variables in the job. None of them is a secret. The job sends its OIDC token to{' '}
        <code>POST /api/v1/auth/exchange</code> and gets a session token.
      </p>
      <div class="copyable">
        <pre class="grow claims">{lines}</pre>
        <CopyButton text={lines} label="Copy variables" />
      </div>
    </section>
  );
}
