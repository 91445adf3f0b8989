// The command palette: jumps to a page, an action, or anything with a name by a part of it. It is the ARIA
// combobox pattern: the focus stays in the field, and the arrow keys move through the list below it.
// Invariant: the browser handles typing in the field, so no letter is lost.
import type { components } from '@secrets-vault/client';
import { Bot, Keyboard, KeyRound, LogOut, Plus, RefreshCw, ScrollText, User, Users } from 'lucide-preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { leaving } from '../navigation/guard';
import { tokenIn } from '../navigation/router';
import { defaultEnvironment } from '../organisation/environments';
import { hrefOfId } from '../organisation/people';
import { type PageEntry, pages } from '../pages';
import { here, useRead, vault } from '../requests/api';
import { mayAll, mayEverywhere } from '../session/may';
import { signOut } from '../session/session';
import { makeAt, showShortcuts } from '../ui/controls/shortcuts';
import { isPaletteOpen } from './palette-open';

interface Entry {
  key: string;
  label: string;
  hint: string;
  icon: PageEntry['icon'];
  run: (go: (to: string) => void) => void;
}

interface Known extends Entry {
  words: string;
  needs?: string;
  everywhere?: boolean;
}

const ACTION = 'Action';

/** Actions that do not belong to a page. */
const actions: Known[] = [
  {
    key: 'shortcuts',
    label: 'Keyboard shortcuts',
    hint: ACTION,
    icon: Keyboard,
    words: 'keyboard shortcuts keys help',
    run: showShortcuts,
  },
  {
    key: 'sign-out',
    label: 'Sign out',
    hint: ACTION,
    icon: LogOut,
    words: 'sign out log out leave',
    run: () => void signOut(),
  },
];

const ofPages: Known[] = pages.flatMap(({ path, label, group, words = '', needs, icon, makes, hidden }) => {
  if (path.includes(':')) return [];
  const page: Known = {
    key: path,
    label,
    hint: group,
    icon,
    needs,
    words: `${label} ${group} ${words}`.toLowerCase(),
    run: (go) => go(path),
  };
  if (!makes) return hidden ? [{ ...page, hint: ACTION }] : [page];
  const make: Known = {
    key: `${path} +`,
    label: makes.label,
    hint: ACTION,
    icon: Plus,
    needs: makes.needs,
    everywhere: makes.everywhere ?? false,
    words: `${makes.label} create add ${words}`.toLowerCase(),
    run: (go) => makeAt(path, go),
  };
  return [page, make];
});

type Found = components['schemas']['SearchResult'];
type Kind = keyof Found;
type Hit = components['schemas']['SearchHit'];

/** How each kind of result is shown, and where it leads. */
const KINDS: Record<Kind, { icon: PageEntry['icon']; hint: (hit: Hit) => string; at: (hit: Hit) => string }> =
  {
    secrets: {
      icon: KeyRound,
      hint: ({ environment }) => environment ?? '',
      at: ({ id }) => `/secrets/${id}`,
    },
    members: { icon: User, hint: ({ detail }) => detail ?? 'Member', at: ({ id }) => `/members/${id}` },
    teams: { icon: Users, hint: () => 'Team', at: ({ id }) => `/teams/${id}` },
    credentials: { icon: Bot, hint: () => 'Credential', at: ({ id }) => hrefOfId(id) ?? '/credentials' },
    policies: { icon: ScrollText, hint: () => 'Policy', at: ({ id }) => `/policies/${id}` },
    connections: {
      icon: RefreshCw,
      hint: ({ detail }) => detail ?? 'Connection',
      at: ({ id, kind }) => (kind === 'sync' ? `/syncs/connections/${id}` : '/notifications'),
    },
  };

interface Result extends Hit {
  of: Kind;
}

/** Names that begin with the text first; of the same name, that of the default environment first. */
function ranked(found: Found, text: string): Result[] {
  const part = text.toLowerCase();
  const begins = ({ name }: Hit) => Number(!name.toLowerCase().startsWith(part));
  const isUsual = ({ environment }: Hit) => Number(environment !== defaultEnvironment.value);
  const order = (one: Hit, other: Hit) =>
    begins(one) - begins(other) || (one.name === other.name ? isUsual(one) - isUsual(other) : 0);
  return (Object.keys(KINDS) as Kind[]).flatMap((of) =>
    (found[of]?.data ?? []).map((hit) => ({ ...hit, of })).sort(order),
  );
}

const none: Result[] = [];

/**
 * What is found by part of its name, the results of the last query until they are read; and whether the
 * search is still running.
 */
function useNamed(text: string): { results: Result[]; isSearching: boolean } {
  const read = (signal: AbortSignal) =>
    vault().api.GET('/orgs/{org_id}/search', { params: { path: here(), query: { q: text } }, signal });
  const { data, isFetching } = useRead(['secrets', 'palette', text], read, text !== '');
  const last = useRef(none);
  if (data) last.current = ranked(data, text);
  return { results: text ? last.current : none, isSearching: isFetching };
}

/** Pages and actions with words that contain the query, and things whose names contain it. */
function useFound(typed: string): { found: Entry[]; isSearching: boolean } {
  const [settled, settle] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), 120);
    return () => clearTimeout(timer);
  }, [typed]);
  const text = settled.trim();
  // A token is in no address, nor in that of a request.
  const { results, isSearching } = useNamed(tokenIn(text) === undefined ? text : '');
  const found = useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = [...ofPages, ...actions].filter(
      ({ needs, everywhere, ...page }) =>
        (!needs || (everywhere ? mayEverywhere : mayAll)(needs)) &&
        words.every((word) => page.words.includes(word)),
    );
    const isNamed = (label: string) => ` ${label.toLowerCase()}`.includes(` ${words[0] ?? ''}`);
    const rank = ({ label, hint }: Known) => (isNamed(label) ? 0 : 2) + Number(hint === ACTION);
    fits.sort((one, other) => rank(one) - rank(other));
    // What no longer fits goes at once; what still fits stays, so that Enter opens what is shown.
    const part = typed.trim().toLowerCase();
    const fitting = results.filter(({ name, detail }) =>
      [name, detail].some((words) => words?.toLowerCase().includes(part)),
    );
    const ofThings = fitting.map((hit): Entry => {
      const { icon, hint, at } = KINDS[hit.of];
      return { key: hit.id, label: hit.name, hint: hint(hit), icon, run: (go) => go(at(hit)) };
    });
    return [...ofThings, ...fits];
  }, [typed, results]);
  return { found, isSearching: isSearching || typed.trim() !== text };
}

const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

const optionId = (list: string, index: number) => `${list}-${index}`;

interface OptionsProps {
  /** The id of the palette, from which the ids of options are derived. */
  id: string;
  found: Entry[];
  at: number;
  onChoose: (index: number) => void;
  onRun: (entry: Entry) => void;
}

const Options = ({ id, found, at, onChoose, onRun }: OptionsProps) => (
  <div id={`${id}-list`} role="listbox" aria-label="Results" class="menu">
    {found.map((entry, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys, because it keeps the focus.
      <div
        key={entry.key}
        id={optionId(id, index)}
        role="option"
        tabIndex={-1}
        aria-selected={index === at}
        class="menu-item"
        data-highlighted={index === at || undefined}
        onPointerMove={() => onChoose(index)}
        onClick={() => onRun(entry)}
      >
        <entry.icon size={16} aria-hidden="true" />
        <span class="grow truncate">{entry.label}</span>
        <span class="dim small">{entry.hint}</span>
      </div>
    ))}
  </div>
);

export default function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [chosen, choose] = useState(0);
  const [, go] = useLocation();
  const { found, isSearching } = useFound(typed);
  const at = Math.min(chosen, found.length - 1);
  const id = useId();
  const close = () => {
    isPaletteOpen.value = false;
  };
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    dialog.current?.close();
    leaving(() => entry.run(go));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (event.key === 'Enter') run(found[at]);
    else if (step && found.length) choose((at + step + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Search or jump to"
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="dialog-box">
        <input
          role="combobox"
          aria-expanded={found.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length ? optionId(id, at) : undefined}
          aria-autocomplete="list"
          aria-label="Search or jump to"
          placeholder="Type a page, an action or part of a name"
          autocomplete="off"
          spellcheck={false}
          maxLength={255}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            choose(0);
          }}
          onKeyDown={onKey}
        />
        <Options id={id} found={found} at={at} onChoose={choose} onRun={run} />
        {!found.length && (
          <p class="dim palette-none" role="status">
            {isSearching ? 'Searching …' : 'No matching pages, actions or names.'}
          </p>
        )}
      </div>
    </dialog>
  );
}
