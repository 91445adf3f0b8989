// Masking: no output leaves this process with a value that it has used. Invariants: values are searched for
// in whole outputs, before they are cut; a value is masked from when it is read until the process exits;
// parts of a value are not masked, because an agent that controls outputs could then find a value character
// by character.
import { TOKENS } from '../tokens.ts';
import { decoded, digits, dump, plainView, readings, unfolded, unnumbered, type View } from './views.ts';

/** Shorter values are not masked: they would match large parts of every output. */
export const SHORTEST = 4;
/** The maximum number of values that one process can mask. */
const MOST = 500;
/** The minimum length at which a line of a multi-line value is also masked on its own. */
const SHORTEST_LINE = 16;
/** How many times longer two encodings make a value: escapes such as \U00000041, in hexadecimal. */
const LARGEST = 20;

interface Part {
  from: number;
  to: number;
  label: string;
}

interface Masked {
  label: string;
  /** Bytes of UTF-8, one character each, in lower case: servers change the case of names and codes. */
  plain: string[];
  /** Without white space, in lower case. */
  bare: string[];
  base64: string[];
  hex: string;
}

export class Masker {
  private readonly values = new Map<string, Masked>();
  private longest = 0;

  /** Masks a value from now on. @returns false if the maximum number is reached */
  add(name: string, value: string): boolean {
    if (this.values.has(value)) return true;
    if (this.values.size >= MOST) return false;
    const bytes = Buffer.from(value);
    const plain = bytes.toString('latin1');
    const trimmed = plain.trim();
    const lines = plain.split(/\r?\n/).filter((line) => line.trim().length >= SHORTEST_LINE);
    const forms = [
      ...new Set([
        plain,
        trimmed,
        ...(lines.length > 1 || lines[0] !== plain ? lines.map((line) => line.trim()) : []),
      ]),
    ];
    // Letters beyond ASCII have other bytes in the other case, and in ISO 8859-1.
    const cases = forms.flatMap((form) => [
      form,
      latin1(utf8(form).toUpperCase()),
      latin1(utf8(form).toLowerCase()),
    ]);
    if (isLatin1(value)) cases.push(value);
    const readable = cases.filter((form) => form.length >= SHORTEST);
    this.values.set(value, {
      label: `[svc:${name}]`,
      // By bytes, and by characters as `rev` does.
      plain: lowered(readable.flatMap((form) => [form, backwards(form), latin1(backwards(utf8(form)))])),
      bare: lowered(readable.map((form) => form.replace(/[\s\0]+/g, ''))).filter(
        (form) => form.length >= SHORTEST,
      ),
      base64: base64Of(Buffer.from(trimmed, 'latin1')),
      hex: Buffer.from(trimmed, 'latin1').toString('hex'),
    });
    this.longest = Math.max(this.longest, bytes.length);
    return true;
  }

  /** How many characters at the end of a cut output may be the beginning of a value. */
  get margin(): number {
    return this.longest * LARGEST + 128;
  }

  /**
   * An output with its values masked.
   * @param isCut whether the output was cut, so that a value may begin at its end
   */
  mask(output: Buffer | string, isCut = false): string {
    const text = Buffer.from(output).toString('latin1');
    const kept = isCut ? Math.max(0, text.length - this.margin) : text.length;
    const merged: Part[] = [];
    for (const part of this.partsOf(text).sort((a, b) => a.from - b.from || b.to - a.to)) {
      const last = merged.at(-1);
      if (last && part.from < last.to) last.to = Math.max(last.to, part.to);
      else merged.push({ ...part });
    }
    const pieces: string[] = [];
    let done = 0;
    for (const { from, to, label } of merged) {
      if (from >= kept) break;
      pieces.push(utf8(text.slice(done, from)), label);
      done = to;
    }
    pieces.push(utf8(text.slice(done, Math.max(done, kept))));
    return pieces.join('');
  }

  private partsOf(text: string): Part[] {
    const parts: Part[] = [];
    const own = plainView(text);
    for (const match of text.matchAll(TOKENS))
      parts.push({ from: match.index, to: match.index + match[0].length, label: '[svc credential]' });
    if (this.values.size === 0) return parts;
    const views = readings(text);
    for (const view of views) {
      const flat = unfolded(view);
      const [lower, lowerFlat] = [view, flat].map(inLowerCase) as [View, View];
      const letters = decoded(flat, /[-_]/g, (char) => (char === '-' ? '+' : '/')) ?? flat;
      const hex = digits(view);
      for (const value of this.values.values()) {
        find(parts, lower, value.plain, value.label);
        if (flat !== view) find(parts, lowerFlat, value.bare, value.label);
        findBase64(parts, letters, value.base64, value.label);
        find(parts, hex, [value.hex], value.label);
      }
    }
    const dumped = dump(own);
    if (dumped) for (const value of this.values.values()) find(parts, dumped, [value.hex], value.label);
    const bare = unnumbered(own);
    const lowerBare = bare && inLowerCase(bare);
    if (lowerBare)
      for (const value of this.values.values())
        find(parts, lowerBare, [...value.bare, value.hex], value.label);
    return parts;
  }
}

function find(parts: Part[], { text, from, to }: View, patterns: string[], label: string): void {
  for (const pattern of patterns)
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + pattern.length))
      parts.push({ from: from[at] as number, to: to[at + pattern.length - 1] as number, label });
}

/**
 * Finds values in base64. The adjacent characters contain bits of the value too, if they belong to the same
 * text.
 */
function findBase64(parts: Part[], { text, from, to }: View, patterns: string[], label: string): void {
  const belongs = (at: number) => /[A-Za-z0-9+/]/.test(text[at] ?? '') && to[at] === from[at + 1];
  for (const pattern of patterns)
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + pattern.length)) {
      const last = at + pattern.length - 1;
      const next =
        to[last] === from[last + 1] && /[A-Za-z0-9+/=]/.test(text[last + 1] ?? '') ? last + 1 : last;
      parts.push({
        from: from[at > 0 && belongs(at - 1) ? at - 1 : at] as number,
        to: to[next] as number,
        label,
      });
    }
}

/**
 * The base64 text that always appears when these bytes are encoded, for each of the three alignments. In the
 * alphabet with + and /.
 */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}

/** The same view with small letters. One character stays one: each stands for a byte. */
const inLowerCase = (view: View): View => ({ ...view, text: view.text.toLowerCase() });
const lowered = (texts: string[]) => [...new Set(texts.map((text) => text.toLowerCase()))];
const isLatin1 = (text: string) => /^[\0-\xff]*$/.test(text);
const backwards = (text: string) => [...text].reverse().join('');
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const utf8 = (text: string) => Buffer.from(text, 'latin1').toString();
