// What programs in JavaScript do with node-vault, unchanged. Prints what it saw as JSON.
import { createRequire } from 'node:module';

const vault = createRequire(process.env.NODE_VAULT ?? '')('node-vault')({
  endpoint: process.env.VAULT_ADDR,
  noCustomHTTPVerbs: true,
});
const seen = { health: (await vault.health()).initialized, sealed: (await vault.status()).sealed };
const { auth } = await vault.approleLogin({ role_id: process.env.ROLE_ID, secret_id: process.env.SECRET_ID });
vault.token = auth.client_token;
seen.lease = auth.lease_duration;
seen.type = (await vault.tokenLookupSelf()).data.type;
const at = 'production/data/js/db';
const data = { user: 'app', password: 'one' };
seen.version = (await vault.write(at, { data, options: { cas: 0 } })).data.version;
const refused = await vault.write(at, { data, options: { cas: 0 } }).catch((error) => error);
seen.cas = [refused.response.statusCode, refused.message];
seen.read = (await vault.read(at)).data.data;
seen.keys = (await vault.list('production/metadata/js')).data.keys;
await vault.delete(at);
seen.deleted = (await vault.read(at).catch((error) => error)).response.statusCode;
await vault.delete('production/metadata/js/db');
await vault.tokenRevokeSelf();
seen.ended = (await vault.read(at).catch((error) => error)).response.statusCode;
console.log(JSON.stringify(seen));
