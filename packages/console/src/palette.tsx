// The command palette: goes to a page, a secret or an action by a few letters (the ARIA combobox pattern, by Zag).
import * as combobox from '@zag-js/combobox';
import { normalizeProps, useMachine } from '@zag-js/preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { here, useRead, vault } from './api';
import { defaultEnvironment, environments } from './environments';
import { may } from './may';
import { pages } from './pages';
import { isPaletteOpen } from './palette-open';
import { signOut } from './session';
import { make, makes, showShortcuts } from './shortcuts';

interface Entry {
  label: string;
  value: string;
  hint: string;
}

const pageEntries = pages
  .filter(({ hidden }) => !hidden)
  .map(({ path, label, group, words, needs }) => ({
    label,
    value: path,
    hint: group,
    needs,
    words: `${label} ${group} ${words ?? ''}`.toLowerCase(),
  }));

/** What can be done from anywhere, and on this page. */
const actions = (): (Entry & { words: string; run: () => void })[] => [
  ...(makes() ? [{ label: 'New, on this page', value: 'do:make', hint: 'Action · N', words: 'new create add make', run: make }] : []),
  { label: 'Keyboard shortcuts', value: 'do:keys', hint: 'Action · ?', words: 'keyboard shortcuts keys help', run: showShortcuts },
  { label: 'Sign out', value: 'do:leave', hint: 'Action', words: 'sign out log out leave', run: () => void signOut() },
];

const MOST = 8;
/** Environments that are searched, one after the other until enough is found: the default one first. */
const MOST_ENVIRONMENTS = 5;

/** The first secrets whose names begin so. By name within an environment, which is quick however many there are. */
async function secretsNamed(prefix: string, signal: AbortSignal): Promise<{ data: Entry[] }> {
  const slugs = environments.value.map(({ slug }) => slug).sort((one) => (one === defaultEnvironment.value ? -1 : 0));
  const found: Entry[] = [];
  for (const environment of slugs.slice(0, MOST_ENVIRONMENTS)) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', {
      params: { path: here(), query: { environment, prefix, sort: 'name', limit: MOST - found.length } },
      signal,
    });
    found.push(...data.data.map(({ id, name }) => ({ label: name, value: `/secrets/${id}`, hint: environment })));
    if (found.length >= MOST) break;
  }
  return { data: found };
}

/** Pages and actions whose words begin with what was typed, and secrets whose names do. */
function useFound(typed: string) {
  const [settled, settle] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), 150);
    return () => clearTimeout(timer);
  }, [typed]);
  const prefix = settled.trim();
  const secrets = useRead(
    ['secrets', 'palette', prefix],
    (signal) => secretsNamed(prefix, signal),
    prefix.length > 0 && may('secrets:list'),
  );
  const found = useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (entry: { words: string }) => words.every((word) => entry.words.includes(word));
    const shown = pageEntries.filter((page) => (!page.needs || may(page.needs)) && fits(page));
    return [...(prefix && typed ? (secrets.data ?? []) : []), ...shown, ...actions().filter(fits)];
  }, [typed, prefix, secrets.data]);
  return { found, isSearching: typed.trim() !== prefix || (prefix.length > 0 && secrets.isFetching) };
}

export default function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [, go] = useLocation();
  const { found, isSearching } = useFound(typed);
  const close = () => {
    isPaletteOpen.value = false;
  };
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const service = useMachine(combobox.machine, {
    id: useId(),
    collection: combobox.collection({ items: found }),
    open: true,
    autoFocus: true,
    inputBehavior: 'autohighlight',
    selectionBehavior: 'clear',
    onInputValueChange: ({ inputValue }: { inputValue: string }) => setTyped(inputValue),
    onValueChange({ value }: { value: string[] }) {
      if (!value[0]) return;
      close();
      const action = actions().find((each) => each.value === value[0]);
      if (action) action.run();
      else go(value[0]);
    },
  });
  const api = combobox.connect(service, normalizeProps);
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Search or jump to"
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <div {...api.getRootProps()} class="dialog-box">
        <div {...api.getControlProps()}>
          <input
            {...api.getInputProps()}
            placeholder="A page, or the beginning of a secret's name"
            aria-label="Search or jump to"
            spellcheck={false}
          />
        </div>
        <ul {...api.getContentProps()} class="menu">
          {found.map((entry) => (
            <li key={entry.value} {...api.getItemProps({ item: entry })}>
              <span class="grow truncate">{entry.label}</span>
              <span class="dim">{entry.hint}</span>
            </li>
          ))}
        </ul>
        {!found.length && <p class="dim palette-none">{isSearching ? 'Searching …' : 'Nothing begins like that.'}</p>}
      </div>
    </dialog>
  );
}
