// The calls of the SAML Worker, as types: the vault knows nothing else of this package.

/** An identity provider, as its metadata describes it. */
export interface SamlProvider {
  /** The entity id of the identity provider, which it puts into `Issuer`. */
  entityId: string;
  /** Where the browser is sent with an AuthnRequest (HTTP-Redirect). */
  signInUrl: string;
  /** PEM, one to ten. */
  certificates: string[];
  /** The formats of NameID that it supports, as far as it says. */
  nameIdFormats?: string[];
}

/** A sign-in that begins. */
export interface SamlRequest {
  provider: SamlProvider;
  /** The id of the request: an XML name, such as `_` and hex digits. */
  id: string;
  /** Our entity id. */
  issuer: string;
  /** Where the response goes (HTTP-POST). */
  recipient: string;
  relayState: string;
  /** Whether the person has to authenticate anew. */
  force: boolean;
  /** Whether the NameID has to be persistent. */
  persistent: boolean;
}

/** What is expected of a response. */
export interface SamlExpected {
  provider: SamlProvider;
  /** Our entity id, which must be the audience. */
  audience: string;
  /** Our URL for responses, which must be the recipient. */
  recipient: string;
  /** The id of the AuthnRequest. Responses to none, or to another one, are refused. */
  requestId: string;
}

/** What a provider asserts of a person. */
export interface SamlAssertion {
  /** The id of the assertion. */
  id: string;
  subject: string;
  /** The format of the NameID. */
  format: string;
  sessionIndex: string | null;
  /** When the person authenticated, in milliseconds. */
  authenticatedAt: number;
  /** Until when the assertion is valid, in milliseconds, without skew. */
  validUntil: number;
  attributes: Record<string, string[]>;
}

/** What was read, or why it was refused. The reason quotes nothing of the document. */
export type Read<T> = { ok: true; value: T } | { ok: false; reason: string };

export interface SamlCalls {
  /** The identity provider that metadata describes. */
  metadata(xml: string): Promise<Read<SamlProvider>>;
  /** Where to send the browser for a sign-in. */
  request(asked: SamlRequest): Promise<Read<string>>;
  /** What a response asserts. */
  response(encoded: string, expected: SamlExpected): Promise<Read<SamlAssertion>>;
}
