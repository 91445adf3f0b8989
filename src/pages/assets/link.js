// The script of the page /sso/link: links an identity to the member by the member's passkey. Invariant: it leads to a path of this
// deployment alone, whatever the address says.
(() => {
  const find = (id) => document.getElementById(id);
  const given = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  // For the link to the correct address, if this is the wrong one.
  window.pageFragment = given && `#${given}`;
  // What the service refuses as return_to.
  const returnTo = /^\/(?![/\\])[!-~]*$/.test(given) ? given : '/console';

  const session = window.createSession({ onSignedIn: () => {}, onSignedOut: () => {} });
  session.onClick(find('act'), 'Waiting for your device…', async () => {
    await session.link();
    session.say('You are signed in.');
    location.assign(returnTo);
  });
  if (session.isUsable()) session.say('');
})();
