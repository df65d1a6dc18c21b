import { msText, secondsText } from '../figures.js';
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
  readonly series: readonly Series[];
  /** Of the whole width. */
  readonly seconds: number;
  readonly format: (value: number) => string;
}

const height = 100;

/**
 * A chart over time: values of equally long stretches, drawn as steps. The drawing stretches to
 * any width; all text stands beside it, so that it keeps its size.
 */
export function chart({ title, words, series, seconds, format }: Chart): Html {
  const count = Math.max(1, ...series.map(({ values }) => values.length));
  const top = niceCeiling(
    Math.max(0, ...series.flatMap(({ values }) => values.map((v) => v ?? 0))),
  );
  const ticks = [top, top / 2, 0].map((value) => html`<span>${format(value)}</span>`);
  const legend =
    series.length > 1
      ? html`<span class="legend"
          >${series.map(({ name, tone }) => html`<span><i class="${tone}"></i>${name}</span>`)}</span
        >`
      : undefined;
  const scale = { top, count };
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
        ${series.map((one) => drawing(one, scale))} ${tips(series, { count, seconds, format })}
      </svg>
      <div class="times" aria-hidden="true">
        <span>0</span><span>${timeText(seconds / 2)}</span><span>${timeText(seconds)}</span>
      </div>
    </div>
    <p class="words">${words}</p>
  </figure>`;
}

interface Scale {
  /** Value at the upper edge. */
  readonly top: number;
  readonly count: number;
}

function drawing({ values, tone, shape }: Series, { top }: Scale): Html {
  const y = (value: number) => round(height - (value / top) * height);
  if (shape === 'bars') {
    const bars = values.map((value, x) =>
      value ? `M${x + 0.1} ${height}V${y(value)}h.8V${height}Z` : '',
    );
    return html`<path class="fill ${tone}" d="${bars.join('')}" />`;
  }
  const line = html`<path class="line ${tone}" d="${steps(values, y)}" />`;
  if (shape === 'line') return line;
  const area = `M0 ${height}${values.map((value, x) => `V${y(value ?? 0)}H${x + 1}`).join('')}V${height}Z`;
  return html`<path class="area ${tone}" d="${area}" />${line}`;
}

/** One line with gaps where there is no value. */
function steps(values: Series['values'], y: (value: number) => number): string {
  let isOpen = false;
  const parts = values.map((value, x) => {
    if (value === undefined) {
      isOpen = false;
      return '';
    }
    const to = isOpen ? `V${y(value)}` : `M${x} ${y(value)}`;
    isOpen = true;
    return `${to}H${x + 1}`;
  });
  return parts.join('');
}

/** What the pointer is told over each stretch. */
function tips(
  series: readonly Series[],
  { count, seconds, format }: { count: number; seconds: number; format: Chart['format'] },
): Html[] {
  return Array.from({ length: count }, (_, x) => {
    const at = timeText((seconds * x) / count);
    const said = series.flatMap(({ name, values }) =>
      values[x] === undefined ? [] : [`${name} ${format(values[x])}`],
    );
    return html`<rect class="tip" x="${x}" width="1" height="${height}"
      ><title>${`${at}: ${said.join(', ') || 'nothing'}`}</title></rect
    >`;
  });
}

/** 1, 2, 2.5 or 5 times a power of ten; halves of it are short, too. */
export function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}

const timeText = (seconds: number): string =>
  seconds < 60 ? msText(seconds * 1000) : secondsText(seconds);

const round = (value: number): number => Math.round(value * 100) / 100;
