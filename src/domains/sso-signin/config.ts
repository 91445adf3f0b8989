// A connection as sign-in uses it: where its provider answers, and the client's secret. Invariant: the secret
// is decrypted for one request of the token endpoint, and never stored, logged or shown.
import { z } from 'zod';
import { fromUtf8 } from '../../crypto/bytes';
import { decrypt } from '../../crypto/envelope';
import type { SsoConnectionRow } from '../../db/schema';
import type { OrgKeys } from '../../keys/keyring';

const Oidc = z.object({
  issuer: z.string(),
  client_id: z.string(),
  scopes: z.array(z.string()),
  groups_claim: z.string(),
  /** In the words of the discovery document. */
  provider: z.object({
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    /** RFC 9207. */
    authorization_response_iss_parameter_supported: z.boolean().optional(),
    token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  }),
});
export type OidcConfig = z.infer<typeof Oidc>;

/** The configuration of a connection by OpenID Connect; null for another one. */
export function oidcOf({ kind, config }: SsoConnectionRow): OidcConfig | null {
  const parsed = kind === 'oidc' ? Oidc.safeParse(config) : null;
  return parsed?.success ? parsed.data : null;
}

/** The client's secret; null if it does not open. */
export function clientSecretOf(
  keys: OrgKeys,
  { org_id, id, client_secret_sealed }: SsoConnectionRow,
): string | null {
  const opened =
    client_secret_sealed && decrypt(keys.value, 'client secret', [org_id, id], client_secret_sealed);
  return opened ? fromUtf8(opened) : null;
}
