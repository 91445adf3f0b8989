// What is particular of a trust on its page: whom it accepts, and what a job needs to know.
import type { ComponentChildren } from 'preact';
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
        ['Keys', trust.jwks ? `${trust.jwks.keys.length} given here` : 'Fetched from the issuer'],
        ['A session token works for', `${Math.round(trust.ttlSeconds / 60).toLocaleString()} minutes`],
      ]
    : [];

/** The variables that a job needs. None of them is secret. */
export function TrustUse({ trust }: { trust: Trust }) {
  const lines = [`VAULT=${location.origin}`, `VAULT_ORG=${org.value}`, `VAULT_TRUST=${trust.id}`].join('\n');
  return (
    <section class="card stack tight">
      <h2>In the job</h2>
      <p class="dim">
        Set these variables; none is secret. The job sends the token of its platform to <code>POST /api/v1/auth/exchange</code> and gets a
        session token.
      </p>
      <div class="copyable">
        <pre class="grow claims">{lines}</pre>
        <CopyButton text={lines} label="Copy the variables" />
      </div>
    </section>
  );
}
