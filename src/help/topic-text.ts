import { asCalled } from '../wording.js';
import { examplesIn, examplesText } from './examples.js';
import { tablesText, wrap, type Table } from './layout.js';
import type { Topic } from './topics.js';

/** A topic from how its page is written. */
export function topicIn(page: string): Topic {
  const [examples = '', ...parts] = page.split(/\n *\n/);
  return { examples: examplesIn(examples), parts: parts.map(partIn) };
}

function partIn(text: string): string | Table {
  const [first = '', ...others] = text
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (!first.endsWith(':')) return [first, ...others].join(' ');
  const rows = others.map((row) => row.split(/ {2,}/) as [term: string, meaning: string]);
  return { heading: first, rows };
}

/** A topic as text, no wider than `width` columns where it can be broken. */
export function topicText(topic: Topic, width: number, program: string): string {
  const { examples, parts } = called(topic, program);
  const opening = examples.length > 0 ? [examplesText(examples, width)] : [];
  const texts = parts.flatMap((part) =>
    typeof part === 'string' ? `${wrap(part, width).join('\n')}\n` : tablesText([part], width),
  );
  return [...opening, ...texts].join('\n');
}

/** Its command lines by the name that the program was called by. */
function called({ examples, parts }: Topic, program: string): Topic {
  const by = (text: string) => asCalled(text, program);
  return {
    examples: examples.map(([what, line]) => [what, by(line)]),
    parts: parts.map((part) =>
      typeof part === 'string'
        ? by(part)
        : { ...part, rows: part.rows.map(([term, meaning]) => [by(term), by(meaning)] as const) },
    ),
  };
}
