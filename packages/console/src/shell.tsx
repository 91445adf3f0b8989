// The frame around every page: navigation at the side (a drawer on phones), the bar on top, and the command palette. Invariant: the first
// stop of the Tab key is a link that skips the navigation.
import { Keyboard, LogOut, Menu as MenuIcon, Monitor, Moon, Search, Sun } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { environments, useEnvironments } from './environments';
import { isOpen } from './not-allowed';
import { type PageEntry, pages } from './pages';
import { isPaletteOpen, openPalette } from './palette-open';
import { me, signOut } from './session';
import { Shortcuts, showShortcuts } from './shortcuts';
import { chooseTheme } from './theme';
import { Button, IconButton } from './ui/button';
import { Mark } from './ui/mark';
import { Menu } from './ui/menu';
import { Skeleton } from './ui/parts';
import { report } from './ui/toast';

/** Whether the navigation has it for the member who is signed in. */
const isShown = ({ hidden, needs }: PageEntry): boolean => !hidden && isOpen(needs);

const Palette = lazy(() => import('./palette'));
const groups = [...new Set(pages.map(({ group }) => group))];

function Entry({ page, onGo }: { page: PageEntry; onGo: () => void }) {
  const [at] = useLocation();
  const isHere = at === page.path || at.startsWith(`${page.path}/`);
  const { icon: Icon } = page;
  return (
    <li>
      <Link href={page.path} aria-current={isHere ? 'page' : undefined} onClick={onGo}>
        <Icon size={17} aria-hidden="true" />
        <span class="grow">{page.label}</span>
        {page.badge && <page.badge />}
      </Link>
    </li>
  );
}

function Navigation({ onGo }: { onGo: () => void }) {
  return (
    <nav aria-label="Console">
      {groups.map((group) => {
        const own = pages.filter((page) => page.group === group && isShown(page));
        return own.length ? (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {own.map((page) => (
                <Entry key={page.path} page={page} onGo={onGo} />
              ))}
            </ul>
          </section>
        ) : null;
      })}
    </nav>
  );
}

function Account() {
  const { name = '', email = '', role = '' } = me.value ?? {};
  return (
    <Menu
      label="Your account"
      actions={[
        { label: 'Light', icon: <Sun size={15} />, onSelect: () => chooseTheme('light') },
        { label: 'Dark', icon: <Moon size={15} />, onSelect: () => chooseTheme('dark') },
        { label: 'As the system', icon: <Monitor size={15} />, onSelect: () => chooseTheme('system') },
        { label: 'Keyboard shortcuts', icon: <Keyboard size={15} />, onSelect: showShortcuts },
        { label: 'Sign out', icon: <LogOut size={15} />, onSelect: () => signOut() },
      ]}
    >
      <span class="account">
        <span class="initials" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
        <span class="account-words">
          {name || email}
          <span class="dim">{role}</span>
        </span>
      </span>
    </Menu>
  );
}

/** Opens the palette by Ctrl K or ⌘ K, and by `/` outside of fields. */
function usePaletteKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isField = event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]');
      const opens = (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isField);
      if (!opens || event.altKey) return;
      event.preventDefault();
      openPalette();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  usePaletteKeys();
  const { isPending, error } = useEnvironments();
  useEffect(() => {
    if (error && !environments.value.length) report(error);
  }, [error]);
  return (
    <div class="shell" data-open={isOpen || undefined}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <IconButton
          label={isOpen ? 'Close the navigation' : 'Open the navigation'}
          class="only-narrow"
          aria-expanded={isOpen}
          onPress={() => setOpen(!isOpen)}
        >
          <MenuIcon size={20} />
        </IconButton>
        <Link href="/" class="brand" aria-label="Secrets Vault">
          <Mark />
          <span>Secrets Vault</span>
        </Link>
        <span class="grow" />
        <Button class="find" onPress={openPalette}>
          <Search size={16} aria-hidden="true" />
          <span class="find-words">Search or jump to</span>
          <kbd>Ctrl K</kbd>
        </Button>
        <Account />
      </header>
      <aside class="side">
        <Navigation onGo={() => setOpen(false)} />
      </aside>
      <button type="button" class="veil" aria-label="Close the navigation" tabIndex={-1} onClick={() => setOpen(false)} />
      <main id="main" tabIndex={-1}>
        {/* Pages choose an environment when they open, so they wait until these are known. */}
        {isPending ? <Skeleton /> : children}
      </main>
      {isPaletteOpen.value && (
        <Suspense fallback={null}>
          <Palette />
        </Suspense>
      )}
      <Shortcuts />
    </div>
  );
}
