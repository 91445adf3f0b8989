// The colour scheme: that of the system, or a chosen one. Only the choice is stored.
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'theme';
export const theme = signal<Theme>('system');

function apply(choice: Theme): void {
  theme.value = choice;
  if (choice === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

export function chooseTheme(choice: Theme): void {
  localStorage.setItem(KEY, choice);
  apply(choice);
}

export function applyStoredTheme(): void {
  const stored = localStorage.getItem(KEY);
  apply(stored === 'light' || stored === 'dark' ? stored : 'system');
}
