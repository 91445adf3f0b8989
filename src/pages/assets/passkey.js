// What the pages /enrol and /sign-in do. Invariants: the enrolment token leaves the address bar at once; the JWT lives in the memory of this
// page alone, and the cookie that renews it is not to be seen from here.
(() => {
  const { startRegistration, startAuthentication, browserSupportsWebAuthn } = window.SimpleWebAuthnBrowser;
  const API = '/api/v1';
  const find = (id) => document.getElementById(id);
  const enrolling = document.body.dataset.page === 'enrol';
  const enrolment = location.hash.slice(1);
  if (enrolling && enrolment) history.replaceState(null, '', location.pathname);

  /** The JWT, and the timer that renews it. */
  let token = null;
  let timer;

  /** What was refused, in the service's own words. */
  class Refused extends Error {
    constructor({ code, message } = { code: 'INTERNAL', message: 'The service sent an unexpected response. Try again.' }) {
      super(message);
      this.code = code;
    }
  }

  async function call(method, path, body) {
    const answer = await fetch(API + path, {
      method,
      credentials: 'same-origin',
      headers: { ...(body && { 'Content-Type': 'application/json' }), ...(token && { Authorization: `Bearer ${token}` }) },
      body: body && JSON.stringify(body),
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
      ENROLMENT_GONE: 'This link was used, has expired or was replaced by a newer one. Ask the person who invited you for a new link.',
      UNAUTHENTICATED: 'This passkey was not accepted. Try another one, or ask an owner of your organisation for a new enrolment link.',
      RATE_LIMITED: 'Too many attempts from your network. Wait a minute and try again.',
    };
    const byName = {
      NotAllowedError: 'The request was cancelled or timed out. Try again when you are ready.',
      AbortError: 'The request was cancelled. Try again when you are ready.',
      InvalidStateError: 'This device already has a passkey of yours for this service. Sign in with it.',
      NotSupportedError: 'This device cannot create a passkey that this service accepts. Try another device or a security key.',
      SecurityError: 'Passkeys do not work at this address. Open the service at the address that your administrator gave you.',
      TypeError: 'The service cannot be reached. Check your connection and try again.',
    };
    if (error instanceof Refused) return byCode[error.code] ?? error.message;
    return byName[error.cause?.name ?? error.name] ?? byName[error.name] ?? 'Something went wrong. Try again.';
  }

  function show(member) {
    find('ask').hidden = member !== null;
    find('who').hidden = member === null;
    if (!member) return;
    find('name').textContent = member.name;
    find('email').textContent = member.email;
    find('role').textContent = member.role;
  }

  function signedIn(answer) {
    token = answer.token;
    clearTimeout(timer);
    // Renewed a while before it ends; a page that slept is renewed when it wakes.
    timer = setTimeout(renew, Math.max(1000, (Date.parse(answer.expiresAt) - Date.now()) * 0.8));
    show(answer.member);
  }

  function signedOut(words, isError = false) {
    token = null;
    clearTimeout(timer);
    show(null);
    say(words, isError);
  }

  /** One page at a time renews, so that none uses a cookie that another has just used. */
  const alone = (work) => (navigator.locks ? navigator.locks.request('refresh', work) : work());

  async function renew() {
    try {
      signedIn(await alone(() => call('POST', '/auth/refresh')));
      return true;
    } catch (error) {
      if (!(error instanceof Refused) || !/^(UNAUTHENTICATED|TOKEN_)/.test(error.code)) timer = setTimeout(renew, 10_000);
      else if (token) signedOut('Your session has ended. Sign in again.');
      return false;
    }
  }

  async function enrol() {
    const optionsJSON = await call('POST', '/auth/enrol/options', { token: enrolment });
    const response = await startRegistration({ optionsJSON });
    return call('POST', '/auth/enrol', { token: enrolment, response });
  }

  async function login() {
    const optionsJSON = await call('POST', '/auth/login/options', {});
    const response = await startAuthentication({ optionsJSON });
    return call('POST', '/auth/login', { response });
  }

  /** Does something that a button asks for, once at a time, and says how it went. */
  const onClick = (id, words, work) =>
    find(id).addEventListener('click', async () => {
      const button = find(id);
      if (button.getAttribute('aria-disabled') === 'true') return;
      button.setAttribute('aria-disabled', 'true');
      say(words);
      try {
        await work();
      } catch (error) {
        say(wordsFor(error), true);
      } finally {
        button.removeAttribute('aria-disabled');
      }
    });

  onClick('act', 'Waiting for your device…', async () => {
    token = null;
    signedIn(await (enrolling ? enrol() : login()));
    say(enrolling ? 'Your passkey is set up, and you are signed in.' : 'You are signed in.');
    find('who').focus();
  });
  onClick('out', 'Signing out…', async () => {
    await call('POST', '/auth/logout');
    if (enrolling) return location.replace('/sign-in');
    signedOut('You are signed out.');
    find('act').focus();
  });

  const { origin } = document.body.dataset;
  if (location.origin !== origin) {
    // A passkey belongs to one host name, and the service takes it from that origin alone.
    find('act').hidden = true;
    say('Passkeys do not work at this address. Open this page at ', true);
    const link = document.createElement('a');
    link.href = `${origin}${location.pathname}${enrolment && `#${enrolment}`}`;
    link.textContent = origin;
    return find('status').append(link, '.');
  }
  if (!browserSupportsWebAuthn()) {
    find('act').hidden = true;
    return say('This browser does not support passkeys. Use a current version of Chrome, Edge, Firefox or Safari.', true);
  }
  find('act').disabled = false;
  if (enrolling && !enrolment) {
    find('act').hidden = true;
    return say('The enrolment link is incomplete. Open the whole link again, or ask for a new one.', true);
  }
  say('');
  if (!enrolling) renew().then((is) => is && say('You are signed in.'));
})();
