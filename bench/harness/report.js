import { cpus, release, totalmem, type as system } from 'node:os';
import { differentWork } from './rounds.js';

/** One line about where and when the figures were made. */
export function machine() {
  const [{ model }] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, Node ${process.versions.node}, ${cpus().length} × ${model}, ${memory} GiB, ${system()} ${release()}`;
}

/**
 * Results as a Markdown table: medians with (minimum to maximum); the last columns are medians of the
 * ratios engagectl / other of the same round. Sides that did other work get no ratio.
 */
export function table({ results, records }) {
  const ours = results.find(({ side }) => side.role === 'ours');
  const rows = results.map((result) => [
    result.side.name,
    spread(result.runs, 'wall', 1, 2),
    spread(result.runs, 'cpu', 1, 2),
    spread(result.runs, 'peakBytes', 2 ** 20, 0),
    records === undefined ? '' : thousands(records / median(result.runs.map(({ wall }) => wall))),
    ...ratios(ours, result),
  ]);
  const head = ['', 'wall s', 'CPU s', 'peak MiB', 'records/s', 'our wall ÷ its', 'our CPU ÷ its'];
  return markdownTable(head, rows);
}

export const markdownTable = (head, rows) =>
  [head, head.map((_, n) => (n === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

function ratios(ours, result) {
  if (result === ours || ours === undefined) return ['', ''];
  const different = differentWork(ours, result);
  if (different !== undefined) return [`no ratio: ${different}`, ''];
  return ['wall', 'cpu'].map((key) => {
    const paired = ours.runs.map((run, n) => run[key] / result.runs[n][key]);
    return median(paired).toFixed(2);
  });
}

function spread(runs, key, unit, digits) {
  const values = runs.map((run) => run[key] / unit);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const thousands = (value) => Math.round(value).toLocaleString('en-US');
