// XML from outside. Invariant: what cannot be read in exactly one way is refused before a library sees it, so
// document types, entities, comments, CDATA, processing instructions and repeated ids never reach a signature
// check; neither does what is so large that the check takes long.
import { DOMParser } from '@xmldom/xmldom';

export const SAML = 'urn:oasis:names:tc:SAML:2.0:assertion';
export const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
export const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata';
export const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';

/** What is used of the DOM. Its types are a browser's, which a Worker does not have. */
export interface Node {
  nodeType: number;
  nodeValue: string | null;
  namespaceURI: string | null;
  localName: string | null;
  parentNode: Node | null;
  firstChild: Node | null;
  nextSibling: Node | null;
  textContent: string | null;
}
export interface Element extends Node {
  attributes: ArrayLike<{ name: string; localName: string | null; value: string }>;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string | null;
}
export interface Document extends Node {
  documentElement: Element;
  getElementsByTagNameNS(namespace: string, name: string): ArrayLike<Element>;
}

/** Why a document is refused. It goes to the audit log, so it quotes nothing of the document. */
export class Refused extends Error {}

const MOST_DEPTH = 64;
/**
 * The most nodes and attributes. Whoever signs in sends a signed document, and checking its signature takes
 * quadratic time.
 */
const MOST_SIGNED = { nodes: 4000, attributes: 6000 };
const MOST_METADATA = { nodes: 20_000, attributes: 40_000 };
/** For each element with a declaration the parser copies all namespaces in scope. */
const MOST_NAMESPACES = 2500;
const TOO_LARGE = 'it is too large or nested too deeply';
const TEXT = 3;
const ELEMENT = 1;

/**
 * Parses a document. `comments`: whether it may contain comments and CDATA, which signed documents may not,
 * because libraries have read around them differently.
 */
export function parse(xml: string, { comments }: { comments: boolean }): Document {
  if (/<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)/i.test(xml)) throw new Refused('it has a document type');
  const body = xml.replace(/^\uFEFF?\s*<\?xml[^?<>]*\?>/, '');
  if (body.includes('<?')) throw new Refused('it has a processing instruction');
  if (!comments && /<!/.test(body)) throw new Refused('it has a comment or a CDATA section');
  const most = comments ? MOST_METADATA : MOST_SIGNED;
  // A parser takes quadratic time too, so that the text is counted before.
  if (body.split('<').length > 2 * most.nodes) throw new Refused(TOO_LARGE);
  if (body.split('xmlns').length > MOST_NAMESPACES) throw new Refused('it declares too many namespaces');
  const problem = (message: string) => {
    throw new Refused(`it is not well-formed XML: ${message.split('\n')[0]?.slice(0, 60)}`);
  };
  const quiet = () => problem('see the XML specification');
  const parser = new DOMParser({ errorHandler: { warning: quiet, error: quiet, fatalError: quiet } });
  const document = parser.parseFromString(body, 'text/xml') as unknown as Document | undefined;
  if (!document?.documentElement) throw new Refused('it has no element');
  walk(document, most);
  return document;
}

/** Bounds the tree, and refuses text outside the root and repeated ids. */
function walk(document: Document, most: typeof MOST_SIGNED): void {
  const ids = new Set<string>();
  let nodes = 0;
  let attributes = 0;
  const open: [Node, number][] = [[document, 0]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [node, depth] = next;
    if (++nodes > most.nodes || depth > MOST_DEPTH) throw new Refused(TOO_LARGE);
    if (node.nodeType === ELEMENT) {
      const element = node as Element;
      attributes += element.attributes.length;
      if (attributes > most.attributes) throw new Refused(TOO_LARGE);
      for (const { name, localName, value } of Array.from(element.attributes)) {
        if ((localName ?? name).toLowerCase() !== 'id') continue;
        if (ids.has(value)) throw new Refused('an id stands twice');
        ids.add(value);
      }
    } else if (node.nodeType === TEXT && depth === 1 && node.nodeValue?.trim())
      throw new Refused('it has text outside its root');
    for (let child = node.firstChild; child; child = child.nextSibling) open.push([child, depth + 1]);
  }
  if (childrenOf(document).length !== 1) throw new Refused('it has more than one root');
}

/** The child elements, or those of a namespace and name. */
export function childrenOf(parent: Node, namespace?: string, name?: string): Element[] {
  const found: Element[] = [];
  for (let child = parent.firstChild; child; child = child.nextSibling)
    if (child.nodeType === ELEMENT && (name === undefined || isNamed(child, namespace as string, name)))
      found.push(child as Element);
  return found;
}

export const isNamed = (node: Node, namespace: string, name: string): boolean =>
  node.namespaceURI === namespace && node.localName === name;

/** The only child element of a name; it must be there, once. */
export function only(parent: Node, namespace: string, name: string): Element {
  const [first, ...more] = childrenOf(parent, namespace, name);
  if (!first || more.length) throw new Refused(`it needs exactly one ${name} there`);
  return first;
}

/**
 * The text of an element that has no elements inside, with the white space that is part of it. White space
 * alone is no text: it would be the name of everybody who has none.
 */
export function exactTextOf(element: Element): string {
  if (childrenOf(element).length) throw new Refused(`${element.localName} must be a text`);
  const text = element.textContent ?? '';
  return text.trim() === '' ? '' : text;
}

/** The same without white space around it. */
export const textOf = (element: Element): string => exactTextOf(element).trim();

export const attributeOf = (element: Element, name: string): string | null =>
  element.hasAttribute(name) ? element.getAttribute(name) : null;

/** All elements of a local name, whatever their namespace. */
export const everywhere = (document: Document, name: string): Element[] =>
  Array.from(document.getElementsByTagNameNS('*', name));
