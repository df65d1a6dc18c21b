import { Help } from 'commander';
import { examplesIn, examplesText } from './examples.js';
import type { Topic, TopicTable } from './topics.js';

/** A topic from how its page is written. */
export function topicIn(page: string): Topic {
  const [examples = '', ...parts] = page.split(/\n *\n/);
  return { examples: examplesIn(examples), parts: parts.map(partIn) };
}

function partIn(text: string): string | TopicTable {
  const [first = '', ...others] = text
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (!first.endsWith(':')) return [first, ...others].join(' ');
  const rows = others.map((row) => row.split(/ {2,}/) as [term: string, meaning: string]);
  return { heading: first, rows };
}

/** A topic as text, no wider than `width` columns where it can be broken. */
export function topicText({ examples, parts }: Topic, width: number): string {
  const help = new Help();
  help.prepareContext({ helpWidth: width });
  help.minWidthToWrap = 20;
  const opening = examples.length > 0 ? [examplesText(examples, width)] : [];
  return [...opening, ...parts.map((part) => partText(part, help))].join('\n');
}

function partText(part: string | TopicTable, help: Help): string {
  if (typeof part === 'string') return `${help.boxWrap(part, help.helpWidth ?? 80)}\n`;
  const termWidth = Math.max(...part.rows.map(([term]) => term.length));
  const rows = part.rows.map(([term, meaning]) => help.formatItem(term, termWidth, meaning, help));
  return [part.heading, ...rows, ''].join('\n');
}
