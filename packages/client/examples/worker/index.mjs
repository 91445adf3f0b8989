// A Cloudflare Worker. It creates a client for each request, because requests cannot share connections.
// VAULT_TOKEN is the token of an agent that can read only this secret; it is sent directly, so each read is a
// single request.
import { createVault } from '@secrets-vault/client';

export default {
  async fetch(_request, env) {
    const vault = createVault({
      url: env.VAULT_URL,
      org: env.VAULT_ORG,
      credential: env.VAULT_TOKEN,
      cache: false,
    });
    const token = await vault.get('REPORT_TOKEN');
    const answer = await fetch(env.REPORT_URL, { headers: { Authorization: `Bearer ${token.reveal()}` } });
    return Response.json({ status: answer.status, version: token.version });
  },
};
