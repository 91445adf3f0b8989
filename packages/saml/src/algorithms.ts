// Which algorithms a signature may use: no SHA-1, no HMAC, and no transform that selects or rewrites.
import { attributeOf, childrenOf, type Element, only, Refused, SIGNATURE } from './xml';

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = `${SIGNATURE}enveloped-signature`;
const signatures = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const digests = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'];

const algorithmOf = (element: Element): string => attributeOf(element, 'Algorithm') ?? '';

/** Refuses a signature that is not of the one simple form that identity providers make. */
export function checkSignature(signature: Element, id: string): void {
  const info = only(signature, SIGNATURE, 'SignedInfo');
  only(signature, SIGNATURE, 'SignatureValue');
  if (algorithmOf(only(info, SIGNATURE, 'CanonicalizationMethod')) !== EXCLUSIVE)
    throw new Refused('its signature uses another canonicalization than exclusive XML canonicalization');
  if (!signatures.includes(algorithmOf(only(info, SIGNATURE, 'SignatureMethod'))))
    throw new Refused('its signature uses an algorithm that is not accepted, such as SHA-1');
  const reference = only(info, SIGNATURE, 'Reference');
  if (attributeOf(reference, 'URI') !== `#${id}`) throw new Refused('its signature covers another element');
  if (!digests.includes(algorithmOf(only(reference, SIGNATURE, 'DigestMethod'))))
    throw new Refused('its signature uses a digest that is not accepted, such as SHA-1');
  only(reference, SIGNATURE, 'DigestValue');
  const transforms = childrenOf(only(reference, SIGNATURE, 'Transforms'));
  const names = transforms.map(algorithmOf);
  if (names.length !== 2 || names[0] !== ENVELOPED || names[1] !== EXCLUSIVE)
    throw new Refused('its signature uses transforms that are not accepted');
}
