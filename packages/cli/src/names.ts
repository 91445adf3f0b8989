// Names of secrets and upstreams, and of the environment variables that secrets become. Pure. Invariant: a
// name becomes the same variable here as in the files that the vault generates (`svc export`).

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/;

/** Whether a secret can have this name. */
export const isSecretName = (text: string): boolean => NAME.test(text);

/**
 * The environment variable of a name: characters that variables cannot have become _. Undefined if it begins
 * with a digit.
 */
export function variableOf(name: string): string | undefined {
  const variable = name.replace(/[^A-Za-z0-9_]/g, '_');
  return /^[A-Za-z_]/.test(variable) ? variable : undefined;
}

/**
 * A name without the last of the prefixes that it begins with; a name that is only the prefix stays.
 * Undefined if it begins with none.
 */
export function withoutPrefix(
  name: string,
  prefixes: readonly string[],
): { prefix: number; rest: string } | undefined {
  const prefix = prefixes.findLastIndex((text) => name.startsWith(text));
  return prefix < 0 ? undefined : { prefix, rest: name.slice(prefixes[prefix]?.length ?? 0) || name };
}

/** The name of an upstream. */
export const UPSTREAM_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
