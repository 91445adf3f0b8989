// Exports of other tools as text, and all files of a folder: what Vite replaces.
declare module '*.json?raw' {
  const text: string;
  export default text;
}
interface ImportMeta {
  glob(pattern: string, options: object): Record<string, unknown>;
}
