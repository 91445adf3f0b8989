// Responses of an identity provider (SAML 2.0 Core and Web Browser SSO Profile, section 4.1.4). Invariant:
// everything that is returned comes from the one assertion that the provider signed, in answer to the one
// request that is named.
import { SAML as Library, ValidateInResponseTo } from '@node-saml/node-saml';
import { checkSignature } from './algorithms';
import type { SamlAssertion, SamlExpected } from './calls';
import { signersOf } from './signer';
import {
  attributeOf,
  childrenOf,
  type Document,
  type Element,
  everywhere,
  exactTextOf,
  isNamed,
  only,
  PROTOCOL,
  parse,
  Refused,
  SAML,
  SIGNATURE,
  textOf,
} from './xml';

const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';
const MOST_BYTES = 262_144;
const MOST_ATTRIBUTES = 200;
const MOST_VALUES = 1000;
/** How far the clocks of the provider and of this service may differ, in milliseconds. */
export const SKEW = 300_000;

/** Checks a response, as the form field `SAMLResponse` has it. Throws `Refused`. */
export async function readResponse(encoded: string, expected: SamlExpected): Promise<SamlAssertion> {
  const xml = decoded(encoded);
  const document = parse(xml, { comments: false });
  checkForm(document, expected);
  const certificates = signersIn(document, expected);
  const signed = await signedAssertion(encoded, expected, certificates);
  return assertionOf(parse(signed, { comments: false }), expected);
}

/** The text of base64 that is written in one way only. */
function decoded(encoded: string): string {
  const text = encoded.replace(/[\r\n]/g, '');
  if (text.length > MOST_BYTES * 1.4) throw new Refused('it is larger than 256 KiB');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4) throw new Refused('it is not base64');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64'));
  } catch {
    throw new Refused('it is not UTF-8');
  }
}

/** What the whole document must look like, before any signature is checked. */
function checkForm(document: Document, { provider, recipient, requestId }: SamlExpected): void {
  const response = document.documentElement;
  if (!isNamed(response, PROTOCOL, 'Response')) throw new Refused('it is not a Response');
  if (everywhere(document, 'Assertion').length !== 1 || everywhere(document, 'EncryptedAssertion').length)
    throw new Refused('it must have exactly one assertion, which is not encrypted');
  const assertion = only(response, SAML, 'Assertion');
  if (attributeOf(response, 'InResponseTo') !== requestId)
    throw new Refused('it answers another request, or none');
  if ((attributeOf(response, 'Destination') ?? recipient) !== recipient)
    throw new Refused('its destination is another address');
  const status = only(only(response, PROTOCOL, 'Status'), PROTOCOL, 'StatusCode');
  if (attributeOf(status, 'Value') !== SUCCESS) throw new Refused('the provider refused the sign-in');
  for (const issuer of [...childrenOf(response, SAML, 'Issuer'), only(assertion, SAML, 'Issuer')])
    if (textOf(issuer) !== provider.entityId) throw new Refused('it was issued by another provider');
  for (const signature of everywhere(document, 'Signature')) {
    const parent = signature.parentNode as Element;
    if (signature.namespaceURI !== SIGNATURE || (parent !== response && parent !== assertion))
      throw new Refused('a signature stands elsewhere');
    checkSignature(signature, attributeOf(parent, 'ID') ?? '');
  }
  only(assertion, SIGNATURE, 'Signature');
}

/** The certificates that made the signatures. For each of them, the library takes quadratic time. */
function signersIn(document: Document, { provider: { certificates } }: SamlExpected): string[] {
  const assertion = only(document.documentElement, SAML, 'Assertion');
  const signers = signersOf(only(assertion, SIGNATURE, 'Signature'), certificates);
  if (!signers.length) throw new Refused('no certificate of the provider made its signature');
  const whole = childrenOf(document.documentElement, SIGNATURE, 'Signature');
  return [...new Set([...signers, ...whole.flatMap((one) => signersOf(one, certificates))])];
}

/** The assertion that the provider signed, as canonical XML. */
async function signedAssertion(
  encoded: string,
  expected: SamlExpected,
  certificates: string[],
): Promise<string> {
  const { provider, audience, recipient, requestId } = expected;
  const once = {
    saveAsync: async () => null,
    getAsync: async (id: string) => (id === requestId ? new Date().toISOString() : null),
    removeAsync: async () => null,
  };
  const library = new Library({
    idpCert: certificates,
    idpIssuer: provider.entityId,
    issuer: audience,
    audience,
    callbackUrl: recipient,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    validateInResponseTo: ValidateInResponseTo.always,
    cacheProvider: once,
    acceptedClockSkewMs: SKEW,
  });
  try {
    const { profile } = await library.validatePostResponseAsync({ SAMLResponse: encoded });
    const xml = profile?.getAssertionXml?.();
    if (xml) return xml;
  } catch {}
  throw new Refused('its signature or its conditions do not hold');
}

/** Reads the signed assertion, and checks what it says of itself. */
function assertionOf(
  document: Document,
  { provider, audience, recipient, requestId }: SamlExpected,
): SamlAssertion {
  const assertion = document.documentElement;
  if (!isNamed(assertion, SAML, 'Assertion') || textOf(only(assertion, SAML, 'Issuer')) !== provider.entityId)
    throw new Refused('what is signed is not an assertion of this provider');
  const subject = only(assertion, SAML, 'Subject');
  const nameId = only(subject, SAML, 'NameID');
  const validUntil = Math.min(
    confirmedUntil(subject, recipient, requestId),
    checkConditions(only(assertion, SAML, 'Conditions'), audience),
  );
  const authentication = only(assertion, SAML, 'AuthnStatement');
  const id = attributeOf(assertion, 'ID');
  // Somebody could choose the name of another person with a space behind it.
  const value = exactTextOf(nameId);
  if (!id || !value || value.length > 256) throw new Refused('it names nobody');
  return {
    id,
    subject: value,
    format: attributeOf(nameId, 'Format') ?? UNSPECIFIED,
    sessionIndex: attributeOf(authentication, 'SessionIndex'),
    authenticatedAt: timeOf(authentication, 'AuthnInstant') as number,
    validUntil,
    attributes: attributesOf(assertion),
  };
}

/** Until when the bearer may present the assertion here. */
function confirmedUntil(subject: Element, recipient: string, requestId: string): number {
  const confirmation = only(subject, SAML, 'SubjectConfirmation');
  if (attributeOf(confirmation, 'Method') !== BEARER) throw new Refused('it is not for the bearer');
  const data = only(confirmation, SAML, 'SubjectConfirmationData');
  if (attributeOf(data, 'Recipient') !== recipient) throw new Refused('its recipient is another address');
  if (attributeOf(data, 'InResponseTo') !== requestId)
    throw new Refused('it answers another request, or none');
  return period(data, true);
}

/** Until when the conditions hold. */
function checkConditions(conditions: Element, audience: string): number {
  const restrictions = childrenOf(conditions, SAML, 'AudienceRestriction');
  // All restrictions must name us (Core, 2.5.1.4).
  const isForUs = restrictions.every((one) =>
    childrenOf(one, SAML, 'Audience').map(textOf).includes(audience),
  );
  if (!restrictions.length || !isForUs) throw new Refused('it is meant for another audience');
  return period(conditions, false);
}

/** The end of a period that must be now, give or take the skew. */
function period(element: Element, needsEnd: boolean): number {
  const from = timeOf(element, 'NotBefore', true);
  const until = timeOf(element, 'NotOnOrAfter', !needsEnd);
  const now = Date.now();
  if ((from !== null && now < from - SKEW) || (until !== null && now >= until + SKEW))
    throw new Refused('it has expired or is not valid yet, or the clocks differ by more than five minutes');
  return until ?? Number.POSITIVE_INFINITY;
}

function timeOf(element: Element, name: string, isOptional = false): number | null {
  const text = attributeOf(element, name);
  if (text === null && isOptional) return null;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text ?? '')
    ? Date.parse(text as string)
    : Number.NaN;
  if (Number.isNaN(time)) throw new Refused(`${element.localName} has no valid ${name}`);
  return time;
}

/** The attributes by name, each with its values; one that stands twice has the values of both. */
function attributesOf(assertion: Element): Record<string, string[]> {
  const found = new Map<string, string[]>();
  let values = 0;
  for (const statement of childrenOf(assertion, SAML, 'AttributeStatement'))
    for (const attribute of childrenOf(statement, SAML, 'Attribute')) {
      const name = attributeOf(attribute, 'Name') ?? '';
      const texts = childrenOf(attribute, SAML, 'AttributeValue').map(exactTextOf);
      found.set(name, [...(found.get(name) ?? []), ...texts]);
      values += texts.length;
    }
  if (found.size > MOST_ATTRIBUTES || values > MOST_VALUES) throw new Refused('it has too many attributes');
  return Object.fromEntries(found);
}
