// The PATH of programs that svc starts. Invariant: a name leads to no program in the directory that svc works
// in.
import path from 'node:path';

/**
 * PATH without relative directories: they would make a name another program in another directory, such as one
 * that a repository holds.
 */
export function searchPath(own: NodeJS.ProcessEnv): string {
  const [, given = ''] = Object.entries(own).find(([name]) => name.toUpperCase() === 'PATH') ?? [];
  // safety: mcp-child-path
  const kept = given.split(path.delimiter).filter((directory) => path.isAbsolute(directory));
  // An empty PATH would mean the current directory.
  return kept.join(path.delimiter) || '/usr/bin:/bin';
}
