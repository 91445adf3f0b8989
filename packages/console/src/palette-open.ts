// Whether the command palette is open. Apart from the palette, whose code is loaded when it is opened first.
import { signal } from '@preact/signals';

export const isPaletteOpen = signal(false);

export const openPalette = (): void => {
  isPaletteOpen.value = true;
};
