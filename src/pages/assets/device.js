// The script of the page /device: asks for the code of a terminal login, shows who requests it, and confirms or denies it. Invariants:
// opening the page decides nothing; data from a terminal enters the page only as text; the code is removed from the address bar; a decision takes a button that was in view for a second, and a confirmation the passkey.
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the scope of a classic script; the functions in it are short.
(() => {
  const find = (id) => document.getElementById(id);
  const parts = ['enter', 'one', 'over'];
  let member = null;
  /** The code of the shown login. */
  let code = null;

  /** Takes the code from the address, if there is one. */
  function take() {
    const given = location.hash.slice(1);
    if (!given) return false;
    find('code').value = given.slice(0, 32);
    history.replaceState(null, '', location.pathname);
    // For the link to the correct address, if this is the wrong one.
    window.pageFragment = `#${given}`;
    return true;
  }

  function show(part) {
    for (const name of parts) find(name).hidden = name !== part;
    (part === 'enter' ? find('code') : find(part)).focus();
  }

  /** How long the buttons of the question sleep, in milliseconds: a key or click that was meant for something else decides nothing. */
  const ASLEEP = 1000;
  const deciding = [find('confirm'), find('deny')];
  let asleep = [];
  let waking;

  /** The buttons sleep after the question is shown, after the page gets the focus, and after the keyboard reaches one of them. */
  function sleep() {
    clearTimeout(waking);
    // A button that is busy wakes when its work is done.
    asleep = deciding.filter(
      (button) => asleep.includes(button) || button.getAttribute('aria-disabled') !== 'true',
    );
    for (const button of asleep) button.setAttribute('aria-disabled', 'true');
    waking = setTimeout(() => {
      for (const button of asleep) button.removeAttribute('aria-disabled');
      asleep = [];
    }, ASLEEP);
  }

  const session = window.createSession({
    onSignedIn(who) {
      const isNew = member === null;
      member = who;
      find('name').textContent = `${who.name} (${who.email})`;
      find('ask').hidden = true;
      find('who').hidden = find('signed').hidden = false;
      if (isNew) begin();
    },
    onSignedOut() {
      member = null;
      code = null;
      find('ask').hidden = false;
      find('who').hidden = find('signed').hidden = true;
    },
  });
  const { call, callConfirmed, onClick, say } = session;

  const time = (iso) => new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

  /** Shows who requested the login with the entered code. */
  async function lookUp() {
    const user_code = find('code').value.trim();
    if (!user_code) return show('enter');
    code = null;
    const login = await call('POST', '/auth/device/lookup', { user_code });
    code = login.user_code;
    find('shown').textContent = login.user_code;
    find('client').textContent = login.client_name;
    find('address').textContent = [login.address, login.place].filter(Boolean).join(', ');
    find('asked').textContent = time(login.created_at);
    find('elsewhere').hidden = login.same_address;
    say('');
    show('one');
    sleep();
  }

  /** Looks up the code that the page was opened with; otherwise asks for one. */
  function begin() {
    show('enter');
    if (find('code').value) find('find').click();
  }

  const decide = (verb, send, title, help) => async () => {
    if (code === null) return;
    try {
      await send('POST', `/auth/device/${verb}`, { user_code: code }, `/device#${code}`);
    } catch (error) {
      if (error.code === 'CODE_EXPIRED') show('enter');
      throw error;
    }
    code = null;
    find('code').value = '';
    find('end').textContent = title;
    find('help').textContent = help;
    say('');
    show('over');
  };

  onClick(find('act'), 'Waiting for your device…', async () => {
    await session.login();
    say('');
  });
  onClick(find('out'), 'Signing out…', async () => {
    await session.logout('You are signed out.');
    find('act').focus();
  });
  onClick(find('find'), 'Looking for the login…', lookUp);
  onClick(
    find('confirm'),
    'Confirming…',
    decide(
      'confirm',
      callConfirmed,
      'The terminal is signed in',
      'Return to your terminal. You can close this page.',
    ),
  );
  onClick(
    find('deny'),
    'Denying…',
    decide('deny', call, 'The login was denied', 'The terminal was not signed in.'),
  );
  window.addEventListener('focus', sleep);
  document.addEventListener('visibilitychange', sleep);
  // A press of the mouse gives the focus too, right before its click: the page had it for longer.
  for (const button of deciding) {
    button.addEventListener('focus', () => button.matches(':focus-visible') && sleep());
    button.addEventListener('keydown', (event) => event.repeat && event.preventDefault());
  }
  find('enter').addEventListener('submit', (event) => event.preventDefault());
  window.addEventListener('hashchange', () => take() && member && begin());

  session.offerSso(() => `/device${window.pageFragment ?? ''}`);

  take();
  if (!session.isUsable()) return;
  say('');
  session.renew();
})();
