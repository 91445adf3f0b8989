// How a severity is shown on each platform.
import type { Severity } from './adapter';

interface Shades {
  hex: string;
  /** The colour of an Adaptive Card. */
  card: string;
  /** The Opsgenie priority. */
  priority: string;
}

export const palette: Record<Severity, Shades> = {
  critical: { hex: '#D92D20', card: 'Attention', priority: 'P1' },
  error: { hex: '#F04438', card: 'Attention', priority: 'P2' },
  warning: { hex: '#F79009', card: 'Warning', priority: 'P3' },
  info: { hex: '#2E90FA', card: 'Accent', priority: 'P5' },
};

/** A colour as an integer. */
export const asInteger = (hex: string): number => Number.parseInt(hex.slice(1), 16);

/** A heading without user text. */
export const headingOf = ({ severity, title }: { severity: Severity; title: string }): string =>
  `[${severity}] ${title}`;
