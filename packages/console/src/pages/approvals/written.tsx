// What a requester wrote, as deciders see it. Invariant: no character hides; in code, which shows each space,
// none changes the place of others either.

/** Characters without a shape of their own, and spaces that look like the usual one. */
const UNSEEN =
  /((?!\r\n)[^\P{C}\n\t]|[^\P{Z} ]|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}])/u;

const nameOf = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** A text in which characters that are not seen are named. */
export const Marked = ({ text }: { text: string }) => (
  <>{text.split(UNSEEN).map((part, at) => (at % 2 ? <mark key={at}>{nameOf(part)}</mark> : part))}</>
);

/** A text as code. */
export const Written = ({ text }: { text: string }) => (
  <pre class="call">
    <Marked text={text} />
  </pre>
);
