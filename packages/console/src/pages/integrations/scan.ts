// Scans: files are read in the browser and sent in batches that fit into one request.
import type { components } from '@secrets-vault/client';
import { here, vault } from '../../requests/api';

type ScanIn = components['schemas']['ScanIn'];
type Scan = components['schemas']['Scan'];
type Finding = components['schemas']['Finding'];
interface TextFile {
  path: string;
  content: string;
}

export interface ToScan {
  files: TextFile[];
  /** The names of files that are too large or not text. */
  unread: string[];
}

export interface Scanned {
  findings: Finding[];
  truncated: boolean;
  unread: string[];
}

/** The limits of one request: a body of 1 MiB, and 500 files. */
const MOST_BYTES = 900_000;
const MOST_FILES = 500;

const sizeOf = (file: TextFile): number => new TextEncoder().encode(JSON.stringify(file)).length;

/** The contents of text files. A zero byte identifies a file that is not text. */
export async function readFiles(taken: File[]): Promise<ToScan> {
  const read: ToScan = { files: [], unread: [] };
  for (const file of taken) {
    const path = file.webkitRelativePath || file.name;
    const content = file.size > MOST_BYTES ? '\0' : await file.text();
    if (content.includes('\0') || sizeOf({ path, content }) > MOST_BYTES) read.unread.push(path);
    else read.files.push({ path, content });
  }
  return read;
}

/** Files in batches, each small enough for a request. */
export function partsOf(files: TextFile[]): ScanIn[] {
  const parts: TextFile[][] = [];
  let size = MOST_BYTES;
  for (const file of files) {
    const bytes = sizeOf(file);
    if (size + bytes > MOST_BYTES || parts.at(-1)?.length === MOST_FILES) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(file);
    size += bytes;
  }
  return parts.map((part) => ({ files: part }));
}

/** Scans batch by batch. @param revoke whether to revoke live tokens that are found */
export async function scanAll(parts: ScanIn[], unread: string[], revoke: boolean): Promise<Scanned> {
  const whole: Scanned = { findings: [], truncated: false, unread };
  for (const part of parts) {
    const { data } = await vault().api.POST('/orgs/{org_id}/scans', {
      params: { path: here() },
      body: { ...part, ...(revoke && { revoke_live: true }) },
    });
    const { findings, truncated } = data as Scan;
    whole.findings.push(...findings);
    whole.truncated ||= truncated;
  }
  return whole;
}
