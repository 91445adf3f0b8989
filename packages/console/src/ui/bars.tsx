// Bars over time as an SVG: one bar a part, of which a share is marked. It scales with its width, and its
// colours follow the scheme.
export interface Bar {
  /** The label on hover. */
  label: string;
  all: number;
  /** The marked share. */
  marked: number;
}

const WIDTH = 1000;
const HEIGHT = 100;
/** The share of a part that its bar covers. */
const FILLED = 0.78;
/** The least height of a bar that is not empty. */
const LEAST = 2;

/** @param label what it shows, for screen readers */
export function Bars({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const most = Math.max(1, ...bars.map(({ all }) => all));
  const width = WIDTH / Math.max(1, bars.length);
  const tall = (many: number) => (many ? Math.max(LEAST, (many / most) * HEIGHT) : 0);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bars.map(({ label: title, all, marked }, index) => (
        <g key={title} class="bar">
          <title>{title}</title>
          <rect class="bar-room" x={index * width} y={0} width={width} height={HEIGHT} />
          <rect
            class="bar-all"
            x={index * width}
            y={HEIGHT - tall(all)}
            width={width * FILLED}
            height={tall(all)}
          />
          <rect
            class="bar-marked"
            x={index * width}
            y={HEIGHT - tall(marked)}
            width={width * FILLED}
            height={tall(marked)}
          />
        </g>
      ))}
    </svg>
  );
}
