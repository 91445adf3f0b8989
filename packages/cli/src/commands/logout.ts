// svc logout: ends the terminal session in the vault and removes the stored credential.
import type { Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { readProfiles, writeProfile } from '../settings/config.ts';

export default command({
  needs: 'vault',
  examples: {
    logout: 'Sign out of the current vault',
    'logout --profile work': 'Sign out of another profile',
  },
  notes: [
    'If you signed in with a browser, the session also ends in the vault. An API key stays valid: revoke it with svc key revoke.',
  ],
  async run(context) {
    const url = context.origin;
    const notSignedIn = context.notSignedIn();
    const ended = await endSession(context, url);
    const was = await context.store.delete(url, context.profile);
    if (readProfiles(context.configDir)[context.profile]?.url === url)
      writeProfile(context.configDir, context.profile, undefined);
    if (!was) throw notSignedIn;
    context.out.result({ url, profile: context.profile, session_ended: ended }, () => {
      context.out.success(`Signed out of ${url}.`);
      if (!ended) context.out.note('The stored credential was removed, but the vault still accepts it.');
    });
    return 0;
  },
});

/**
 * Ends the session of a terminal login. Returns whether the vault ended it; the caller removes the stored
 * credential in either case.
 */
async function endSession(context: Context, url: string): Promise<boolean> {
  try {
    const stored = await context.store.load(url, context.profile);
    if (stored?.kind !== 'terminal') return false;
    const { vault } = await context.vault();
    await vault.api.GET('/whoami'); // renews the token if necessary
    const current = await context.store.load(url, context.profile);
    const id = current?.kind === 'terminal' ? sessionOf(current.session.token) : undefined;
    if (id === undefined) return false;
    await vault.api.DELETE('/auth/sessions/{id}', { params: { path: { id } } });
    return true;
  } catch {
    return false;
  }
}

/** The session id that a token carries in its `sid` claim. */
function sessionOf(token: string): string | undefined {
  const { sid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    sid?: unknown;
  };
  return typeof sid === 'string' ? sid : undefined;
}
