// Scripts that pages run are text to the Worker: `rules` in wrangler.toml.
declare module '*.page.js' {
  const text: string;
  export default text;
}
declare module '*.umd.min.js' {
  const text: string;
  export default text;
}
