// Every format of the table: a made example is found at its place, a near miss is not. Examples are made at
// run time, so that no file holds one.
import { describe, expect, it } from 'vitest';
import { base62, crc32 } from '../../../src/domains/scans/engine/checks';
import { find } from '../../../src/domains/scans/engine/find';
import { type Format, formats, others, ruleNames } from '../../../src/domains/scans/engine/formats';

/** Numbers below `most`, the same in each run. */
function numbers(seed: number) {
  let state = seed;
  return (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** The characters of a class such as `[A-Z2-7]`. */
function charsOf(source: string): string {
  let chars = '';
  for (let at = 0; at < source.length; at++) {
    const first = source.charCodeAt(at);
    const last = source.charCodeAt(at + 2);
    if (source[at + 1] === '-' && at + 2 < source.length) {
      for (let code = first; code <= last; code++) chars += String.fromCharCode(code);
      at += 2;
    } else chars += source[at];
  }
  return chars;
}

/** Where a group that begins here ends. */
function closing(source: string, at: number): number {
  let depth = 0;
  for (let end = at; end < source.length; end++) {
    if (source[end] === '[') end = source.indexOf(']', end);
    if (source[end] === '(') depth++;
    if (source[end] === ')' && --depth === 0) return end;
  }
  throw new Error(`no end: ${source}`);
}

/** The alternatives of a group. */
function alternatives(source: string): string[] {
  let depth = 0;
  const parts = [''];
  for (const char of source) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === '|' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** The shortest text of a pattern: the part of regular expressions that the table uses. */
function make(source: string, random: (most: number) => number): string {
  let text = '';
  for (let at = 0; at < source.length; ) {
    const isClass = source[at] === '[';
    const isGroup = source[at] === '(';
    const end = isClass ? source.indexOf(']', at) : isGroup ? closing(source, at) : at;
    const least = /^\{(\d+)(?:,\d+)?\}/.exec(source.slice(end + 1));
    const inner = source.slice(at + 1, end);
    for (let n = 0; n < Number(least?.[1] ?? 1); n++) {
      const chars = isClass ? charsOf(inner) : '';
      if (isClass) text += chars[random(chars.length)];
      else if (isGroup) text += make(alternatives(inner.replace(/^\?:/, ''))[0] as string, random);
      else text += source[at];
    }
    at = end + 1 + (least?.[0].length ?? 0);
  }
  return text;
}

const assignedTo = ({ body }: Format) => body.slice(body.indexOf('["\'`]?(') + 7, body.lastIndexOf(')(?!'));
const withChecksum = (text: string) => text.slice(0, -6) + base62(crc32(text.slice(0, -6)));
const HOLDS_JSON = ['onepassword-service-token', 'grafana-cloud-token'];

/** What follows the start, as the check wants it. */
function bodyOf({ id, body }: Format, random: (most: number) => number): string {
  if (id.startsWith('github-') && id !== 'github-fine-grained-pat') return withChecksum(make(body, random));
  if (id === 'npm-token') return withChecksum(make(body, random));
  if (id === 'basic-authorization') return btoa(`user:x7Gk${make('[A-Za-z0-9]{12}', random)}2p`);
  if (HOLDS_JSON.includes(id)) return btoa(JSON.stringify({ k: make('[a-z0-9]{240}', random) })).slice(3);
  return make(body, random);
}

/** An example of a format: the text before the credential, and the credential. */
function example(format: Format, start: string, seed: number): [string, string] {
  const random = numbers(seed);
  if (!format.isName) return ['', make(format.before ?? '', random) + start + bodyOf(format, random)];
  if (format.id === 'url-password')
    return ['https://ann:', make('[A-Za-z]{6}[0-9]{3}[A-Za-z]{5}[0-9]{2}', random)];
  return [
    `${start}_X = "`,
    make(format.id === 'assigned-secret' ? '(?:[A-Z][0-9][a-z]){10}' : assignedTo(format), random),
  ];
}

const closed: Record<string, string> = { 'url-password': '@host' };
const rulesIn = (text: string) => find(text).map(({ rule }) => rule);

/** An example that its check accepts: few random texts look like none. */
function found(format: Format, start: string): [string, string] {
  for (let seed = 1; seed < 200; seed++) {
    const [before, credential] = example(format, start, seed * 7919);
    if (rulesIn(`${before}${credential}${closed[format.id] ?? '"'}`).includes(format.id))
      return [before, credential];
  }
  throw new Error(`no example of ${format.id}`);
}

const cases = formats.flatMap((format) =>
  format.starts.map((start) => [`${format.id} ${start}`, format, start] as const),
);

describe('credential formats', () => {
  it('are 60 and more, each with an id, a name, and starts of its own', () => {
    expect(formats.length).toBeGreaterThanOrEqual(60);
    expect(ruleNames.size).toBe(formats.length + others.length);
    for (const { id, name } of [...formats, ...others])
      expect([id, name]).toEqual([expect.stringMatching(/^[a-z0-9-]+$/), expect.any(String)]);
  });

  it('repeat nothing inside of a repetition, and nothing without a bound', () => {
    for (const { id, body } of formats) {
      const plain = body.replace(/\[[^\]]*\]/g, '.');
      expect(plain.replace(/\{0,1\}|\{\d+\}|\{\d+,\d+\}/g, ''), id).not.toMatch(/[*+]/);
      expect(plain, id).not.toMatch(/\([^)]*\{\d+,\d+\}[^)]*\)\{\d+,(?!1\})/);
    }
  });

  it.each(cases)('%s: an example is found at its place', (_, format, start) => {
    const [before, credential] = found(format, start);
    const text = `first\n${before}${credential}${closed[format.id] ?? '"'}\nlast`;
    const hit = find(text).find(({ rule }) => rule === format.id);
    expect(hit).toMatchObject({ at: 6 + before.length, length: credential.length });
  });

  it.each(cases)('%s: a near miss is not found', (_, format, start) => {
    const [before, credential] = found(format, start);
    const close = closed[format.id] ?? '"';
    const misses = [`${before}${credential.slice(0, -1)}${close}`];
    if (format.id === 'url-password') misses[0] = `${before}password${close}`;
    if (format.id === 'assigned-secret') misses[0] = `${before}${credential.slice(0, 19)}${close}`;
    if (format.id === 'basic-authorization')
      misses[0] = start + btoa(atob(credential.slice(start.length)).replace(':', '.'));
    if (HOLDS_JSON.includes(format.id)) misses[0] = `${start}A${credential.slice(start.length)}`;
    if (/^\w/.test(credential) && !format.isName) misses.push(`x${credential}`);
    if (format.check && /^(?:github|npm)/.test(format.id))
      misses.push(`${before}${credential.replace(/.$/, (char) => (char === '0' ? '1' : '0'))}${close}`);
    if (!format.isName) misses.push(`${start}${'x'.repeat(credential.length - start.length)}`);
    for (const miss of misses) expect(rulesIn(miss), miss).not.toContain(format.id);
  });
});
