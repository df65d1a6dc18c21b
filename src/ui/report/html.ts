import { inert } from '../sanitize.js';

/** Text that is HTML already. Only `html` makes it, so that nothing gets in unescaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | undefined | readonly (Html | undefined)[];

/** A template whose values are escaped, unless they are HTML themselves; undefined is nothing. */
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

/** Also control and bidi characters are made visible. */
const escaped = (text: string): string =>
  inert(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
