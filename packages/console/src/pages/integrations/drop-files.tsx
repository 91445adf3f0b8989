// A drop zone for several files, which can also be chosen in a dialog.
import { FileUp } from 'lucide-preact';
import { useId, useState } from 'preact/hooks';
import { report } from '../../ui/toast';

/** @param names the names of the current files */
export function DropFiles({ names, onFiles }: { names: string[]; onFiles: (files: File[]) => Promise<void> }) {
  const [over, setOver] = useState(false);
  const input = useId();
  const take = (files: FileList | null | undefined) => {
    if (files?.length) onFiles([...files]).catch(report);
  };
  const [first, ...rest] = names;
  return (
    <label
      for={input}
      class={over ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <FileUp size={22} aria-hidden="true" />
      {first ? (
        <span>
          <strong class="mono">{first}</strong>
          <span class="dim">{rest.length ? ` and ${rest.length.toLocaleString()} more` : ''}. Drop other files to replace them.</span>
        </span>
      ) : (
        <span>Drop files here, or choose files</span>
      )}
      <input id={input} type="file" multiple class="unseen" onChange={(event) => take(event.currentTarget.files)} />
    </label>
  );
}
