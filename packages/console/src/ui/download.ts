// Files that go to the disk. Invariant: what is downloaded is not shown, and is forgotten ten seconds later.

/** Hands a file to the browser's downloads. */
export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
