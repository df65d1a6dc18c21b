import { Help } from 'commander';
import { examplesText } from './examples.js';
import type { Topic, TopicPart } from './topics.js';

/** A topic as text, no wider than `width` columns where it can be broken. */
export function topicText({ examples, parts }: Topic, width: number): string {
  const help = new Help();
  help.prepareContext({ helpWidth: width });
  help.minWidthToWrap = 20;
  const opening = examples.length > 0 ? [examplesText(examples, width)] : [];
  return [...opening, ...parts.map((part) => partText(part, help))].join('\n');
}

function partText(part: TopicPart, help: Help): string {
  if (typeof part === 'string') return `${help.boxWrap(part, help.helpWidth ?? 80)}\n`;
  const termWidth = Math.max(...part.rows.map(([term]) => term.length));
  const rows = part.rows.map(([term, meaning]) => help.formatItem(term, termWidth, meaning, help));
  return [part.heading, ...rows, ''].join('\n');
}
