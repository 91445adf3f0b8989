// The stored form of the OpenAPI document in packages/client, and the types generated from it. Invariant: both depend only on the document.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './wrangler.mjs';

export const client = path.join(root, 'packages', 'client');
/** Stands for a deployment in the stored document. */
export const PUBLIC_URL = 'https://vault.example.com';

/** The stored document's text. @param {unknown} document */
export const spelled = (document) => `${JSON.stringify(document, null, 1)}\n`;

/**
 * TypeScript types of the document. Refusals are one type, `Error`, instead of one per status and operation: the client throws them as
 * classes, and in full they would be nine tenths of the package.
 * @param {any} document
 * @returns {Promise<string>}
 * as classes, and spelled out they would be nine tenths of the package.
 * @param {any} document
 * @returns {Promise<string>}
 */
export async function typesOf(document) {
  // The generator needs the API of TypeScript 5, which TypeScript 7 does not have: both are installed only in packages/client.
  const { resolve } = createRequire(path.join(client, 'package.json'));
  const at = path.join(path.dirname(resolve('openapi-typescript/package.json')), 'dist', 'index.mjs');
  const { default: openapiTS, astToString } = await import(pathToFileURL(at).href);
  return `// Made by \`npm run openapi\` from openapi.json.\n\n${astToString(await openapiTS(lean(document)))}`;
}

/** The document without the parts that types do not need. @param {any} document */
function lean(document) {
  const copy = structuredClone(document);
  const { components } = copy;
  components.responses = {
    Refused: { description: 'A refusal.', content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
  };
  for (const operation of Object.values(copy.paths).flatMap((methods) => Object.values(methods))) {
    const answers = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
    for (const [, answer] of answers) {
      delete answer.headers;
      for (const media of Object.values(answer.content ?? {})) {
        delete media.example;
        delete media.examples;
      }
    }
    operation.responses = { ...Object.fromEntries(answers), default: { $ref: '#/components/responses/Refused' } };
  }
  // Each operation repeats the description of a shared parameter.
  for (const parameter of Object.values(components.parameters)) {
    parameter.description = /^.*?\.(?= |$)/.exec(parameter.description)?.[0];
    delete parameter.example;
    delete parameter.schema.example;
  }
  components.headers = {};
  components.examples = {};
  return copy;
}
