// The entries over time, drawn by uPlot. Dragging over the chart selects a time range; the filters do the
// same without a mouse.
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { counted } from '../../counted';
import type { Stretches } from './timeline';

interface ChartProps {
  stretches: Stretches;
  /** A description for screen readers. */
  label: string;
  /** Called with the selected range, in milliseconds. */
  onRange: (from: number, to: number) => void;
}

const HEIGHT = 132;

/** Increments when the colour scheme changes, because a canvas must be redrawn. */
function useScheme(): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const changed = () => setTimes((before) => before + 1);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    dark.addEventListener('change', changed);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', changed);
    };
  }, []);
  return times;
}

/** The colours of the styles for the canvas: `--name` is resolved on an element. */
function coloursOf(box: HTMLElement) {
  const read = (name: string) => {
    const probe = box.querySelector(`.chart-${name}`);
    return probe ? getComputedStyle(probe).color : '';
  };
  return { all: read('all'), refused: read('refused'), dim: read('dim'), line: read('line') };
}

const DAY = 86_400;
const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The labels of the time axis, on one line: times, or dates if the ticks are a day or more apart. */
const timesOf: UPlot.Axis.DynamicValues = (_, splits, __, ___, apart) =>
  splits.map((time) => {
    const date = new Date(time * 1000);
    if (apart >= DAY) return days.format(date);
    return date.getHours() + date.getMinutes() === 0
      ? days.format(date)
      : (apart < 60 ? seconds : hours).format(date);
  });

const at = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

function optionsOf(
  box: HTMLElement,
  { step }: Stretches,
  onRange: ChartProps['onRange'],
  onHover: (index: number | null) => void,
): UPlot.Options {
  const { all, refused, dim, line } = coloursOf(box);
  const bars = UPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
  const points = { show: false };
  const axis = {
    stroke: dim,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
    size: 28,
  };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: {
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
      x: { range: (_, least, most) => [least, most + step] },
    },
    axes: [
      { ...axis, grid: { show: false }, values: timesOf, space: 64 },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000], space: 34 },
    ],
    series: [
      {},
      { label: 'Entries', fill: all, stroke: all, width: 0, paths: bars, points },
      { label: 'Refused or failed', fill: refused, stroke: refused, width: 0, paths: bars, points },
    ],
    hooks: {
      setCursor: [(chart) => onHover(chart.cursor.idx ?? null)],
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width < 4) return;
          onRange(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000);
        },
      ],
    },
  };
}

export default function Chart({ stretches, label, onRange }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const scheme = useScheme();
  const range = useRef(onRange);
  range.current = onRange;
  useEffect(() => {
    const { current } = box;
    if (!current) return;
    const { times, all, refused } = stretches;
    const chart = new UPlot(
      optionsOf(current, stretches, (from, to) => range.current(from, to), setHovered),
      [times, all, refused],
      current,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: current.clientWidth, height: HEIGHT }));
    observer.observe(current);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [stretches, scheme]);
  const { times, all, refused } = stretches;
  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={label}>
        <span class="chart-all" />
        <span class="chart-refused" />
        <span class="chart-dim" />
        <span class="chart-line" />
      </div>
      <figcaption class="small dim" aria-hidden="true">
        {hovered !== null && times[hovered] !== undefined
          ? `${at.format(new Date(times[hovered] * 1000))}: ${counted(all[hovered] ?? 0, 'entry', 'entries')}, ${refused[hovered]} refused or failed`
          : 'Drag over the chart to select a time range.'}
      </figcaption>
    </figure>
  );
}
