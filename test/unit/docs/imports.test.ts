// Each source of imports has a page, and the guide lists them all.
import { describe, expect, it } from 'vitest';
import guide from '../../../docs/guides/import.md?raw';
import { sources } from '../../../src/adapters/import';
import { reasons } from '../../../src/adapters/import/source';

const pages = import.meta.glob('../../../docs/import/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
}) as Record<string, string>;
const byName = Object.fromEntries(
  Object.entries(pages).map(([file, text]) => [/([^/]+)\.md$/.exec(file)?.[1], text]),
);
const names = sources.map(({ source }) => source);

describe('documentation: imports', () => {
  it('each source has a page with its command, and no page is of another', () => {
    expect(Object.keys(byName).sort()).toEqual([...names].sort());
    for (const name of names) {
      const page = byName[name] as string;
      expect(page, name).toContain(`source: "${name}"`);
      for (const heading of ['## Export', '## Import', '## What becomes of it', '## Tested'])
        expect(page, name).toContain(`\n${heading}\n`);
      expect(/## Tested\n\n(Run|Not run)\b/.test(page), name).toBe(true);
    }
  });

  it('the guide lists each source, and each reason that is ever given', () => {
    for (const name of names) expect(guide).toContain(`[\`${name}\`](../import/${name}.md)`);
    for (const reason of reasons) if (reason !== 'NUMBER_INEXACT') expect(guide).toContain(`\`${reason}\``);
  });
});
