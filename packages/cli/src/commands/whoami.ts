// svc whoami: shows the current credential and the source of each setting.
import { command } from '../definition/command.ts';
import { relative } from '../text.ts';

const listed = (names: string[] | null | undefined) => (names ? names.join(', ') || 'none' : 'all');

export default command({
  needs: 'environment',
  examples: { whoami: 'Show who is signed in', 'whoami --json': 'Print the same as JSON' },
  async run(context) {
    const { vault } = await context.vault();
    const { data } = await vault.api.GET('/whoami');
    const identity = context.identity();
    const url = context.setting('url');
    const environment = context.setting('environment');
    context.out.result(
      {
        ...data,
        url: context.origin,
        environment: environment?.value ?? data.default_environment,
        credential_from: identity?.kind,
        profile: context.profile,
      },
      () =>
        context.out.fields({
          vault: `${context.origin} (${url?.source})`,
          organisation: data.org_id,
          environment: environment
            ? `${environment.value} (${environment.source})`
            : data.default_environment && `${data.default_environment} (the organisation's default)`,
          'signed in as': data.name ?? data.id,
          kind: data.kind,
          id: data.id,
          scopes: data.scopes.join(', '),
          environments: listed(data.environments),
          secrets: listed(data.secrets),
          expires: data.expires_at
            ? `${data.expires_at} (${relative(data.expires_at, Date.now())})`
            : 'never',
          credential:
            identity &&
            {
              variable: 'SVC_TOKEN',
              ci: 'exchanged OIDC token',
              stored: `stored, ${identity.kind === 'stored' && identity.place}`,
            }[identity.kind],
        }),
    );
    return 0;
  },
});
