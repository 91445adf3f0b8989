// Which certificates of the provider made a signature. Invariant: this costs little, however large the
// document is. So a document that the provider did not sign is refused before anything takes longer.
import { SignedXml } from 'xml-crypto';
import { type Element, only, Refused, SIGNATURE, textOf } from './xml';

/** The most nodes of a `SignedInfo`. That of an identity provider has about ten. */
const MOST_INFO = 100;

/** How many nodes an element has inside; it stops counting past `most`. */
function sizeOf(element: Element, most: number): number {
  let size = 0;
  const open: Element['firstChild'][] = [element.firstChild];
  for (let node = open.pop(); node && size <= most; node = open.pop()) {
    size++;
    open.push(...[node.nextSibling, node.firstChild].filter((one) => one !== null));
  }
  return size;
}

/** The certificates whose key signed the `SignedInfo` of a signature. */
export function signersOf(signature: Element, certificates: readonly string[]): string[] {
  const info = only(signature, SIGNATURE, 'SignedInfo');
  if (sizeOf(info, MOST_INFO) > MOST_INFO) throw new Refused('its signature is too large');
  const algorithmOf = (name: string) => only(info, SIGNATURE, name).getAttribute('Algorithm') ?? '';
  const library = new SignedXml();
  const text = library.getCanonXml([algorithmOf('CanonicalizationMethod')] as never, info as never);
  const Algorithm = library.SignatureAlgorithms[algorithmOf('SignatureMethod') as never];
  if (!Algorithm) return [];
  const value = textOf(only(signature, SIGNATURE, 'SignatureValue'));
  return certificates.filter((pem) => new Algorithm().verifySignature(text, pem, value));
}
