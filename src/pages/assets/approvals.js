// The script of the page /approvals: lists requests waiting for the signed-in member, shows one request in full, and approves or rejects
// it. Invariant: data of a request enters the page only as text, never as markup.
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the scope of a classic script; the functions in it are short.
(() => {
  const find = (id) => document.getElementById(id);
  /** How often the list is read again, in milliseconds. */
  const EVERY = 20_000;
  let org = null;
  let timer;

  const session = window.createSession({
    onSignedIn(member) {
      const isNew = org === null;
      org = member.org_id;
      find('name').textContent = member.name;
      find('ask').hidden = true;
      find('who').hidden = false;
      if (isNew) route().catch(() => {});
    },
    onSignedOut() {
      org = null;
      clearTimeout(timer);
      find('ask').hidden = false;
      find('who').hidden = true;
    },
  });
  const { call, callConfirmed, onClick, say } = session;
  const path = (rest) => `/orgs/${org}/approvals${rest}`;

  /** An element with text, and children. */
  function element(name, text, ...children) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    made.append(...children);
    return made;
  }

  const time = (iso) => (iso ? new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' }) : null);
  const people = (decisions) =>
    decisions.map(({ name, member_id, decision }) => `${name ?? member_id}: ${decision === 'approve' ? 'approved' : 'rejected'}`);

  async function list() {
    clearTimeout(timer);
    const waiting = [];
    for (let cursor = ''; ; ) {
      const page = await call('GET', path(`?waiting_for=me&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`));
      waiting.push(...page.data);
      if (!page.next_cursor || waiting.length >= 500) break;
      cursor = page.next_cursor;
    }
    find('one').hidden = true;
    find('all').hidden = false;
    find('empty').hidden = waiting.length > 0;
    find('list').replaceChildren(
      ...waiting.map((approval) => {
        const link = element('a', approval.summary);
        link.href = `#${approval.id}`;
        const where = [approval.target.environment, time(approval.created_at)].filter(Boolean).join(' · ');
        return element('li', '', link, element('span', where));
      }),
    );
    timer = setTimeout(() => list().catch(() => {}), EVERY);
  }

  /** What deciders see of a request, in order. */
  const rowsOf = (approval) => [
    ['Status', approval.status],
    ['Operation', approval.operation],
    ['Target', [approval.target.name ?? approval.target.id, approval.target.environment].filter(Boolean).join(' in ')],
    ['Requester', `${approval.requester.name ?? ''} (${approval.requester.kind}, ${approval.requester.id})`],
    ['Accountable', approval.requester.accountable.map(({ name, member_id }) => name ?? member_id).join(', ')],
    ['Reason', approval.request.reason],
    ['From', [approval.request.ip, approval.request.place].filter(Boolean).join(', ')],
    ['Program', approval.request.user_agent],
    ['Request', `${approval.request.method} ${approval.request.path}`],
    ['Digest', approval.request.digest],
    ['Policies', approval.policies.map(({ name, required }) => `${name} (${required} required)`).join(', ')],
    ['Decisions', people(approval.decisions).join(', ')],
    ['Requested', time(approval.created_at)],
    ['Expires', time(approval.expires_at)],
  ];

  function show(approval) {
    clearTimeout(timer);
    find('all').hidden = true;
    find('one').hidden = false;
    find('summary').textContent = approval.summary;
    find('facts').replaceChildren(...rowsOf(approval).flatMap(([name, text]) => (text ? [element('dt', name), element('dd', text)] : [])));
    find('decide').hidden = !approval.may_decide;
    find('barred').hidden = approval.may_decide || approval.status !== 'pending';
    find('one').focus();
  }

  const shown = () => location.hash.slice(1);

  /** Shows what the address names: one request, or the list. */
  async function route() {
    if (org === null) return;
    if (shown().startsWith('apr_')) show(await call('GET', path(`/${encodeURIComponent(shown())}`)));
    else await list();
  }

  const decide = (verb, done) => async () => {
    show(await callConfirmed('POST', path(`/${encodeURIComponent(shown())}/${verb}`)));
    say(done);
  };

  onClick(find('act'), 'Waiting for your device…', async () => {
    await session.login();
    say('');
    find('who').focus();
  });
  onClick(find('out'), 'Signing out…', async () => {
    await session.logout('You are signed out.');
    find('act').focus();
  });
  onClick(find('approve'), 'Approving…', decide('approve', 'You approved this request.'));
  onClick(find('reject'), 'Rejecting…', decide('reject', 'You rejected this request.'));
  window.addEventListener('hashchange', () => {
    say('');
    route().catch((error) => say(error.message, true));
  });

  if (!session.isUsable()) return;
  say('');
  session.renew();
})();
