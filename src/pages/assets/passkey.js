// The script of the pages /enrol and /sign-in. Invariant: the enrolment token is removed from the address bar immediately.
(() => {
  const { startRegistration } = window.SimpleWebAuthnBrowser;
  const find = (id) => document.getElementById(id);
  const enrolling = document.body.dataset.page === 'enrol';
  const enrolment = location.hash.slice(1);
  if (enrolling && enrolment) history.replaceState(null, '', location.pathname);
  // For the link to the correct address, if this is the wrong one.
  window.pageFragment = enrolment && `#${enrolment}`;

  function show(member) {
    find('ask').hidden = member !== null;
    find('who').hidden = member === null;
    if (!member) return;
    find('name').textContent = member.name;
    find('email').textContent = member.email;
    find('role').textContent = member.role;
  }

  const session = window.createSession({ onSignedIn: show, onSignedOut: () => show(null) });
  const { call, onClick, say } = session;

  async function enrol() {
    const optionsJSON = await call('POST', '/auth/enrol/options', { token: enrolment });
    const response = await startRegistration({ optionsJSON });
    session.signIn(await call('POST', '/auth/enrol', { token: enrolment, response }));
  }

  onClick(find('act'), 'Waiting for your device…', async () => {
    await (enrolling ? enrol() : session.login());
    say(enrolling ? 'Your passkey is set up, and you are signed in.' : 'You are signed in.');
    find('who').focus();
  });
  onClick(find('out'), 'Signing out…', async () => {
    await session.logout('You are signed out.');
    if (enrolling) return location.replace('/sign-in');
    find('act').focus();
  });

  if (!enrolling) session.offerSso(() => '/sign-in');

  if (!session.isUsable()) return;
  if (enrolling && !enrolment) {
    find('act').hidden = true;
    return say('The enrolment link is incomplete. Open the whole link again, or ask for a new one.', true);
  }
  say('');
  if (!enrolling) session.renew().then((is) => is && say('You are signed in.'));
})();
