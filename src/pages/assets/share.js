// The script of a link's page: on a click it requests the value, with the passphrase if there is one, and shows it. Invariants: nothing is
// requested before the click; the key is sent only in the body of that request, and is removed from the address bar once the value is
// shown.
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the scope of a classic script; the functions in it are short.
(() => {
  const find = (id) => document.getElementById(id);
  const key = location.hash.slice(1);
  const act = find('act');
  const passphrase = find('passphrase');

  function say(words, isError = false) {
    const status = find('status');
    status.textContent = words;
    status.classList.toggle('error', isError);
  }

  /** Nothing can be shown: why, and what to do about it. */
  function end(why, help) {
    find('ask').hidden = true;
    find('why').textContent = why;
    find('help').textContent = help;
    find('over').hidden = false;
    find('over').focus();
    say('');
  }

  function show({ name, version, value }) {
    history.replaceState(null, '', location.pathname);
    find('ask').hidden = true;
    passphrase.value = '';
    find('name').textContent = name;
    find('version').textContent = version;
    find('value').textContent = value;
    find('shown').hidden = false;
    find('shown').focus();
    say('');
    find('copy').addEventListener('click', () => copy(value));
  }

  async function copy(value) {
    try {
      await navigator.clipboard.writeText(value);
      say('Copied.');
    } catch {
      // Without permission or https, the user can copy the selected text.
      getSelection().selectAllChildren(find('value'));
      say('The value is selected. Copy it with your keyboard or the menu of your browser.');
    }
  }

  function askForPassphrase() {
    const isRepeated = !find('locked').hidden;
    find('locked').hidden = false;
    passphrase.required = true;
    passphrase.value = '';
    passphrase.focus();
    if (isRepeated) say('The passphrase is wrong. After ten wrong attempts the link stops working.', true);
    else say('This link needs a passphrase. Ask the person who sent the link.');
  }

  /** The request got no response. */
  class Unreachable extends Error {}

  async function reveal() {
    const answer = await fetch(location.pathname, {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ key, ...(passphrase.value && { passphrase: passphrase.value }) }),
    }).catch(() => {
      throw new Unreachable();
    });
    const json = await answer.json().catch(() => ({}));
    if (answer.ok) return show(json);
    const { code, message = 'The service sent an unexpected response. Try again.' } = json.error ?? {};
    if (code === 'PASSPHRASE_WRONG') return askForPassphrase();
    if (code === 'SHARE_GONE')
      return end(
        'This link is no longer valid',
        'It was used, has expired or was revoked. Ask the person who sent it for a new one.',
      );
    say(
      code === 'RATE_LIMITED' ? 'Too many attempts from your network. Wait a minute and try again.' : message,
      true,
    );
  }

  find('ask').addEventListener('submit', async (event) => {
    event.preventDefault();
    if (act.getAttribute('aria-disabled') === 'true') return;
    act.setAttribute('aria-disabled', 'true');
    say('Opening…');
    try {
      await reveal();
    } catch (error) {
      say(
        error instanceof Unreachable
          ? 'Cannot reach the service. Check your connection and try again.'
          : 'Something went wrong. Try again. If it happens again, ask for a new link.',
        true,
      );
    } finally {
      act.removeAttribute('aria-disabled');
    }
  });

  if (!key)
    return end(
      'This link is incomplete',
      'Open the whole link again, including everything after the # sign.',
    );
  act.disabled = false;
  // Another link in the same tab is another page.
  addEventListener('hashchange', () => location.hash && location.reload());
})();
