// What a refusal means where the settings explain it. Invariant: only the message and the next step change,
// never the code or the exit code.
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { clean } from '../text.ts';

/** The error of a command, with a better explanation if there is one. */
export async function explained(context: Context, error: CliError): Promise<CliError> {
  const { problem } = error;
  if (problem.code === 'UNAUTHENTICATED' && isJob(context))
    return new CliError(
      `The vault does not accept the OIDC token of this job for the trust ${clean(context.host.env.SVC_TRUST_ID ?? '')}.`,
      {
        ...problem,
        next: 'Compare the claims of the job, such as its branch, with svc trust show. The audit log of the organisation says which did not match',
      },
    );
  if (problem.code === 'NOT_FOUND') return (await inAnotherOrg(context, error)) ?? error;
  return error;
}

function isJob(context: Context): boolean {
  try {
    return context.identity()?.kind === 'ci';
  } catch {
    return false;
  }
}

/** Everything of another organisation looks as if it did not exist. */
async function inAnotherOrg(context: Context, { problem }: CliError): Promise<CliError | undefined> {
  try {
    const org = context.setting('org');
    if (!org || !context.openedVault) return undefined;
    const { vault } = await context.openedVault;
    const { data } = await vault.api.GET('/whoami');
    if (data.org_id === org.value) return undefined;
    const from = {
      project: clean(context.project?.file ?? ''),
      flag: '--org',
      variable: 'SVC_ORG_ID',
      profile: 'the profile',
      vault: 'the vault',
    };
    return new CliError(
      `${from[org.source]} names the organisation ${org.value}, but this credential belongs to ${clean(data.org_id)}.`,
      {
        ...problem,
        next: 'Sign in to that organisation with a profile of its own, svc login --profile NAME, and pass --profile NAME',
      },
    );
  } catch {
    return undefined;
  }
}
