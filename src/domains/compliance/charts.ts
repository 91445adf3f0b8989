// The charts of a compliance report: inline SVG without scripts or inline styles, which the page's policy
// forbids. Each chart has a text description, and each number is printed beside its bar, so nothing depends
// on colour. Text enters only through hono's `html`.
import { html } from 'hono/html';
import type { Markup } from '../../http/html-page';

export interface Bar {
  label: string;
  /** Segments of the bar, in order, each with a stylesheet class and a number. */
  parts: { name: string; className: string; value: number }[];
}

/** Widths of a chart, its labels and the text beside its bars. */
export interface Shape {
  width: number;
  label: number;
  number: number;
}
export const narrow: Shape = { width: 520, label: 150, number: 120 };
export const wide: Shape = { width: 1040, label: 250, number: 240 };
const ROW = 30;
const THICK = 16;

const total = ({ parts }: Bar) => parts.reduce((sum, { value }) => sum + value, 0);

/** Horizontal bars on a common scale; `saying` is the text beside a bar, by default its total. */
export function bars(
  title: string,
  list: Bar[],
  { width: whole, label, number }: Shape,
  saying: (bar: Bar) => string = (bar) => total(bar).toLocaleString('en'),
): Markup {
  const most = Math.max(1, ...list.map(total));
  const scale = (value: number) => (value / most) * (whole - label - number);
  const height = list.length * ROW;
  const row = (bar: Bar, at: number) => {
    let x = label;
    const middle = at * ROW + ROW / 2;
    const stretches = bar.parts
      .filter(({ value }) => value > 0)
      .map(({ className, value }) => {
        const width = Math.max(2, scale(value));
        x += width;
        return html`<rect class="${className}" x="${(x - width).toFixed(1)}" y="${middle - THICK / 2}" width="${width.toFixed(1)}" height="${THICK}"/>`;
      });
    return html`<text class="label" x="${label - 10}" y="${middle}" text-anchor="end" dominant-baseline="central">${bar.label}</text>
<line class="axis" x1="${label}" x2="${label}" y1="${at * ROW + 3}" y2="${(at + 1) * ROW - 3}"/>${stretches}
<text class="number" x="${(x + 8).toFixed(1)}" y="${middle}" dominant-baseline="central">${saying(bar)}</text>`;
  };
  const words = list.map((bar) => `${bar.label}: ${saying(bar)}`).join('; ');
  return html`<svg viewBox="0 0 ${whole} ${height}" role="img" aria-label="${title}. ${words}.">${list.map(row)}</svg>`;
}

/** A single full-width bar, in segments. */
export function ratio(title: string, parts: Bar['parts']): Markup {
  const all = Math.max(
    1,
    parts.reduce((sum, { value }) => sum + value, 0),
  );
  let x = 0;
  const stretches = parts
    .filter(({ value }) => value > 0)
    .map(({ className, value }) => {
      const width = (value / all) * 1000;
      x += width;
      return html`<rect class="${className}" x="${(x - width).toFixed(1)}" y="0" width="${Math.max(0, width - 3).toFixed(1)}" height="12" rx="2"/>`;
    });
  const words = parts.map(({ name, value }) => `${name}: ${value}`).join('; ');
  return html`<svg class="ratio" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="${title}. ${words}.">${stretches}</svg>`;
}
