// Whether the command palette is open. Separate from the palette, whose code is loaded on first use.
import { signal } from '@preact/signals';

export const isPaletteOpen = signal(false);

export const openPalette = (): void => {
  isPaletteOpen.value = true;
};
