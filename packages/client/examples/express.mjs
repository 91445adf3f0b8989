// Express: every request uses the latest key. Reads come from the cache, and a rotation takes effect
// immediately, without a restart.
import { createVault, VaultError } from '@secrets-vault/client';
import express from 'express';

const vault = createVault({
  url: process.env.VAULT_URL,
  org: process.env.VAULT_ORG,
  credential: process.env.VAULT_KEY,
  cache: 'watch', // the cache is current while the event stream is open
  staleFor: 10 * 60_000, // the last known key is used for up to ten minutes if the vault is unreachable
});

const app = express();

app.get('/charge', async (_request, response) => {
  const key = await vault.get('PAYMENT_KEY');
  const answer = await fetch(process.env.PAYMENT_URL, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key.reveal()}` },
  });
  response.status(answer.ok ? 200 : 502).json({ charged: answer.ok, version: key.version });
});

app.use((error, _request, response, _next) => {
  if (!(error instanceof VaultError)) return response.status(500).end();
  console.error(error.toJSON()); // code, status, docs and request id; never a value
  response.status(503).json({ error: error.code });
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1', () =>
  console.log(`listening on ${server.address().port}`),
);
process.once('SIGTERM', () => {
  vault.close();
  server.close();
});
