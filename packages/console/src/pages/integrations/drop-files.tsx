// A place to drop several files on, or to choose them.
import { FileUp } from 'lucide-preact';
import { useId, useState } from 'preact/hooks';
import { report } from '../../ui/toast';

/** @param names the files that were given so far */
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
          <span class="dim">{rest.length ? ` and ${rest.length.toLocaleString()} more` : ''}. Drop others to replace them.</span>
        </span>
      ) : (
        <span>Drop files here, or choose some</span>
      )}
      <input id={input} type="file" multiple class="unseen" onChange={(event) => take(event.currentTarget.files)} />
    </label>
  );
}
