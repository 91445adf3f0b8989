// The command palette: jumps to a page, secret or action by its first letters (the ARIA combobox pattern, by Zag).
import * as combobox from '@zag-js/combobox';
import { normalizeProps, useMachine } from '@zag-js/preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { here, useRead, vault } from './api';
import { may } from './may';
import { pages } from './pages';
import { isPaletteOpen } from './palette-open';

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

/** Pages with a word that starts with the query, and secrets whose name does. */
function useFound(typed: string): Entry[] {
  const [settled, settle] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), 120);
    return () => clearTimeout(timer);
  }, [typed]);
  const prefix = settled.trim();
  const secrets = useRead(
    ['secrets', 'palette', prefix],
    (signal) => vault().api.GET('/orgs/{org_id}/secrets', { params: { path: here(), query: { prefix, limit: 8 } }, signal }),
    prefix.length > 0,
  );
  return useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const found = pageEntries.filter((page) => (!page.needs || may(page.needs)) && words.every((word) => page.words.includes(word)));
    const named = prefix
      ? (secrets.data?.data ?? []).map((secret) => ({
          label: secret.name ?? '',
          value: `/secrets/${secret.id}`,
          hint: secret.environment ?? '',
        }))
      : [];
    return [...named, ...found];
  }, [typed, prefix, secrets.data]);
}

export default function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [, go] = useLocation();
  const found = useFound(typed);
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
      go(value[0]);
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
            placeholder="Type a page or the start of a secret name"
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
        {!found.length && <p class="dim palette-none">No results.</p>}
      </div>
    </dialog>
  );
}
