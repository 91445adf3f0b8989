// Charts as SVG, from numbers that the service has counted: bars over time, strips, mosaics and lines. They
// scale with their width, and their colours follow the scheme. Invariant: a chart says in words what it
// shows, for screen readers.
import { useRef, useState } from 'preact/hooks';
import type { Bar } from '../histogram';
import './chart.css';

const WIDTH = 1000;
const HEIGHT = 100;
/** The share of a part that its bar covers. */
const FILLED = 0.78;
/** The least height of a bar that is not empty. */
const LEAST = 2;
/** A shorter drag is a click, in pixels. */
const LEAST_DRAG = 4;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** How far apart labels may be. */
const APART = [
  1000,
  5000,
  15_000,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  30 * DAY,
  91 * DAY,
  365 * DAY,
];
const MOST_LABELS = 7;

const formatOf = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options);
const seconds = formatOf({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const hours = formatOf({ hour: '2-digit', minute: '2-digit' });
const days = formatOf({ weekday: 'short', day: 'numeric' });
const dates = formatOf({ day: 'numeric', month: 'short' });
const moments = formatOf({
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** A label that begins after the first share is shown where there is room, and after the second one never. */
const LATE = 0.87;
const LAST = 0.92;

/** Round local times between two times, with their labels. */
function labelsOf(from: number, to: number): { time: number; label: string }[] {
  const apart = APART.find((one) => (to - from) / one <= MOST_LABELS) ?? (to - from) / MOST_LABELS;
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  const format = apart < MINUTE ? seconds : apart < DAY ? hours : apart < 7 * DAY ? days : dates;
  const labels = [];
  for (
    let time = Math.ceil((from - offset) / apart) * apart + offset;
    time < from + LAST * (to - from);
    time += apart
  )
    // Midnight begins a day.
    labels.push({ time, label: ((time - offset) % DAY === 0 && apart < DAY ? dates : format).format(time) });
  return labels;
}

/** Rectangles that stand on the base line. */
const pathOf = (heights: number[]): string => {
  const width = WIDTH / Math.max(1, heights.length);
  return heights
    .map((height, at) =>
      height ? `M${at * width} ${HEIGHT - height}h${width * FILLED}V${HEIGHT}h${-width * FILLED}z` : '',
    )
    .join('');
};

/** What the pointer is at, and where it was pressed: shares of the width. */
interface Pointed {
  at: number;
  pressed: number | null;
}

interface BarsProps {
  bars: readonly Bar[];
  /** When the last bar ends, in milliseconds. */
  to: number;
  /** What it shows, for screen readers. */
  label: string;
  wordsOf: (bar: Bar) => string;
  /** What to say while no bar is pointed at. */
  hint?: string;
  /** Called with the range over which the pointer was dragged, in milliseconds. */
  onRange?: (from: number, to: number) => void;
}

/** Pointing at a chart, and dragging over it. */
function usePointer(onDrag?: (from: number, to: number) => void) {
  const box = useRef<SVGSVGElement>(null);
  // Events can come faster than renders.
  const pressed = useRef<number | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const boxOf = () => (box.current as SVGSVGElement).getBoundingClientRect();
  const shareOf = ({ clientX }: PointerEvent) => {
    const { left, width } = boxOf();
    return Math.max(0, Math.min(0.9999, (clientX - left) / width));
  };
  const point = (at: number | null, from: number | null) => {
    pressed.current = from;
    setPointed(at === null ? null : { at, pressed: from });
  };
  const handlers = {
    onPointerMove: (event: PointerEvent) => point(shareOf(event), pressed.current),
    onPointerLeave: () => point(null, null),
    onPointerCancel: () => point(null, null),
    onPointerDown: (event: PointerEvent) => {
      point(shareOf(event), onDrag ? shareOf(event) : null);
      if (onDrag) box.current?.setPointerCapture(event.pointerId);
    },
    onPointerUp: (event: PointerEvent) => {
      const from = pressed.current;
      const to = shareOf(event);
      point(to, null);
      if (onDrag && from !== null && Math.abs(to - from) * boxOf().width >= LEAST_DRAG)
        onDrag(Math.min(from, to), Math.max(from, to));
    },
  };
  return { box, pointed, handlers };
}

/** One bar for each part of a time; a share of it is marked. */
export function Bars({ bars, to, label, wordsOf, hint, onRange }: BarsProps) {
  const from = bars[0]?.time ?? to;
  const most = Math.max(1, ...bars.map(({ all }) => all));
  const tall = (many: number) => (many ? Math.max(LEAST, (many / most) * HEIGHT) : 0);
  const timeAt = (share: number) => from + share * (to - from);
  const { box, pointed, handlers } = usePointer(
    onRange && ((first, last) => onRange(timeAt(first), timeAt(last))),
  );
  const width = WIDTH / Math.max(1, bars.length);
  const index = pointed && Math.floor(pointed.at * bars.length);
  const bar = index === null ? undefined : bars[index];
  return (
    <figure class="chart">
      <div class="chart-most small dim" aria-hidden="true">
        {most.toLocaleString()}
      </div>
      <svg
        ref={box}
        class={onRange ? 'bars draggable' : 'bars'}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        {...handlers}
      >
        {bar && index !== null && (
          <rect class="bar-at" x={index * width} y={0} width={width} height={HEIGHT} />
        )}
        <path class="bar-all" d={pathOf(bars.map(({ all }) => tall(all)))} />
        <path class="bar-marked" d={pathOf(bars.map(({ marked }) => tall(marked)))} />
        {pointed && pointed.pressed !== null && (
          <rect
            class="bar-range"
            x={Math.min(pointed.at, pointed.pressed) * WIDTH}
            y={0}
            width={Math.abs(pointed.at - pointed.pressed) * WIDTH}
            height={HEIGHT}
          />
        )}
      </svg>
      <div class="chart-times small dim" aria-hidden="true">
        {labelsOf(from, to).map(({ time, label }) => (
          <span
            key={time}
            class={time > from + LATE * (to - from) ? 'late' : undefined}
            style={{ left: `${((time - from) / (to - from)) * 100}%` }}
          >
            {label}
          </span>
        ))}
      </div>
      <figcaption class="small dim" aria-hidden="true">
        {bar ? `${moments.format(bar.time)}: ${wordsOf(bar)}` : hint}
      </figcaption>
    </figure>
  );
}

export type Mark = 'good' | 'bad' | 'plain';

const MARK = 6;
const TALL = 20;

/** What happened one after the other, oldest first; a failure is taller. */
export function Strip({ marks, room, label }: { marks: readonly Mark[]; room: number; label: string }) {
  return (
    <svg class="strip" role="img" aria-label={label} width={room * MARK} height={TALL}>
      <title>{label}</title>
      {marks.map((mark, at) => {
        const height = mark === 'bad' ? TALL : 0.6 * TALL;
        return (
          <rect
            key={at}
            class={`mark-${mark}`}
            x={at * MARK}
            y={TALL - height}
            width={MARK - 2}
            height={height}
          />
        );
      })}
    </svg>
  );
}

const SQUARES = 25;
const MOST_SQUARES = 500;
const SQUARE = 10;

/** Squares row by row: those from `first` until before `last`. */
const squaresOf = (first: number, last: number): string =>
  Array.from({ length: Math.max(0, last - first) }, (_, index) => {
    const at = first + index;
    return `M${(at % SQUARES) * SQUARE} ${Math.floor(at / SQUARES) * SQUARE}h${SQUARE - 2}v${SQUARE - 2}h${2 - SQUARE}z`;
  }).join('');

/** A square for each of many, of which some are bold. Beyond 500, a square stands for several. */
export function Mosaic({ all, bold, label }: { all: number; bold: number; label: string }) {
  const each = Math.max(1, Math.ceil(all / MOST_SQUARES));
  const squares = Math.ceil(all / each);
  const filled = Math.min(squares, Math.ceil(bold / each));
  return (
    <svg
      class="mosaic"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${SQUARES * SQUARE} ${Math.max(1, Math.ceil(squares / SQUARES)) * SQUARE}`}
    >
      <path class="square-bold" d={squaresOf(0, filled)} />
      <path class="square-faint" d={squaresOf(filled, squares)} />
    </svg>
  );
}

/** A line of numbers over time, in the height of a text. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(1, ...values);
  const apart = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${at * apart},${HEIGHT - (value / most) * (HEIGHT - LEAST)}`);
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      <polyline points={points.join(' ')} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
