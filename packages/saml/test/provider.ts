// An identity provider for tests. It signs with xml-crypto, and can be told to make responses that no honest
// provider makes.
import { randomBytes } from 'node:crypto';
import { generate } from 'selfsigned';
import { SignedXml } from 'xml-crypto';

export const AUDIENCE = 'https://vault.example/sso/saml/sso_1';
export const RECIPIENT = 'https://vault.example/sso/acs';
export const SAML_NS = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';
const PROTOCOL_NS = 'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"';
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';

const at = (offset: number) => new Date(Date.now() + offset).toISOString();
export const freshId = () => `_${randomBytes(16).toString('hex')}`;

/** What a response says; each part can be replaced. */
export interface Said {
  requestId?: string | null;
  confirmedFor?: string | null;
  recipient?: string;
  destination?: string;
  audience?: string | null;
  issuer?: string;
  method?: string;
  notBefore?: number;
  notOnOrAfter?: number;
  confirmedUntil?: number;
  nameId?: string;
  format?: string;
  status?: string;
  attributes?: Record<string, string[]>;
  statements?: string;
}

export interface Signing {
  signs?: 'assertion' | 'response' | 'both' | 'nothing';
  algorithm?: string;
  digest?: string;
  transforms?: string[];
  canonicalization?: string;
}

export async function newProvider(entityId = 'https://idp.example/metadata', bits = 2048) {
  const { private: privateKey, cert: pem } = await generate([{ name: 'commonName', value: 'idp.example' }], {
    keySize: bits,
    algorithm: 'sha256',
  });
  const certificate = pem.replace(/-----[^-]*-----|\s/g, '');

  const assertionOf = (requestId: string, said: Said) => {
    const confirmedFor = said.confirmedFor === undefined ? requestId : said.confirmedFor;
    const audience = said.audience === undefined ? AUDIENCE : said.audience;
    const attributes = Object.entries(
      said.attributes ?? { email: ['ann@example.com'], groups: ['ops', 'dev'] },
    );
    return `<saml:Assertion ${SAML_NS} ID="${freshId()}" Version="2.0" IssueInstant="${at(0)}"><saml:Issuer>${said.issuer ?? entityId}</saml:Issuer><saml:Subject><saml:NameID Format="${said.format ?? 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'}">${said.nameId ?? 'u-1'}</saml:NameID><saml:SubjectConfirmation Method="${said.method ?? 'urn:oasis:names:tc:SAML:2.0:cm:bearer'}"><saml:SubjectConfirmationData ${confirmedFor === null ? '' : `InResponseTo="${confirmedFor}" `}Recipient="${said.recipient ?? RECIPIENT}" NotOnOrAfter="${at(said.confirmedUntil ?? 300_000)}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${at(said.notBefore ?? -60_000)}" NotOnOrAfter="${at(said.notOnOrAfter ?? 300_000)}">${audience === null ? '' : `<saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction>`}</saml:Conditions><saml:AuthnStatement AuthnInstant="${at(-1000)}" SessionIndex="s-1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${said.statements ?? ''}<saml:AttributeStatement>${attributes
      .map(
        ([name, values]) =>
          `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
      )
      .join('')}</saml:AttributeStatement></saml:Assertion>`;
  };

  /** Signs the element that an XPath names. */
  const sign = (xml: string, xpath: string, signing: Signing = {}) => {
    const signature = new SignedXml({
      privateKey,
      publicCert: pem,
      signatureAlgorithm: signing.algorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
      canonicalizationAlgorithm: (signing.canonicalization ?? EXCLUSIVE) as typeof EXCLUSIVE,
    });
    signature.addReference({
      xpath,
      digestAlgorithm: signing.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
      transforms: signing.transforms ?? [ENVELOPED, EXCLUSIVE],
    });
    const reference = `${xpath}/*[local-name(.)='Issuer']`;
    signature.computeSignature(xml, { location: { reference, action: 'after' } });
    return signature.getSignedXml();
  };

  /** A response, as XML. */
  const respond = (requestId: string, said: Said = {}, signing: Signing = {}) => {
    const { signs = 'assertion' } = signing;
    const answered = said.requestId === undefined ? requestId : said.requestId;
    let xml = `<samlp:Response ${PROTOCOL_NS} ID="${freshId()}" Version="2.0" IssueInstant="${at(0)}" Destination="${said.destination ?? RECIPIENT}"${answered === null ? '' : ` InResponseTo="${answered}"`}><saml:Issuer ${SAML_NS}>${said.issuer ?? entityId}</saml:Issuer><samlp:Status><samlp:StatusCode Value="${said.status ?? 'urn:oasis:names:tc:SAML:2.0:status:Success'}"/></samlp:Status>${assertionOf(requestId, said)}</samlp:Response>`;
    if (signs === 'assertion' || signs === 'both')
      xml = sign(xml, "/*[local-name(.)='Response']/*[local-name(.)='Assertion']", signing);
    if (signs === 'response' || signs === 'both') xml = sign(xml, "/*[local-name(.)='Response']", signing);
    return xml;
  };

  const metadata = `<?xml version="1.0"?><!-- of a test --><md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.example/post"/><md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso?tenant=1"/></md:IDPSSODescriptor></md:EntityDescriptor>`;

  return { entityId, metadata, pem, certificate, respond, sign, assertionOf };
}

export type Provider = Awaited<ReturnType<typeof newProvider>>;
export const encoded = (xml: string) => Buffer.from(xml).toString('base64');
