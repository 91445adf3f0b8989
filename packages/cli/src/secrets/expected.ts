// The secrets that a project expects, as `.svc.json` lists them, beside those that the vault has. Invariant:
// no value is read.
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { variableOf, withoutPrefix } from '../names.ts';
import { isReserved, isSteering } from '../run/steering.ts';
import { PROJECT_FILE } from '../settings/project.ts';
import { clean } from '../text.ts';
import { listSecrets } from './lookup.ts';

/** The names of active secrets in an environment that begin with one of the prefixes, sorted. */
export async function namesIn(
  context: Context,
  environment: string,
  prefixes: readonly string[] | undefined,
): Promise<string[]> {
  const { vault } = await context.vault();
  const names = new Set<string>();
  for (const prefix of prefixes ?? [undefined])
    for (const { name } of await listSecrets(vault, environment, {
      prefix: prefix || undefined,
      status: 'active',
      sort: 'name',
    }))
      names.add(name);
  return [...names].sort();
}

/** Whether the variable of a secret can steer programs; `reserved` if no list lets it pass. */
export function steeringOf(
  name: string,
  prefixes: readonly string[] = [''],
): 'reserved' | 'steering' | undefined {
  const variable = variableOf(withoutPrefix(name, prefixes)?.rest ?? name) ?? '';
  if (isReserved(variable)) return 'reserved';
  return isSteering(variable) ? 'steering' : undefined;
}

/** The error if a command needs a list that is not there. */
export const notListed = ({ project }: Context) =>
  usage(
    project
      ? `${clean(project.file)} does not list the secrets that the project expects.`
      : `There is no ${PROJECT_FILE} here.`,
    'Write the list with svc init --force',
  );
