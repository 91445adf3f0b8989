// Domains and connections to identity providers for tests.
import { newId } from '../../../src/db/ids';
import type { SsoConnectionRow } from '../../../src/db/schema';
import { add } from '../people';
import type { Caller } from '../world';

let domains = 0;

/** A domain that is pending. */
export async function newDomain(o: Caller, domain = `org${++domains}.example.com`) {
  const { json, status, text } = await o.post('/domains', { domain });
  if (status !== 201) throw new Error(`no domain: ${status} ${text}`);
  return json as { id: string; domain: string };
}

/** A connection as if an owner had made it; answers its id. */
export async function addConnection(o: Caller, fields: Partial<SsoConnectionRow> = {}): Promise<string> {
  const issuer = 'https://login.example.com';
  const provider = {
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  };
  const [id] = await add(o, 'sso_connection', [
    {
      id: newId('sso'),
      kind: 'oidc',
      name: 'Provider',
      config: { issuer, client_id: 'svc', scopes: ['openid', 'email'], groups_claim: 'groups', provider },
      client_secret_sealed: '',
      domains: [],
      jit: 0,
      enforce: 0,
      default_role: 'viewer',
      default_environments: null,
      role_mappings: [],
      team_mappings: [],
      changed_by: null,
      created_by: '',
      created_at: Date.now(),
      updated_at: Date.now(),
      ...fields,
    },
  ]);
  return id as string;
}
