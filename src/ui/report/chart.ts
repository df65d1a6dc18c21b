import { msText, secondsText } from '../format.js';
import { html, type Html } from './html.js';

/** One line of a chart; undefined where there is no value. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
  /** Class of the style sheet that gives its colour. */
  readonly tone: 'main' | 'soft' | 'warn' | 'bad';
  readonly shape: 'area' | 'line' | 'bars';
}

export interface Chart {
  readonly title: string;
  /** What the chart says, in words, for those who do not see it. */
  readonly words: string;
  /** All of the same length. */
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const height = 100;

/**
 * A chart over so many seconds: values of equally long stretches, drawn as steps. The drawing
 * stretches to any width; all text stands beside it, so that it keeps its size.
 */
export function chart({ title, words, series, format }: Chart, seconds: number): Html {
  const count = series[0]?.values.length ?? 0;
  const top = niceCeiling(Math.max(...series.flatMap(({ values }) => values.map((v) => v ?? 0))));
  const ticks = [top, top / 2, 0].map((value) => html`<span>${format(value)}</span>`);
  const names = series.map(({ name, tone }) => html`<span><i class="${tone}"></i>${name}</span>`);
  const legend = series.length > 1 ? html`<span class="legend">${names}</span>` : undefined;
  return html`<figure class="chart card">
    <figcaption><b>${title}</b>${legend}</figcaption>
    <div class="plot">
      <div class="ticks" aria-hidden="true">${ticks}</div>
      <svg
        viewBox="0 0 ${count} ${height}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${`${title}: ${words}`}"
      >
        <path class="grid" d="M0 0H${count}M0 50H${count}M0 100H${count}" />
        ${series.map((one) => drawing(one, top))} ${Array.from({ length: count }, (_, x) => tip(x))}
      </svg>
      <div class="times" aria-hidden="true">
        <span>0</span><span>${timeText(seconds / 2)}</span><span>${timeText(seconds)}</span>
      </div>
    </div>
    <p class="words">${words}</p>
  </figure>`;

  /** What the pointer is told over a stretch. */
  function tip(x: number): Html {
    const said = series.flatMap(({ name, values: { [x]: value } }) =>
      value === undefined ? [] : [`${name} ${format(value)}`],
    );
    const text = `${timeText((seconds * x) / count)}: ${said.join(', ') || 'nothing'}`;
    return html`<rect class="tip" x="${x}" width="1" height="${height}"
      ><title>${text}</title></rect
    >`;
  }
}

/** `top` is the value at the upper edge. */
function drawing({ values, tone, shape }: Series, top: number): Html {
  const y = (value: number) => Math.round((height - (value / top) * height) * 100) / 100;
  if (shape === 'bars') {
    const bars = values.map((value, x) =>
      value ? `M${x + 0.1} ${height}V${y(value)}h.8V${height}Z` : '',
    );
    return html`<path class="fill ${tone}" d="${bars.join('')}" />`;
  }
  const steps = values.map((value, x) => {
    if (value === undefined) return '';
    return values[x - 1] === undefined ? `M${x} ${y(value)}H${x + 1}` : `V${y(value)}H${x + 1}`;
  });
  const line = html`<path class="line ${tone}" d="${steps.join('')}" />`;
  if (shape === 'line') return line;
  const area = values.map((value, x) => `V${y(value ?? 0)}H${x + 1}`);
  return html`<path class="area ${tone}" d="M0 ${height}${area.join('')}V${height}Z" />${line}`;
}

/** 1, 2, 4 or 5 times a power of ten; halves of it are short, too. */
function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 5].find((factor) => factor * power >= value) ?? 10);
}

const timeText = (seconds: number): string =>
  seconds < 60 ? msText(seconds * 1000) : secondsText(seconds);
