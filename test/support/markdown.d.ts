// Pages of the documentation as text, for the tests that compare them with the code.
declare module '*.md?raw' {
  const text: string;
  export default text;
}

/** What Vite makes of `import.meta.glob`, for pages of which there may be more. */
interface ImportMeta {
  glob<T>(pattern: string, options: { query: string; import: string; eager: true }): Record<string, T>;
}
