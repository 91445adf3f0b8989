// Next.js: one client for the server process. Import it only in route handlers and server components: the
// value must not reach the browser.
import { createVault } from '@secrets-vault/client';

// In development Next.js reloads modules after each edit; the client is kept.
globalThis.vault ??= createVault({
  url: process.env.VAULT_URL,
  org: process.env.VAULT_ORG,
  // On Vercel you do not need a stored key: { oidc: 'ci', trustId: process.env.VAULT_TRUST }
  credential: process.env.VAULT_KEY,
  maxAge: 15_000, // functions are frozen between requests, so there is no stream: reads are revalidated after 15 seconds
  staleFor: 60_000,
});

export const vault = globalThis.vault;
