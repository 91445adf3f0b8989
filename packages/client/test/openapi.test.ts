// What the package keeps of the OpenAPI document is what the service serves.
import fs from 'node:fs';
import { expect, inject, it } from 'vitest';
import { client, PUBLIC_URL, spelled, typesOf } from '../../../scripts/openapi-types.mjs';

it('OpenAPI: openapi.json and src/api.ts are current (npm run openapi writes them)', async () => {
  const url = inject('vaultUrl');
  const served = await (await fetch(`${url}/api/v1/openapi.json`)).text();
  const document = JSON.parse(served.replaceAll(url, PUBLIC_URL));
  expect(fs.readFileSync(`${client}/openapi.json`, 'utf8') === spelled(document)).toBe(true);
  expect(fs.readFileSync(`${client}/src/api.ts`, 'utf8') === (await typesOf(document))).toBe(true);
});
