// The metadata of an identity provider (SAML 2.0 Metadata, section 2.4): its id, where sign-ins begin, and
// the certificates of its signatures. It is not signed, so it is trusted as far as whoever configured it.
import { X509Certificate } from 'node:crypto';
import type { SamlProvider } from './calls';
import { attributeOf, childrenOf, METADATA, only, parse, Refused, SIGNATURE, textOf } from './xml';

const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const MOST_CERTIFICATES = 10;
const MOST_FORMATS = 20;

/** Reads metadata of at most 256 KiB that describes one identity provider. Throws `Refused`. */
export function readMetadata(xml: string): SamlProvider {
  const entity = parse(xml, { comments: true }).documentElement;
  if (entity?.namespaceURI !== METADATA || entity.localName !== 'EntityDescriptor')
    throw new Refused('it is not the metadata of one identity provider (EntityDescriptor)');
  const entityId = attributeOf(entity, 'entityID');
  if (!entityId || entityId.length > 1024) throw new Refused('it has no entityID');
  const descriptor = only(entity, METADATA, 'IDPSSODescriptor');
  const services = childrenOf(descriptor, METADATA, 'SingleSignOnService');
  const service = services.find((one) => attributeOf(one, 'Binding') === REDIRECT);
  const signInUrl = (service && attributeOf(service, 'Location')) ?? '';
  if (!URL.canParse(signInUrl)) throw new Refused('it has no SingleSignOnService by HTTP-Redirect');
  const keys = childrenOf(descriptor, METADATA, 'KeyDescriptor').filter((key) =>
    [null, 'signing'].includes(attributeOf(key, 'use')),
  );
  const certificates = [...new Set(keys.flatMap((key) => certificatesOf(only(key, SIGNATURE, 'KeyInfo'))))];
  if (!certificates.length || certificates.length > MOST_CERTIFICATES)
    throw new Refused(`it needs one to ${MOST_CERTIFICATES} certificates for signatures`);
  const formats = childrenOf(descriptor, METADATA, 'NameIDFormat').map((one) => textOf(one).trim());
  const nameIdFormats = [...new Set(formats)].filter(({ length }) => length <= 256).slice(0, MOST_FORMATS);
  return { entityId, signInUrl, certificates, nameIdFormats };
}

const certificatesOf = (info: Parameters<typeof childrenOf>[0]): string[] =>
  childrenOf(info, SIGNATURE, 'X509Data')
    .flatMap((data) => childrenOf(data, SIGNATURE, 'X509Certificate'))
    .map((element) => pemOf(textOf(element)));

/** A certificate as PEM. Its key must be RSA with 2,048 bits or more. */
function pemOf(text: string): string {
  const body = text.replace(/\s/g, '');
  const pem = `-----BEGIN CERTIFICATE-----\n${body.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`;
  let key: X509Certificate['publicKey'];
  try {
    key = new X509Certificate(pem).publicKey;
  } catch {
    throw new Refused('a certificate cannot be read');
  }
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048)
    throw new Refused('a certificate has a key other than RSA with 2,048 bits or more');
  return pem;
}
