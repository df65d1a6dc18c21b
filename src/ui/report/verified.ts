import { grouped } from '../figures.js';
import { html, type Html } from './html.js';
import { bar } from './outcome-bars.js';
import type { RunReport } from './run-report.js';

/** What verify read back, and what that proves of those it did not look at. */
export function verified({ summary }: RunReport): Html | undefined {
  const { proof, checked = 0, same, different, missing, untold, settled, mostDiffer } = summary;
  if (proof === undefined) return undefined;
  const seen = bar(`Of ${grouped(checked)} that were compared`, [
    { name: 'as they were sent', count: same, tone: 'good' },
    { name: 'different', count: different, tone: 'warn' },
    { name: 'missing', count: missing, tone: 'bad' },
    { name: 'could not be compared', count: untold, tone: 'idle' },
  ]);
  const outcomes =
    settled &&
    bar('Records whose outcome was unknown', [
      { name: 'arrived', count: settled.accepted, tone: 'good' },
      { name: 'not found: they can be sent', count: settled.absent, tone: 'warn' },
      { name: 'still unknown', count: settled.unknown, tone: 'bad' },
    ]);
  return html`<h2>What is proved</h2>
    <p>${`${proof}.`}</p>
    ${seen} ${outcomes} ${ofEveryThousand(mostDiffer)}`;
}

/** A bound as a picture: of every 1,000, how many may differ. */
function ofEveryThousand(most: number | null | undefined): Html | undefined {
  if (typeof most !== 'number') return undefined;
  const mayDiffer = Math.ceil(most * 1000 - 1e-9);
  return html`<p class="words">
      Of every 1,000, those that were not looked at included, 95 % sure:
    </p>
    ${bar('Of every 1,000', [
      { name: 'are as they were sent', count: 1000 - mayDiffer, tone: 'soft' },
      { name: 'may differ', count: mayDiffer, tone: 'warn' },
    ])}`;
}

/** The files of an export that leaves out the days that are there. */
export function days({ summary }: RunReport): Html | undefined {
  if (!summary.days) return undefined;
  const { wanted, present, fetched, refreshed, short } = summary.days;
  return bar(`Of ${grouped(wanted)} days`, [
    { name: 'there before', count: present, tone: 'soft' },
    { name: 'fetched', count: fetched, tone: 'good' },
    { name: 'refreshed', count: refreshed, tone: 'main' },
    { name: 'too short', count: short, tone: 'warn' },
    { name: 'missing', count: wanted - present - fetched - refreshed - short, tone: 'bad' },
  ]);
}
