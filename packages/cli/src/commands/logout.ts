// svc logout: ends a terminal session at the vault, and forgets the credential here.
import { command } from '../command.ts';
import { readProfiles, writeProfile } from '../config.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';

export default command({
  needs: 'vault',
  examples: { logout: 'Sign out of the vault of the profile', 'logout --profile work': 'Sign out of another profile' },
  notes: ['A session that svc login made by a browser ends at the vault too. An API key stays valid: revoke it with svc key revoke.'],
  async run(context) {
    const url = context.origin;
    const ended = await endSession(context, url);
    const was = await context.store.delete(url, context.profile);
    if (readProfiles(context.configDir)[context.profile]?.url === url) writeProfile(context.configDir, context.profile, undefined);
    if (!was) throw new CliError(`You are not signed in to ${url}.`, { exit: 'signedOut', code: 'NOT_SIGNED_IN' });
    context.out.result({ url, profile: context.profile, session_ended: ended }, () => {
      context.out.success(`Signed out of ${url}.`);
      if (!ended) context.out.note('The credential was forgotten here. The vault still accepts it.');
    });
    return 0;
  },
});

/** Ends the session of a terminal login. Whether the vault did; what is stored is forgotten in any case. */
async function endSession(context: Context, url: string): Promise<boolean> {
  try {
    const stored = await context.store.load(url, context.profile);
    if (stored?.kind !== 'terminal') return false;
    const { vault } = await context.vault();
    await vault.api.GET('/whoami'); // renews the token, if need be
    const current = await context.store.load(url, context.profile);
    const id = current?.kind === 'terminal' ? sessionOf(current.session.token) : undefined;
    if (id === undefined) return false;
    await vault.api.DELETE('/auth/sessions/{id}', { params: { path: { id } } });
    return true;
  } catch {
    return false;
  }
}

/** The id of the session that a token is of: it says so itself. */
function sessionOf(token: string): string | undefined {
  const { sid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sid?: unknown };
  return typeof sid === 'string' ? sid : undefined;
}
