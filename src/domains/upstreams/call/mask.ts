// Masks values in what an upstream answers: in each form in which an API may repeat what it was sent, by as
// many asterisks as the form has bytes. Invariants: length and chunks before the last pending byte stay as
// they are; a value is found across any borders of chunks; only what may begin a form is held back.

import { toBase64, utf8 } from '../../../crypto/bytes';

const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The characters of base64 that the bytes alone decide, where they begin at each of three positions. */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    const text = toBase64(padded).slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Percent-encoded: as URLs and as forms have it, with either case of digits, and each byte. */
function percentForms(value: string, bytes: Uint8Array): string[] {
  const each = hexOf(bytes).replace(/../g, '%$&');
  const component = encodeURIComponent(value);
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  return [
    each,
    each.toUpperCase(),
    ...[component, form, encodeURI(value)].flatMap((one) => [one, lower(one)]),
  ];
}
const lower = (text: string) => text.replace(/%../g, (found) => found.toLowerCase());

/** As JSON has it: with and without `\/`, and with escapes for what is not ASCII. */
function jsonForms(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1);
  const ascii = text.replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [text, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/')]);
}

/** Every form of a value, as bytes. Lone surrogates cannot be sent, so a value has none. */
export function formsOf(value: string): Uint8Array[] {
  const bytes = utf8(value);
  const hex = hexOf(bytes);
  const texts = [value, ...base64Forms(bytes), hex, hex.toUpperCase(), ...percentForms(value, bytes)];
  return [...new Set([...texts, ...jsonForms(value)])].map((text) => utf8(text));
}

interface Node {
  next: Map<number, Node>;
  fail: Node | null;
  depth: number;
  /** The length of the longest form that ends here. */
  ends: number;
}

/** The automaton of Aho and Corasick over these forms. */
function automaton(forms: readonly Uint8Array[]): Node {
  const root: Node = { next: new Map(), fail: null, depth: 0, ends: 0 };
  for (const form of forms) {
    let node = root;
    for (const byte of form) {
      const next = node.next.get(byte) ?? { next: new Map(), fail: root, depth: node.depth + 1, ends: 0 };
      node.next.set(byte, next);
      node = next;
    }
    node.ends = form.length;
  }
  const queue = [root];
  for (const node of queue)
    for (const [byte, next] of node.next) {
      next.fail = node === root ? root : step(node.fail ?? root, byte);
      next.ends ||= next.fail.ends;
      queue.push(next);
    }
  return root;
}

function step(from: Node, byte: number): Node {
  for (let node: Node | null = from; node; node = node.fail) {
    const next = node.next.get(byte);
    if (next) return next;
    if (node.fail === null) return node;
  }
  return from;
}

export interface Masker {
  /** What of the bytes so far can no longer be part of a form. */
  take(chunk: Uint8Array): Uint8Array;
  /** What was held back. */
  end(): Uint8Array;
}

const STAR = 0x2a;

/** Masks these values in a stream of bytes. */
export function masker(values: readonly string[]): Masker {
  let node = automaton(values.flatMap(formsOf));
  let held = new Uint8Array();
  let masked = new Uint8Array();
  return {
    take(chunk) {
      const raw = new Uint8Array(held.length + chunk.length);
      raw.set(held);
      raw.set(chunk, held.length);
      const out = raw.slice();
      out.set(masked);
      for (let at = held.length; at < raw.length; at += 1) {
        node = step(node, raw[at] as number);
        if (node.ends) out.fill(STAR, at + 1 - node.ends, at + 1);
      }
      // What may begin a form stays here until it is decided.
      const from = raw.length - node.depth;
      held = raw.slice(from);
      masked = out.slice(from);
      return out.subarray(0, from);
    },
    end() {
      const rest = masked;
      held = new Uint8Array();
      masked = new Uint8Array();
      return rest;
    },
  };
}
