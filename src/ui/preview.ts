import { textTable, formatBytes, count, grouped, formatDuration } from './format.js';
import { sanitize, sanitizedJson, sanitizeJsonText, versioned } from './sanitize.js';
import type { Preview } from '../jobs/write/preview.js';
import type { Runtime } from '../runtime.js';

type Column = Preview['columns'][number];

/** Maximum columns shown to people; JSON contains all. */
const maxColumns = 60;

/** Prints a preview on stdout: text for people, or one JSON object. */
export function printPreview(
  preview: Preview,
  { json }: { readonly json: boolean },
  { stdout }: Pick<Runtime, 'stdout'>,
): void {
  const width = (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY;
  stdout.write(json ? asJson(preview) : sanitize(asText(preview, width)));
}

/** Keeps records as written, because parsing could round their numbers. */
function asJson({ first, ...rest }: Preview): string {
  const records = first.map(
    ({ record, ...place }) =>
      `${sanitizedJson(place).slice(0, -1)},"record":${sanitizeJsonText(record)}}`,
  );
  const head = sanitizedJson(versioned({ command: 'upload', preview: true, ...rest }));
  return `${head.slice(0, -1)},"first":[${records.join(',')}]}\n`;
}

const asText = (preview: Preview, width: number): string =>
  [records, columns, mistakes, rejects, estimate]
    .map((part) => part(preview, width))
    .filter((part) => part !== '')
    .join('\n');

function records({ first, source }: Preview): string {
  if (first.length === 0) return 'Nothing would be sent\n';
  const which = first.length === 1 ? 'record as it' : `${grouped(first.length)} records as they`;
  const lines = first.map((record) => `  ${place(record, source)}  ${record.record}\n`);
  return `The first ${which} would be sent\n${lines.join('')}`;
}

function columns(
  { columns: all, records: read, rejected, complete }: Preview,
  width: number,
): string {
  if (all.length === 0) return '';
  const sent = read - rejected;
  const rows = all.slice(0, maxColumns).map((column) => {
    const filled = column.filled === 0 ? '-' : share(column.filled, sent);
    return [column.column, sentAs(column), typeOf(column), filled, lengths(column)].map(oneLine);
  });
  const head = ['COLUMN', 'SENT AS', 'TYPE', 'FILLED', 'LENGTH'];
  const table = textTable([head, ...rows], width - 2);
  const more =
    all.length > maxColumns ? `and ${grouped(all.length - maxColumns)} more: see --json\n` : '';
  const of = complete ? grouped(sent) : `the first ${grouped(sent)}`;
  return `Columns, of ${of} ${sent === 1 ? 'record' : 'records'} that would be sent\n${indented(table + more)}`;
}

function sentAs({ key, part }: Column): string {
  if (key === null) return 'not sent';
  return part === 'record' ? key : `${part}.${key}`;
}

function typeOf({ types, looksLike }: Column): string {
  const type = types.join(' or ');
  if (looksLike === null) return type;
  return types.length === 1 && types[0] === 'string' && looksLike === 'date'
    ? 'date'
    : `${type}, looks like ${looksLike}`;
}

function lengths({ shortest, longest }: Column): string {
  if (shortest === null) return '';
  return shortest === longest ? String(longest) : `${shortest} to ${longest}`;
}

/** Formats a share: 100 % only for all, 0 % only for none. */
function share(part: number, whole: number): string {
  if (part === whole) return '100 %';
  const percent = (100 * part) / whole;
  return percent < 1 ? '< 1 %' : percent > 99 ? '> 99 %' : `${Math.round(percent)} %`;
}

function mistakes({ mistakes: all, rejected, source }: Preview): string {
  if (all.length === 0) return rejected === 0 ? 'No likely mistakes\n' : '';
  const lines = all.map(({ column, what, fix, code, line, ...seen }) => {
    const where =
      line === null ? '' : ` (${place({ source: seen.source ?? source, line }, source)})`;
    const refusal = code === null ? '' : `; the service refuses it with ${code}`;
    const name = column === null ? '' : `${oneLine(column)}: `;
    return `${name}${oneLine(what)}${where}${refusal}\n  fix: ${oneLine(fix)}\n`;
  });
  return `Likely mistakes\n${indented(lines.join(''))}`;
}

function rejects({ rejects: first, rejectReasons, rejected, source }: Preview): string {
  if (rejected === 0) return '';
  const rows = first.map(
    (reject) => `${place(reject, source)}  ${reject.stage}: ${oneLine(reject.error)}\n`,
  );
  const counts = rejectReasons.map(
    ({ reason, count: rows }) =>
      `${rows === 1 ? 'once' : `${grouped(rows)} times`} ${oneLine(reason)}\n`,
  );
  const all = rejected > first.length ? [...rows, ...counts] : rows;
  return `Rejected, not to be sent: ${grouped(rejected)}\n${indented(all.join(''))}`;
}

function estimate({ estimate: of, complete, bytesRead }: Preview): string {
  const read = complete
    ? ''
    : `Only the first ${formatBytes(bytesRead)} were looked at; --check reads everything\n`;
  if (of === null) return `${read}How much there is to send is not known: it comes from a pipe\n`;
  const about = complete ? '' : 'about ';
  const { secondsPerRequest, inFlight } = of.assumed;
  const size = `${count(of.records, 'record')}, ${formatBytes(of.bytes)} in ${count(of.requests, 'request')}`;
  const time = `${formatDuration(of.seconds)} if a request takes ${secondsPerRequest} s, ${inFlight} in flight`;
  if (of.requests === 0) return `${read}To be sent: nothing\n`;
  return `${read}To be sent: ${about}${size}\nEstimated time: ${time}\n`;
}

/** Formats `line 17`, with the file if it is not the first. */
const place = (at: { readonly source: string; readonly line: number }, first: string): string =>
  at.source === first ? `line ${at.line}` : `${oneLine(at.source)}:${at.line}`;

const oneLine = (text: string): string => text.replace(/[\r\n\t]+/g, ' ');

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');
