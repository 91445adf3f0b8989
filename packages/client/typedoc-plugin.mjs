// For the reference page: what a class or an interface inherits stands at its parent, if that is on the page;
// and the types of the OpenAPI document, which the vault itself documents, are left out.
import { Converter, ReflectionKind } from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';

const OF_OPENAPI = ['components', 'paths'];

const HEAD = `# TypeScript client

What \`@secrets-vault/client\` gives. [TypeScript client](../guides/typescript-client.md) shows how to use it. This page is made from the doc
comments by \`npm run reference -w packages/client\`; a test compares it with them.

The package also gives \`paths\` and \`components\`, the types of the OpenAPI document. \`components['schemas']['Member']\` is a member, for example.

`;

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const child of [...(project.children ?? [])])
      if (OF_OPENAPI.includes(child.name)) project.removeReflection(child);
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of project.getReflectionsByKind(ReflectionKind.ClassOrInterface))
      for (const child of [
        .../** @type {import('typedoc').DeclarationReflection} */ (reflection.children ?? []),
      ])
        if (child.inheritedFrom?.reflection || (child.overwrites && child.name === 'name'))
          project.removeReflection(child);
  });
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = HEAD + page.contents;
  });
}
