import { grouped } from '../figures.js';
import type { Summary } from '../summary.js';
import { html, type Html } from './html.js';

/** What became of the records of a write, as one bar; undefined for exports and empty inputs. */
export function outcomes(summary: Summary): Html | undefined {
  const { read, accepted, resumed, rejected, unknown, notSent, duplicates } = summary;
  if (!read) return undefined;
  const parts = [
    { name: 'accepted', count: accepted, tone: 'good' },
    { name: 'accepted before', count: resumed, tone: 'soft' },
    { name: 'rejected', count: rejected, tone: 'warn' },
    { name: 'unknown', count: unknown, tone: 'bad' },
    { name: 'not sent', count: notSent, tone: 'idle' },
    { name: 'duplicates', count: duplicates, tone: 'main' },
  ].flatMap(({ count = 0, ...part }) => (count > 0 ? [{ ...part, count }] : []));
  const words = parts.map(({ name, count }) => `${grouped(count)} ${name}`).join(', ');
  let x = 0;
  const bars = parts.map(({ count, tone }) => {
    // a handful among millions is seen, too
    const width = Math.max((100 * count) / read, 0.6);
    const bar = html`<rect class="fill tone-${tone}" x="${x}" width="${width}" height="10" />`;
    x += width;
    return bar;
  });
  return html`<section class="card outcome">
    <svg
      viewBox="0 0 ${x} 10"
      preserveAspectRatio="none"
      role="img"
      aria-label="${`Of ${grouped(read)} records: ${words}`}"
    >
      ${bars}
    </svg>
    <ul class="keys">
      ${parts.map(({ name, count, tone }) => html`<li><i class="tone-${tone}"></i>${grouped(count)} ${name}</li>`)}
    </ul>
  </section>`;
}
