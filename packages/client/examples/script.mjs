// A script: reads a secret, uses it, and exits. VAULT_KEY is an API key or an agent token.
import { createVault } from '@secrets-vault/client';

const vault = createVault({
  url: process.env.VAULT_URL,
  org: process.env.VAULT_ORG,
  credential: process.env.VAULT_KEY,
  reason: 'nightly report',
});

const secret = await vault.get('REPORT_TOKEN');
const answer = await fetch(process.env.REPORT_URL, {
  headers: { Authorization: `Bearer ${secret.reveal()}` },
});
console.log(`${secret.name}, version ${secret.version}, is ${secret}: the report is ${answer.status}.`);
