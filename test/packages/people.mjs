// A person and a terminal for the packages' tests: an owner who enrols a passkey in software, and confirms
// what the terminal shows.
/**
 * A call of sign-in, as a page of the deployment makes it.
 * @param {string} url @param {string} at below /api/v1/auth @param {unknown} body @param {string} [token]
 * @returns {Promise<any>}
 */
async function auth(url, at, body, token) {
  const answer = await fetch(`${url}/api/v1/auth${at}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Origin: url,
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`POST /auth${at} is ${answer.status}: ${JSON.stringify(json)}`);
  return json;
}

/**
 * Enrols a member, and signs a terminal in as them.
 * @param {string} url @param {string} enrolmentUrl
 * @returns {Promise<{ session: { token: string, expiresAt: string, refresh_token: string }, browser: { token:
 *   string } }>}
 */
export async function signedInTerminal(url, enrolmentUrl) {
  // By its address, so that the types of packages do not follow into the service's source.
  const { passkeySoftware } = await import(new URL('../scripts/passkeys.mjs', import.meta.url).href);
  const passkey = await (await passkeySoftware()).newPasskey(url);
  const token = new URL(enrolmentUrl).hash.slice(1);
  const browser = await auth(url, '/enrol', {
    token,
    response: await passkey.create(await auth(url, '/enrol/options', { token })),
  });
  const { device_code, user_code } = await auth(url, '/device', { client_name: 'tests' });
  await auth(url, '/device/confirm', { user_code }, browser.token);
  return { session: await auth(url, '/device/token', { device_code }), browser };
}
