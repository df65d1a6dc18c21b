import { html, type Html } from './html.js';

type Figures = readonly (readonly [label: string, value: string])[];

/** The few figures that a glance is for. */
export function figureTiles(figures: Figures): Html {
  const tiles = figures.map(
    ([label, value]) =>
      html`<div>
        <dt>${label}</dt>
        <dd>${value}</dd>
      </div>`,
  );
  return html`<dl class="tiles">${tiles}</dl>`;
}

/** All figures, a row each. */
export function figureTable(figures: Figures): Html {
  const rows = figures.map(
    ([label, value]) =>
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

/** Rows below heads; `num`: all cells are figures. */
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
