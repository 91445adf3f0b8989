// Pages of the documentation as text, for the tests that compare them with the code.
declare module '*.md?raw' {
  const text: string;
  export default text;
}
