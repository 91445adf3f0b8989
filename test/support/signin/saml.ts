// SAML for tests: a provider, and the SAML Worker with its contract but without XML. The Worker itself is
// tested in `packages/saml`.
import type { SamlAssertion, SamlCalls, SamlProvider } from '../../../src/env';

export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';

interface Response {
  issuer: string;
  key: string;
  audience: string;
  recipient: string;
  requestId: string;
  isExpired: boolean;
  assertion: SamlAssertion;
}

export const metadataOf = (entityId: string, more: Partial<SamlProvider> = {}): string =>
  JSON.stringify({ entityId, signInUrl: `${entityId}/sso`, certificates: ['key-1'], ...more });

/** What the SAML Worker answers, by texts in JSON. */
export const samlWorker: SamlCalls = {
  async metadata(xml) {
    try {
      return { ok: true, value: JSON.parse(xml) };
    } catch {
      return { ok: false, reason: 'it is not well-formed XML' };
    }
  },
  async request({ provider, ...asked }) {
    const url = new URL(provider.signInUrl);
    url.searchParams.set('asked', JSON.stringify(asked));
    return { ok: true, value: url.href };
  },
  async response(encoded, { provider, audience, recipient, requestId }) {
    const said = JSON.parse(atob(encoded)) as Response;
    const problems: [boolean, string][] = [
      [said.issuer !== provider.entityId, 'it was issued by another provider'],
      [said.requestId !== requestId, 'it answers another request, or none'],
      [said.recipient !== recipient, 'its recipient is another address'],
      [said.audience !== audience, 'it is meant for another audience'],
      [!provider.certificates.includes(said.key), 'its signature does not hold'],
      [said.isExpired, 'it has expired'],
    ];
    const reason = problems.find(([is]) => is)?.[1];
    return reason === undefined ? { ok: true, value: said.assertion } : { ok: false, reason };
  },
};

export type Asked = Omit<Parameters<SamlCalls['request']>[0], 'provider'>;
export const askedIn = (url: string): Asked => JSON.parse(new URL(url).searchParams.get('asked') as string);

/** The form that a provider has the browser post. */
export function formOf(
  { id, issuer: audience, recipient, relayState }: Asked,
  entityId: string,
  said: Partial<Omit<Response, 'assertion'>> & { assertion?: Partial<SamlAssertion> } = {},
) {
  const { assertion, ...more } = said;
  const response = {
    issuer: entityId,
    key: 'key-1',
    audience,
    recipient,
    requestId: id,
    isExpired: false,
    ...more,
    assertion: {
      subject: 'u-1',
      format: PERSISTENT,
      sessionIndex: 's-1',
      authenticatedAt: Date.now(),
      attributes: {},
      ...assertion,
    },
  };
  return new URLSearchParams({ SAMLResponse: btoa(JSON.stringify(response)), RelayState: relayState });
}
