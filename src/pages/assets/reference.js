// The API reference: Swagger UI with this deployment's OpenAPI document. Invariant: the page only displays; it sends no request except for
// the document, and has no field for a token.
(() => {
  const hidden = () => () => null;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', colour);
  colour();
  // Swagger UI resolves the whole document to list the authorisation schemes, which this page does not show: seconds before it is usable.
  const unlessSchemes = (resolve) => (path) => (path[1] === 'securitySchemes' ? undefined : resolve(path));
  window.SwaggerUIBundle({
    url: '/api/v1/openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    filter: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    supportedSubmitMethods: [],
    validatorUrl: null,
    plugins: [
      {
        wrapComponents: { authorizeBtn: hidden, authorizeOperationBtn: hidden },
        statePlugins: { spec: { wrapActions: { requestResolvedSubtree: unlessSchemes } } },
      },
    ],
  });
})();
