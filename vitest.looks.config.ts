import { defineConfig } from 'vitest/config';
import { looks, nameOf } from './packages/console/test/support/look.ts';
import base from './vitest.packages.config.ts';

// Every journey of the console in every look, and every page in detail: `npm run test:looks`, one of them
// with `-- --project 390-dark`.
const { include: _, ...rest } = base.test ?? {};
const folder = 'packages/console/test';
const alone = ['pages', 'operations', 'pages/previews'].map((name) => `${folder}/${name}.test.ts`);

export default defineConfig({
  test: {
    ...rest,
    projects: [
      { test: { name: 'pages', tags: rest.tags, include: [`${folder}/pages.test.ts`], env: { SLOW: '1' } } },
      ...looks.map((look) => ({
        test: {
          name: nameOf(look),
          tags: rest.tags,
          include: [`${folder}/**/*.test.ts`],
          exclude: alone,
          env: { LOOK: nameOf(look), SLOW: '1' },
        },
      })),
    ],
  },
});
