// Each format of generated files has a page that says what the format object says, and stands in the table of
// formats.
import { describe, expect, it } from 'vitest';
import { formats } from '../../../src/adapters/generate';

const pages = import.meta.glob<string>('../../../docs/generate/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const page = (name: string) => pages[`../../../docs/generate/${name}.md`] ?? '';

describe('documentation: generated files', () => {
  it('each format has a page, and no other has', () => {
    const named = Object.keys(pages).map((path) => path.replace(/^.*\/|\.md$/g, ''));
    expect(named.sort()).toEqual([...formats.map(({ format }) => format), 'README'].sort());
  });

  it.each(formats.map((format) => [format.format, format] as const))(
    '%s: file, type and options',
    (name, { filename, contentType, options }) => {
      const text = page(name);
      expect(text).toContain(`| format | \`${name}\` |\n| file | \`${filename}\`, \`${contentType}\` |`);
      const listed = [...text.matchAll(/^\| `?(\w+)`? \| .* \| .* \|$/gm)]
        .map(([, option]) => option)
        .filter((option) => option !== 'option');
      expect(listed).toEqual(Object.keys(options.shape));
      expect(text.includes('takes no options')).toBe(listed.length === 0);
      expect(text).toContain(`"format":"${name}"`);
      expect(page('README')).toContain(`| [${name}](${name}.md) | \`${filename}\` |`);
    },
  );
});
