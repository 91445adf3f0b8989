import { defineConfig } from 'vitest/config';
import { looks, nameOf } from './packages/console/test/look.ts';
import base from './vitest.packages.config.ts';

// Every journey of the console in every look, and every page in detail: `npm run test:looks`, one of them with `-- --project 390-dark`.
const { testTimeout, hookTimeout, ...rest } = base.test ?? {};
const times = { testTimeout, hookTimeout };
const folder = 'packages/console/test';
const alone = ['pages', 'operations', 'previews'].map((name) => `${folder}/${name}.test.ts`);

export default defineConfig({
  test: {
    ...rest,
    projects: [
      { test: { ...times, name: 'pages', include: [`${folder}/pages.test.ts`], env: { SLOW: '1' } } },
      ...looks.map((look) => ({
        test: { ...times, name: nameOf(look), include: [`${folder}/*.test.ts`], exclude: alone, env: { LOOK: nameOf(look), SLOW: '1' } },
      })),
    ],
  },
});
