const [width, height] = [460, 280];
const margin = { left: 64, right: 70, top: 34, bottom: 44 };
const colours = ['#2f6fde', '#c2410c', '#15803d', '#7e22ce'];

/**
 * A chart of lines as an SVG text that suits light and dark pages. `lines` are { name, points: [x, y][],
 * dashed }; a dashed one has the colour of the line before it. An axis: { label, log, ticks, from }.
 */
export function lineChart({ title, x, y, lines }) {
  const all = lines.flatMap(({ points }) => points);
  const across = scale(
    x,
    all.map(([value]) => value),
    [margin.left, width - margin.right],
  );
  const up = scale(
    y,
    all.map(([, value]) => value),
    [height - margin.bottom, margin.top],
  );
  const body = [
    ...across.ticks.map((value) => tickX(across.at(value), short(value))),
    ...up.ticks.map((value) => tickY(up.at(value), short(value))),
    ...lines.map((line, n) => drawn(line, colourOf(lines, n), across, up)),
    `<text class="title" x="${margin.left}" y="18">${title}</text>`,
    `<text x="${(width + margin.left - margin.right) / 2}" y="${height - 8}" text-anchor="middle">${x.label}</text>`,
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">
<style>
text { font: 12px system-ui, sans-serif; fill: #444; }
.title { font-weight: 600; fill: #222; }
.grid { stroke: #8884; }
@media (prefers-color-scheme: dark) { text { fill: #bbb; } .title { fill: #eee; } }
</style>
${body.join('\n')}
</svg>
`;
}

/** Dashed lines do not count. */
const colourOf = (lines, n) =>
  colours[lines.slice(0, n + 1).filter(({ dashed }) => !dashed).length - 1];

function scale({ log, ticks, from }, values, [start, end]) {
  const least = from ?? Math.min(...values);
  const most = Math.max(...values);
  const shape = log ? Math.log10 : (value) => value;
  const marks = ticks ?? (log ? powers(least, most) : steps(least, most));
  const [low, high] = [Math.min(least, ...marks), Math.max(most, ...marks)].map(shape);
  const at = (value) => start + ((shape(value) - low) / (high - low || 1)) * (end - start);
  return { at: (value) => Number(at(value).toFixed(1)), ticks: marks };
}

/** The powers of ten around the values. */
function powers(least, most) {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  return Array.from({ length: last - first + 1 }, (_, n) => 10 ** (first + n));
}

/** About five round numbers. */
function steps(least, most) {
  const raw = (most - least) / 4 || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((each) => each >= raw);
  const first = Math.floor(least / step);
  return Array.from({ length: Math.ceil(most / step) - first + 1 }, (_, n) => (first + n) * step);
}

const tickX = (at, text) =>
  `<line class="grid" x1="${at}" x2="${at}" y1="${margin.top}" y2="${height - margin.bottom}"/>` +
  `<text x="${at}" y="${height - margin.bottom + 16}" text-anchor="middle">${text}</text>`;

const tickY = (at, text) =>
  `<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${at}" y2="${at}"/>` +
  `<text x="${margin.left - 6}" y="${at + 4}" text-anchor="end">${text}</text>`;

function drawn({ name, points, dashed }, colour, across, up) {
  const places = points.map(([x, y]) => `${across.at(x)},${up.at(y)}`);
  const dash = dashed ? ' stroke-dasharray="4 4" opacity="0.6"' : '';
  const [lastX, lastY] = places.at(-1).split(',').map(Number);
  const dots = dashed ? [] : places.map((place) => dot(place.split(','), colour));
  return [
    `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>`,
    ...dots,
    `<text x="${lastX + 8}" y="${lastY + 4}" style="fill:${colour}">${name}</text>`,
  ].join('');
}

const dot = ([x, y], colour) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`;

const short = (value) =>
  new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 }).format(
    value,
  );
