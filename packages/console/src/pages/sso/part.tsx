// A text that the reader enters elsewhere, with its label and a button to copy it.
import { CopyButton } from '../../ui/parts';

export const Part = ({ label, text }: { label: string; text: string }) => (
  <div class="row">
    <span class="grow">
      <span class="hint">{label}</span>
      <code class="block">{text}</code>
    </span>
    <CopyButton text={text} label={`Copy ${label}`} />
  </div>
);
