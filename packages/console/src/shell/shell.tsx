// The frame around every page: side navigation (a rail of icons on tablets, a drawer on phones), top bar, and
// command palette. Invariant: the first stop of the Tab key is a link that skips the navigation.
import {
  Fingerprint,
  Keyboard,
  LogOut,
  type LucideIcon,
  Menu as MenuIcon,
  Monitor,
  Moon,
  Search,
  Sun,
} from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { positionOf } from '../navigation/positions';
import { environments, organisation, useEnvironments } from '../organisation/environments';
import { type PageEntry, pages } from '../pages';
import { me, signOut } from '../session/session';
import { Button, IconButton } from '../ui/controls/button';
import { Menu } from '../ui/controls/menu';
import { Shortcuts, showShortcuts } from '../ui/controls/shortcuts';
import { Mark } from '../ui/mark';
import { LoadingPage } from '../ui/page';
import { report } from '../ui/toast';
import { isOpen } from './not-allowed';
import { isPaletteOpen, openPalette } from './palette-open';
import { chooseTheme, type Theme, theme } from './theme';

/** Whether the navigation shows the page to the signed-in member. */
const isShown = ({ hidden, needs }: PageEntry): boolean => !hidden && isOpen(needs);

const loadPalette = () => import('./palette');
const Palette = lazy(loadPalette);
/** When to load the palette's code, so that the first letters after its shortcut are not lost. */
const IDLE_AFTER = 1500;
const groups = [...new Set(pages.map(({ group }) => group))];

function Entry({ page, onGo }: { page: PageEntry; onGo: () => void }) {
  const [at] = useLocation();
  const isHere = at === page.path || at.startsWith(`${page.path}/`);
  const { icon: Icon } = page;
  return (
    <li>
      <Link href={page.path} title={page.label} aria-current={isHere ? 'page' : undefined} onClick={onGo}>
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

const themes: [Theme, string, LucideIcon][] = [
  ['system', 'System theme', Monitor],
  ['light', 'Light theme', Sun],
  ['dark', 'Dark theme', Moon],
];

function Account() {
  const { name = '', email = '', role = '' } = me.value ?? {};
  const [, go] = useLocation();
  return (
    <Menu
      label="Your account"
      actions={[
        {
          label: 'Your passkeys and sessions',
          icon: <Fingerprint size={15} />,
          onSelect: () => go('/settings?tab=sign-in'),
        },
        ...themes.map(([choice, label, Icon]) => ({
          label,
          icon: <Icon size={15} />,
          isCurrent: theme.value === choice,
          onSelect: () => chooseTheme(choice),
        })),
        { label: 'Keyboard shortcuts', icon: <Keyboard size={15} />, onSelect: showShortcuts },
        { label: 'Sign out', icon: <LogOut size={15} />, onSelect: () => signOut() },
      ]}
    >
      <span class="account">
        <span class="initials" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
        <span class="account-words">
          <span class="truncate">{name || email}</span>
          <span class="dim">{role}</span>
        </span>
      </span>
    </Menu>
  );
}

/** Truncated text is shown in full on hover. */
function onOver({ target }: PointerEvent): void {
  const cut = target instanceof Element ? target.closest<HTMLElement>('.truncate, .who') : null;
  if (cut && !cut.title && cut.scrollWidth > cut.clientWidth) cut.title = cut.textContent;
}

function useWholeTexts(): void {
  useEffect(() => {
    addEventListener('pointerover', onOver);
    return () => removeEventListener('pointerover', onOver);
  }, []);
}

/** If the navigation covers the page, it gets the focus, and Escape closes it. */
function useDrawer(isOpen: boolean, close: () => void): void {
  useEffect(() => {
    if (!isOpen) return;
    const opener = document.activeElement;
    document.querySelector<HTMLElement>('.side :is(a[aria-current], a)')?.focus();
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return;
      close();
      if (opener instanceof HTMLElement) opener.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [isOpen]);
}

/** Opens the palette with Ctrl K or ⌘ K, and with `/` outside of fields. */
function usePaletteKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isField =
        event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]');
      const opens =
        (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) ||
        (event.key === '/' && !isField);
      if (!opens || event.altKey) return;
      event.preventDefault();
      openPalette();
    };
    addEventListener('keydown', onKey);
    const timer = setTimeout(() => void loadPalette().catch(() => {}), IDLE_AFTER);
    return () => {
      clearTimeout(timer);
      removeEventListener('keydown', onKey);
    };
  }, []);
}

/** A page opens at its top, and after Back where it was left. */
function usePosition() {
  const main = useRef<HTMLElement>(null);
  const [at] = useLocation();
  useLayoutEffect(() => {
    const { current } = main;
    if (!current) return;
    const position = positionOf(`page ${at}`);
    current.scrollTop = position.offset;
    const onScroll = () => {
      position.offset = current.scrollTop;
    };
    current.addEventListener('scroll', onScroll, { passive: true });
    return () => current.removeEventListener('scroll', onScroll);
  }, [at]);
  return main;
}

export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  usePaletteKeys();
  useWholeTexts();
  useDrawer(isOpen, () => setOpen(false));
  const main = usePosition();
  const { isPending, error } = useEnvironments();
  useEffect(() => {
    if (error && !environments.value.length) report(error);
  }, [error]);
  return (
    <div class="shell" data-open={isOpen || undefined}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <IconButton
          label={isOpen ? 'Close navigation' : 'Open navigation'}
          class="only-narrow"
          aria-expanded={isOpen}
          onPress={() => setOpen(!isOpen)}
        >
          <MenuIcon size={20} />
        </IconButton>
        {/* The navigation is hidden on narrow screens, and its badges with it. */}
        <span class="only-narrow waiting">
          {pages.map((page) => page.badge && isShown(page) && <page.badge key={page.path} />)}
        </span>
        <Link href="/" class="brand" aria-label="Secrets Vault">
          <Mark />
          <span>Secrets Vault</span>
        </Link>
        <span class="org grow truncate" title={organisation.value}>
          {organisation.value}
        </span>
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
      <button
        type="button"
        class="veil"
        aria-label="Close navigation"
        tabIndex={-1}
        onClick={() => setOpen(false)}
      />
      <main ref={main} id="main" tabIndex={-1}>
        {/* Pages choose an environment when they open, so they wait until the environments are loaded. */}
        {isPending ? <LoadingPage /> : children}
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
