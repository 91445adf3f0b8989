// Next.js: one vault for the server process. Import it in route handlers and server components alone: the value must not reach the browser.
import { createVault } from '@secrets-vault/client';

// In development Next.js loads modules anew after each edit; the vault outlives that.
globalThis.vault ??= createVault({
  url: process.env.VAULT_URL,
  org: process.env.VAULT_ORG,
  // On Vercel there is no key to store: { oidc: 'ci', trustId: process.env.VAULT_TRUST }
  credential: process.env.VAULT_KEY,
  maxAge: 15_000, // functions are frozen between requests, so there is no stream: asked again after 15 seconds
  staleFor: 60_000,
});

export const vault = globalThis.vault;
