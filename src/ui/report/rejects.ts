import { grouped } from '../format.js';
import { html, type Html } from './html.js';
import { rejectText } from '../github-actions.js';
import { recordWithoutPersonal, type PiiSettings } from '../mask.js';
import type { RejectKind } from '../../jobs/job-results.js';
import type { RunReport } from './run-report.js';

/** Records that did not get through, by kind, with samples; undefined when there are none. */
export function rejects({ rejectKinds, summary, settings }: RunReport): Html | undefined {
  if (rejectKinds.size === 0) return undefined;
  const kinds = [...rejectKinds].toSorted(([, a], [, b]) => b.count - a.count);
  const most = kinds[0]![1].count;
  const file = summary.rejectsFile
    ? html`<p class="dim">All of them are in <code>${summary.rejectsFile}</code>.</p>`
    : undefined;
  return html`<h2>What did not get through</h2>
    ${file} ${kinds.map(([name, kind]) => section(name, kind, { most, settings }))}`;
}

function section(
  name: string,
  { count, samples }: RejectKind,
  { most, settings }: { readonly most: number; readonly settings: PiiSettings },
): Html {
  const shown = samples.map(
    ({ source, line, error, record, personal }) =>
      html`<div class="sample">
        <p>
          <span class="mono dim">${source}:${line}</span>
          ${rejectText({ kind: name, error, personal }, settings)}
        </p>
        ${record === undefined ? undefined : html`<pre>${recordWithoutPersonal(record, settings, personal)}</pre>`}
      </div>`,
  );
  return html`<section class="card kind">
    <h3><span>${name}</span><span class="num">${grouped(count)}</span></h3>
    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill warn" width="${(100 * count) / most}" height="1" />
    </svg>
    ${shown}
  </section>`;
}
