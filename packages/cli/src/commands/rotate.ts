// svc rotate: a new version of an existing secret, from a prompt, stdin or the vault's generator.
import { command } from '../definition/command.ts';
import { findSecret } from '../secrets/lookup.ts';
import {
  checkValueOptions,
  givenValue,
  replaces,
  reportGenerated,
  VALUE_ARGUMENT,
  VALUE_NOTE,
  VALUE_OPTIONS,
  type ValueOptions,
} from '../secrets/values.ts';

export default command<ValueOptions>({
  needs: 'environment',
  confirms: true,
  completes: 'secrets',
  args: { '<name>': 'name of the secret', ...VALUE_ARGUMENT },
  options: VALUE_OPTIONS,
  examples: {
    'rotate ADMIN_PASSWORD --generate': 'Let the vault generate a new value',
    'rotate STRIPE_KEY < new-key.txt': 'Set the value that the issuer gave you',
  },
  notes: [
    VALUE_NOTE,
    'Unlike svc set, it never creates a secret, and always creates a version, even if the value is the same.',
  ],
  async run(context, { args: [name = ''], rest, options }) {
    checkValueOptions(options, rest);
    const { vault, org_id } = await context.vault();
    const found = await findSecret(context, name);
    const { generate, length, charset } = options;
    const body = generate
      ? { generate: { length, charset } }
      : { value: await givenValue(context, name, Boolean(options.raw)) };
    await context.confirmProduction(replaces(found), found.environment);
    const params = { path: { org_id, id: found.id } };
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
      params,
      headers: context.approved(),
      body,
    });
    reportGenerated(context, options, 'Rotated', data);
    return 0;
  },
});
