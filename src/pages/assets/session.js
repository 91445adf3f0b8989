// A browser session, for the pages where members sign in: signing in, staying signed in, confirming with a passkey, and API requests.
// Invariant: the JWT is only in the page's memory, and the cookie that renews it is not readable here.
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the scope of a classic script; the functions in it are short.
window.createSession = ({ onSignedIn, onSignedOut }) => {
  const { startAuthentication } = window.SimpleWebAuthnBrowser;
  const API = '/api/v1';
  const find = (id) => document.getElementById(id);

  /** The JWT, and the timer that renews it. */
  let token = null;
  let timer;

  /** An error response, with the service's own message. */
  class Refused extends Error {
    constructor(
      { code, message } = {
        code: 'INTERNAL',
        message: 'The service sent an unexpected response. Try again.',
      },
    ) {
      super(message);
      this.code = code;
    }
  }

  /** A request got no response. Other faults are TypeErrors too. */
  class Unreachable extends Error {}

  /** The page is about to go to the identity provider. */
  class Leaving extends Error {}

  async function call(method, path, body) {
    const answer = await fetch(API + path, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(token && { Authorization: `Bearer ${token}` }),
      },
      body: body && JSON.stringify(body),
    }).catch(() => {
      throw new Unreachable();
    });
    if (answer.status === 204) return null;
    const json = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Refused(json.error);
    return json;
  }

  function say(words, isError = false) {
    const status = find('status');
    status.textContent = words;
    status.classList.toggle('error', isError);
  }

  /** What went wrong, and what to do about it. */
  function wordsFor(error) {
    const byCode = {
      ENROLMENT_GONE:
        'This link was used, has expired or was replaced by a newer one. Ask the person who invited you for a new link.',
      UNAUTHENTICATED:
        'This passkey was not accepted. Try another passkey, or ask an owner of your organisation for a new enrolment link.',
      SSO_NOT_FOUND:
        'No single sign-on is set up for this address. Check the address, or sign in with a passkey.',
      SSO_REQUIRED:
        'Your organisation requires single sign-on. Enter your work e-mail address below instead.',
      RATE_LIMITED: 'Too many attempts from your network. Wait a minute and try again.',
    };
    const cancelled =
      'The passkey was not used: the request was cancelled or timed out. Try again when you are ready.';
    const byName = {
      NotAllowedError: cancelled,
      AbortError: cancelled,
      InvalidStateError: 'This device already has one of your passkeys. Sign in with it.',
      NotSupportedError: 'This device cannot create a passkey. Try another device or a security key.',
      SecurityError:
        'Passkeys do not work at this address. Open this page at the address your administrator gave you.',
    };
    if (error instanceof Leaving) return 'Opening your identity provider…';
    if (error instanceof Unreachable) return 'Cannot reach the service. Check your connection and try again.';
    if (error instanceof Refused) return byCode[error.code] ?? error.message;
    return (
      byName[error.cause?.name ?? error.name] ??
      byName[error.name] ??
      'Something went wrong. Try again. If it happens again, reload the page.'
    );
  }

  function signIn(answer) {
    token = answer.token;
    clearTimeout(timer);
    // Renewed some time before it expires; a page that was suspended renews it when it resumes.
    timer = setTimeout(renew, Math.max(1000, (Date.parse(answer.expiresAt) - Date.now()) * 0.8));
    onSignedIn(answer.member);
  }

  function signOut(words, isError = false) {
    token = null;
    clearTimeout(timer);
    onSignedOut();
    say(words, isError);
  }

  /** Only one page at a time renews, so none uses a cookie that another has just used. */
  const alone = (work) => (navigator.locks ? navigator.locks.request('refresh', work) : work());

  async function renew() {
    try {
      signIn(await alone(() => call('POST', '/auth/refresh')));
      return true;
    } catch (error) {
      if (!(error instanceof Refused) || !/^(UNAUTHENTICATED|TOKEN_)/.test(error.code))
        timer = setTimeout(renew, 10_000);
      else if (token) signOut('Your session has ended. Sign in again.');
      return false;
    }
  }

  /** A sign-in, a confirmation of the session, or a link to an identity, with a passkey. */
  async function assert(path, options) {
    const optionsJSON = options ?? (await call('POST', `${path}/options`, {}));
    const response = await startAuthentication({ optionsJSON });
    return call('POST', path, { response });
  }

  /** Leaves for the identity provider, which sends the browser back to `return_to`. */
  async function leave(how, return_to) {
    const { url } = await call('POST', '/auth/sso/start', { ...how, return_to });
    location.assign(url);
  }

  /** Wires the form that begins a sign-in by single sign-on. */
  function offerSso(returnTo) {
    const email = find('work');
    find('sso').addEventListener('submit', (event) => event.preventDefault());
    onClick(find('leave'), 'Opening your identity provider…', async () => {
      if (!email.reportValidity()) return say('');
      token = null;
      await leave({ email: email.value.trim() }, returnTo());
    });
  }

  async function link() {
    token = null;
    signIn(await assert('/auth/sso/link'));
  }

  async function login() {
    token = null;
    signIn(await assert('/auth/login'));
  }

  /**
   * A request that gives something away: asks for the passkey every time, however recent the last confirmation is. Who has none
   * confirms at the identity provider, which sends the browser back to `return_to`; the person then repeats it.
   */
  async function callConfirmed(method, path, body, return_to) {
    const options = await call('POST', '/auth/confirm/options', {});
    if (options.allowCredentials.length > 0) {
      signIn(await assert('/auth/confirm', options));
      return call(method, path, body);
    }
    try {
      return await call(method, path, body);
    } catch (error) {
      if (error.code !== 'REAUTHENTICATION_REQUIRED') throw error;
      await leave({ confirm: true }, return_to);
      throw new Leaving();
    }
  }

  /** Runs an action for a button, one at a time, and shows the result. */
  const onClick = (button, words, work) =>
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-disabled') === 'true') return;
      button.setAttribute('aria-disabled', 'true');
      say(words);
      try {
        await work();
      } catch (error) {
        say(wordsFor(error), !(error instanceof Leaving));
      } finally {
        button.removeAttribute('aria-disabled');
      }
    });

  async function logout(words) {
    await call('POST', '/auth/logout');
    signOut(words);
  }

  /** Whether passkeys work here; if not, the page says why. */
  function isUsable() {
    const { origin } = document.body.dataset;
    if (location.origin !== origin) {
      // A passkey belongs to one host name, and the service accepts it only from that origin.
      find('act').hidden = true;
      say('Passkeys do not work at this address. Open this page at ', true);
      const link = document.createElement('a');
      link.href = `${origin}${location.pathname}${window.pageFragment ?? location.hash}`;
      link.textContent = origin;
      find('status').append(link, '.');
      return false;
    }
    if (!window.SimpleWebAuthnBrowser.browserSupportsWebAuthn()) {
      find('act').hidden = true;
      say(
        'This browser does not support passkeys. Use a current version of Chrome, Edge, Firefox or Safari.',
        true,
      );
      return false;
    }
    find('act').disabled = false;
    return true;
  }

  return { call, callConfirmed, isUsable, link, login, logout, offerSso, onClick, renew, say, signIn };
};
