// The secrets that a text names as `{{NAME}}`. Pure. Invariant: whatever else has two braces is refused, so a
// text says the same to whoever checks it and to whoever fills it.
import { isSecretName } from '../../db/names';
import type { UpstreamAuth } from '../../db/upstreams';

/** A name in a text. */
export const REFERENCE = /\{\{([^{}]*)\}\}/g;

/** The names in a text, or null if it has braces that name nothing. */
export function namesIn(text: string): string[] | null {
  const names = [...text.matchAll(REFERENCE)].map(([, name = '']) => name);
  const rest = text.replace(REFERENCE, '');
  const isPlain = !/\{\{|\}\}/.test(rest) && !/\{\{\{|\}\}\}/.test(text);
  return names.every(isSecretName) && isPlain ? names : null;
}

/** The texts of one way to place secrets that may name some. */
function textsOf(auth: UpstreamAuth): (string | undefined)[] {
  switch (auth.type) {
    case 'header':
    case 'query':
      return [auth.value];
    case 'basic':
      return [auth.username, auth.password];
    case 'aws_sigv4':
      return [auth.access_key_id, auth.secret_access_key, auth.session_token];
    case 'oauth2_client_credentials':
      return [auth.client_id, auth.client_secret];
    case 'google_service_account':
      return [auth.key];
    case 'github_app':
      return [auth.private_key];
  }
}

/** The names of all secrets that are placed, sorted. */
export const placedBy = (auth: readonly UpstreamAuth[]): string[] =>
  [...new Set(auth.flatMap(textsOf).flatMap((text) => namesIn(text ?? '') ?? []))].sort();
