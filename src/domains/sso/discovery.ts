// Discovery of an identity provider (OpenID Connect Discovery 1.0), in the Worker, through the egress guard.
// Invariants: a document counts only for the very issuer that was asked for; no redirect is followed, and
// every address in it obeys the rules for targets, so a provider can name no private one.
import { z } from 'zod';
import { checkTarget, type Egress, guardedFetch } from '../../delivery/egress';
import { invalid, type Refusal, refuse } from '../../errors';

const MOST = 1_048_576;
const MOST_LIST = 100;

/** What is stored of a provider, in the words of its document. */
export interface Provider {
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  userinfo_endpoint?: string;
  end_session_endpoint?: string;
  /** Whether its responses name the issuer (RFC 9207). */
  authorization_response_iss_parameter_supported?: boolean;
  token_endpoint_auth_methods_supported?: string[];
  id_token_signing_alg_values_supported?: string[];
}

const words = z.array(z.string().max(100)).max(MOST_LIST).optional().catch(undefined);
const Document = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
  userinfo_endpoint: z.string().optional().catch(undefined),
  end_session_endpoint: z.string().optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
  token_endpoint_auth_methods_supported: words,
  id_token_signing_alg_values_supported: words,
});

const REQUIRED = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const OPTIONAL = ['userinfo_endpoint', 'end_session_endpoint'] as const;

const wrong = (message: string): Refusal => invalid('issuer', message);

/** What is wrong with an issuer before it is asked. */
export function issuerProblem(issuer: string, egress: Egress): string | null {
  // safety: issuer-without-template
  if (/[{}]/.test(issuer)) return 'must name one tenant, not a template such as {tenantid}';
  const problem = checkTarget(issuer, egress);
  if (problem) return problem;
  return issuer.includes('?') ? 'must not have a query' : null;
}

/** The provider of an issuer, or why there is none. */
export async function discover(issuer: string, egress: Egress): Promise<Provider | Refusal> {
  const problem = issuerProblem(issuer, egress);
  if (problem) return wrong(problem);
  const got = await guardedFetch(egress, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    method: 'GET',
    headers: { Accept: 'application/json' },
    read: MOST + 1,
  });
  if ('unreachable' in got)
    return got.unreachable === 'timeout' ? refuse('TARGET_TIMEOUT') : refuse('TARGET_UNREACHABLE');
  // Redirects are not followed.
  if (got.status !== 200)
    return refuse('TARGET_UNREACHABLE', {
      message: `The discovery document of the issuer cannot be read: the answer has status ${got.status}.`,
    });
  if (got.bytes.length > MOST) return wrong('its discovery document is larger than 1 MiB');
  return providerIn(got.text, issuer, egress);
}

function providerIn(text: string, issuer: string, egress: Egress): Provider | Refusal {
  const read = Document.safeParse(parsed(text));
  if (!read.success)
    return wrong(
      'its discovery document is not JSON with issuer, authorization_endpoint, token_endpoint and jwks_uri',
    );
  const { issuer: named, ...provider } = read.data;
  // safety: connection-discovers-its-issuer
  if (named !== issuer)
    return wrong(
      'its discovery document names another issuer. Use the issuer exactly as the document has it',
    );
  // safety: discovered-endpoints-guarded
  const refused = REQUIRED.find((name) => !isTarget(provider[name], egress));
  if (refused)
    return wrong(
      `its discovery document has a ${refused} that is not allowed: it must be https on a public host`,
    );
  for (const name of OPTIONAL)
    if (provider[name] !== undefined && !isTarget(provider[name], egress)) delete provider[name];
  return JSON.parse(JSON.stringify(provider)) as Provider;
}

const isTarget = (url: string | undefined, egress: Egress) =>
  url !== undefined && !/[{}]/.test(url) && checkTarget(url, egress) === null;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
