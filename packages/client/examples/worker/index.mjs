// A Cloudflare Worker. A vault is made for each request: what one request opens, another may not use. VAULT_TOKEN is the token of an agent
// that reads this name alone; it is used as it is, so that a request makes one call.
import { createVault } from '@secrets-vault/client';

export default {
  async fetch(_request, env) {
    const vault = createVault({ url: env.VAULT_URL, org: env.VAULT_ORG, credential: env.VAULT_TOKEN, cache: false });
    const token = await vault.get('REPORT_TOKEN');
    const answer = await fetch(env.REPORT_URL, { headers: { Authorization: `Bearer ${token.reveal()}` } });
    return Response.json({ status: answer.status, version: token.version });
  },
};
