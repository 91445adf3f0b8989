// A drop zone for files, which can also be chosen in a dialog.
import { FileUp } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { report } from '../toast';

interface DropFilesProps {
  multiple?: boolean;
  /** The current files, and that others replace them. */
  children?: ComponentChildren;
  onFiles: (files: File[]) => Promise<void>;
}

export function DropFiles({ multiple, children, onFiles }: DropFilesProps) {
  const [over, setOver] = useState(false);
  const input = useId();
  const take = (files: FileList | null | undefined) => {
    if (files?.length) onFiles([...files]).catch(report);
  };
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
      <span>
        {children ?? (multiple ? 'Drop files here, or choose files' : 'Drop a file here, or choose one')}
      </span>
      <input
        id={input}
        type="file"
        multiple={multiple}
        class="unseen"
        onChange={(event) => take(event.currentTarget.files)}
      />
    </label>
  );
}
