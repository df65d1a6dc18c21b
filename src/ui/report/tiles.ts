import { grouped, msText } from '../figures.js';
import { summaryFigures } from '../summary.js';
import { html, type Html } from './html.js';
import type { RunReport } from './run-report.js';

const wanted = new Set(['accepted', 'rejected', 'unknown', 'not sent', 'records', 'pages', 'rate']);

/** The figures that a glance is for; of those that are 0, only the rejects. */
export function tiles({ summary, history }: RunReport): Html {
  const { throttled, latency } = history;
  const shown = summaryFigures(summary).filter(
    ([label, value]) => wanted.has(label) && (value !== '0' || label === 'rejected'),
  );
  return html`<dl class="tiles">
    ${shown.map(([label, value]) => (label === 'rate' ? tile('records/s', value.split(' ')[0] ?? '') : tile(label, value)))}
    ${tile('requests', grouped(summary.requests))} ${tile('answered by 429', grouped(throttled))}
    ${latency && tile('median request', msText(latency.p50))}
  </dl>`;
}

const tile = (label: string, value: string): Html =>
  html`<div>
    <dt>${label}</dt>
    <dd>${value}</dd>
  </div>`;
