// Links between documents: each relative link names a file that exists, and each anchor a heading of it.
// Paths of scripts exist, wherever they are named.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { project } from '../service.mjs';
import { anchorsOf, linksOf, markdownFiles, projectFiles, read } from './markdown.mjs';

it('links: every relative link and anchor in a document resolves', () => {
  const files = markdownFiles();
  assert.ok(files.includes('README.md'));
  const broken = [];
  for (const file of files) {
    for (const link of linksOf(read(file))) {
      if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
      const [target = '', anchor] = link.split('#');
      const to = target === '' ? file : path.join(path.dirname(file), decodeURIComponent(target));
      if (to.startsWith('..') || !fs.existsSync(path.join(project, to)))
        broken.push(`${file}: ${link} names no file`);
      else if (anchor !== undefined && !anchorsOf(read(to)).has(anchor))
        broken.push(`${file}: ${link} names no heading`);
    }
  }
  assert.deepEqual(broken, []);
});

it('links: every script that a file of the project names exists', () => {
  const texts = projectFiles().filter(
    (file) => file !== 'CHANGELOG.md' && /\.(md|m?js|tsx?|json|toml|ya?ml|go)$|^\.ci\//.test(file),
  );
  const named = texts.flatMap((file) => {
    // `scripts/…` from the project, `../scripts/…` from the file.
    const found = read(file).matchAll(/(?<![\w./-])(?:\.{1,2}\/|[\w-]+\/)*scripts\/[\w./-]+\.mjs\b/g);
    return [...found].map(([at]) => ({ file, at }));
  });
  assert.ok(named.length > 150, `only ${named.length} paths were found`);
  const exists = (/** @type {string} */ dir, /** @type {string} */ at) =>
    fs.existsSync(path.join(project, dir, at));
  const missing = named.filter(({ file, at }) => !exists('', at) && !exists(path.dirname(file), at));
  assert.deepEqual(missing, []);
});

it('links: the index of the documentation names every page', () => {
  const named = new Set(linksOf(read('docs/README.md')).map((link) => path.join('docs', link)));
  const missing = markdownFiles().filter(
    (file) => /^docs\//.test(file) && file !== 'docs/README.md' && !named.has(file),
  );
  assert.deepEqual(
    missing.filter((file) => !/^docs\/generate\//.test(file)), // its own index is docs/generate/README.md
    [],
  );
});

it('links: the page of libraries names every dependency', () => {
  const page = read('docs/architecture/libraries.md');
  const packages = [
    'package.json',
    ...fs.readdirSync(path.join(project, 'packages')).map((name) => `packages/${name}/package.json`),
  ];
  const names = packages.flatMap((file) => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(file));
    return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
  });
  assert.ok(names.length > 50);
  const isNamed = (/** @type {string} */ name) =>
    page.includes(`\`${name}\``) || page.includes(`\`${name.replace(/\/.*/, '')}/*\``);
  assert.deepEqual(
    names.filter((name) => !name.startsWith('@secrets-vault/') && !isNamed(name)),
    [],
  );
});

it('links: anchors are spelled as GitHub spells them', () => {
  const anchors = anchorsOf(
    '# A `code` title, with marks!\n## Twice\n## Twice\n```sh\n# no heading\n```\n## [Linked](x.md) one\n',
  );
  assert.deepEqual([...anchors], ['a-code-title-with-marks', 'twice', 'twice-1', 'linked-one']);
});
