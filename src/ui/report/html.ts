import { sanitize } from '../sanitize.js';
import { createHash } from 'node:crypto';

/** The whole style sheet: the page loads no fonts, images or scripts. */
export const stylesheet = `
:root{color-scheme:light dark;--paper:#f4f5f8;--card:#fff;--ink:#171b22;--dim:#576072;--edge:#dfe3ea;
--main:#2f63d8;--soft:#9db4ea;--good:#1c7c4c;--warn:#a65f00;--bad:#c0293f;--idle:#8a93a5;--code:#eef1f6}
@media (prefers-color-scheme:dark){:root{--paper:#0f1218;--card:#181c24;--ink:#e8ebf1;--dim:#9aa4b5;--edge:#2b313d;
--main:#7aa2ff;--soft:#47609c;--good:#52c28a;--warn:#f0a94b;--bad:#ff7285;--idle:#6b7485;--code:#222834}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;
-webkit-text-size-adjust:100%;overflow-wrap:anywhere}
main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;line-height:1.2;margin:0;letter-spacing:-.01em}
h2{font-size:17px;margin:36px 0 12px}
p{margin:0}
code,pre,.mono{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
code,pre{background:var(--code);border-radius:6px}
code{padding:1px 5px}
pre{padding:10px 12px;margin:8px 0 0;white-space:pre-wrap}
.dim,.words,.times,.ticks{color:var(--dim)}
header{display:flex;flex-wrap:wrap;gap:12px 16px;align-items:center}
header+p{margin-top:8px}
.badge{border-radius:999px;padding:3px 12px;font-weight:600;font-size:14px;border:1.5px solid currentColor}
.main{color:var(--main)}.soft{color:var(--soft)}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.idle{color:var(--idle)}
.card{background:var(--card);border:1px solid var(--edge);border-radius:12px;padding:16px 18px}
.next{margin-top:20px;border-left:4px solid var(--bad)}
.next.go{border-left-color:var(--warn)}
.next p+p{margin-top:4px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(148px,1fr));gap:12px;margin:20px 0 0;padding:0}
.tiles div{background:var(--card);border:1px solid var(--edge);border-radius:12px;padding:12px 16px}
.tiles dt{color:var(--dim);font-size:13px}
.tiles dd{margin:0;font-size:23px;font-weight:650;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.outcome{margin-top:12px}
.outcome svg{display:block;width:100%;height:14px;border-radius:7px}
.keys{display:flex;flex-wrap:wrap;gap:4px 18px;margin:10px 0 0;padding:0;list-style:none;font-size:14px}
i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:currentColor}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:16px}
@media (min-width:940px){.charts figure:last-child:nth-child(odd){grid-column:1/-1}}
figure{margin:0;break-inside:avoid}
figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 16px;margin-bottom:10px}
.legend{display:flex;gap:14px;font-size:13px;color:var(--dim)}
.plot{display:grid;grid-template-columns:auto 1fr;gap:6px 10px}
.plot svg{width:100%;height:140px;display:block;overflow:visible}
.ticks{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:12px;line-height:1;margin:-6px 0;white-space:nowrap;
font-variant-numeric:tabular-nums}
.times{grid-column:2;display:flex;justify-content:space-between;font-size:12px}
.words{font-size:13px;margin-top:8px}
.grid,.line{fill:none;vector-effect:non-scaling-stroke}
.grid{stroke:var(--edge);stroke-width:1}
.line{stroke:currentColor;stroke-width:1.75;stroke-linejoin:round}
.area{fill:currentColor;fill-opacity:.14}
.fill{fill:currentColor}
.tip{fill:transparent}.tip:hover{fill:var(--ink);fill-opacity:.08}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;color:var(--dim);font-weight:500;font-size:13px}
td,th{padding:6px 14px 6px 0;border-bottom:1px solid var(--edge);vertical-align:top}
tr:last-child td,tr:last-child th{border-bottom:0}
tbody th{white-space:nowrap}
.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.kind{margin-top:12px}
.kind h3{display:flex;justify-content:space-between;gap:12px;font-size:15px;margin:0}
.kind svg{display:block;width:100%;height:4px;margin:8px 0 4px;border-radius:2px;background:var(--code)}
.sample{padding:10px 0 0}
.sample+.sample{margin-top:10px;border-top:1px solid var(--edge)}
details{margin-top:12px}
summary{cursor:pointer;font-weight:550}
.wide{overflow-x:auto}
footer{margin-top:36px;font-size:13px;color:var(--dim)}
footer p+p{margin-top:4px}
@media (max-width:520px){main{padding:18px 12px 32px}.tiles{grid-template-columns:1fr 1fr;gap:8px}.tiles dd{font-size:19px}.card{padding:14px}}
@media print{:root{--paper:#fff;--card:#fff;--ink:#000;--dim:#444;--edge:#bbb;--main:#2f63d8;--soft:#9db4ea;--good:#1c7c4c;--warn:#a65f00;
--bad:#c0293f;--idle:#8a93a5;--code:#f1f1f1}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}main{padding:0;max-width:none}
.card,.tiles div{break-inside:avoid}details:not([open]){display:none}}
`;

/** Escaped HTML. Only `html` creates it, so that no unescaped text gets in. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | undefined | readonly (Html | undefined)[];

/** Template tag that escapes its values, except those that are Html; undefined is empty. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  const parts = strings.map(
    (text, index) => text + (index < values.length ? markup(values[index]) : ''),
  );
  return new Html(parts.join(''));
}

function markup(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(markup).join('');
  return escaped(String(value));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes HTML, and makes control and bidi characters visible. */
const escaped = (text: string): string =>
  sanitize(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');

type Figures = readonly { readonly label: string; readonly value: string }[];

/** The main figures. */
export function figureTiles(figures: Figures): Html {
  const tiles = figures.map(
    ({ label, value }) =>
      html`<div>
        <dt>${label}</dt>
        <dd>${value}</dd>
      </div>`,
  );
  return html`<dl class="tiles">${tiles}</dl>`;
}

/** All figures, one row each. */
export function figureTable(figures: Figures): Html {
  const rows = figures.map(
    ({ label, value }) =>
      html`<tr>
        <th scope="row">${label}</th>
        <td>${value}</td>
      </tr>`,
  );
  return html`<div class="card">
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** A table with a header row; `num`: all cells are numbers. */
export function rowTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  cell: 'num' | '' = '',
): Html {
  return html`<table>
    <thead>
      <tr>
        ${heads.map((head) => html`<th class="${cell}" scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (cells) =>
          html`<tr>
            ${cells.map((text) => html`<td class="${cell}">${text}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Identifies a file as a report, which the next report may replace. */
export const generatorTag = '<meta name="generator" content="engagectl">';

/** The policy keeps the browser from loading or running anything, whatever a reject contains. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(stylesheet).digest('base64')}'`;

/** A self-contained page. */
export const pageShell = (title: string, body: Html): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
${generatorTag}
<meta name="robots" content="noindex">
${html`<title>${title}</title>`.text}
<style>${stylesheet}</style>
</head>
<body>
${body.text}
</body>
</html>
`;
