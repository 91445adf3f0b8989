// What is generated in the packages is identical to what the service serves and decides by.
import fs from 'node:fs';
import path from 'node:path';
import { expect, inject, it } from 'vitest';
import { shapesOf } from '../../../../scripts/build/openapi-shapes.mjs';
import {
  client,
  copies,
  copyOf,
  PUBLIC_URL,
  spelled,
  typesOf,
} from '../../../../scripts/build/openapi-types.mjs';
import { root } from '../../../../scripts/shared/wrangler.mjs';
import { eventTypes } from '../../src/api/event-types.ts';
import { secretTypes } from '../../src/api/secret-types.ts';
import { takesKey } from '../../src/transport/retry.ts';

it('OpenAPI: the service serves openapi.json with its own address, and what is generated from it is current (npm run openapi)', async () => {
  const url = inject('vaultUrl');
  const served = await (await fetch(`${url}/api/v1/openapi.json`)).text();
  const document = JSON.parse(served.replaceAll(url, PUBLIC_URL));
  expect(fs.readFileSync(`${client}/openapi.json`, 'utf8') === spelled(document)).toBe(true);
  expect(fs.readFileSync(`${client}/src/api/openapi.ts`, 'utf8') === (await typesOf(document))).toBe(true);
  expect(
    fs.readFileSync(path.join(root, 'packages/cli/src/requests/shapes.ts'), 'utf8') === shapesOf(document),
  ).toBe(true);
});

it('OpenAPI: the client sends an Idempotency-Key and retries a POST exactly where the vault stores the response', () => {
  const document = JSON.parse(fs.readFileSync(`${client}/openapi.json`, 'utf8'));
  const reference = '#/components/parameters/IdempotencyKey';
  let kept = 0;
  for (const [path, { post }] of Object.entries(
    document.paths as Record<string, { post?: { parameters: { $ref?: string }[] } }>,
  )) {
    if (!post) continue;
    const keeps = post.parameters.some(({ $ref }) => $ref === reference);
    expect(takesKey('POST', `/api/v1${path.replace(/\{\w+\}/g, 'x_1')}`), path).toBe(keeps);
    kept += Number(keeps);
  }
  expect(kept).toBeGreaterThan(30);
});

it('OpenAPI: the client lists exactly the types of secrets and of events in the document', () => {
  const { SecretType, WebhookEventsItem } = JSON.parse(fs.readFileSync(`${client}/openapi.json`, 'utf8'))
    .components.schemas;
  expect(secretTypes.toSorted()).toEqual(SecretType.enum.toSorted());
  expect(eventTypes.toSorted()).toEqual(
    WebhookEventsItem.enum.filter((type: string) => type !== '*').toSorted(),
  );
});

it('scopes: the rules that the client and the console decide by are those of the service (npm run openapi copies them)', () => {
  for (const [from, to] of copies)
    expect(fs.readFileSync(path.join(root, to), 'utf8'), to).toBe(copyOf(from));
});
