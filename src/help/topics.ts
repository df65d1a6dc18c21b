import type { Topic } from './topic-pages.js';

/** Topics of `engagectl help <topic>`, with a one-line description. */
export const topics = {
  environment: 'environment variables and the flags they replace',
  'exit-codes': 'what each exit code means',
  errors: 'error ids; help errors <id> explains one',
  formats: 'input and output formats, columns and types',
  resume: 'continuing an interrupted run',
  security: 'passcodes, private files, network access',
} as const;
export type TopicName = keyof typeof topics;
export const topicNames = Object.keys(topics) as TopicName[];

export const isTopic = (name: string | undefined): name is TopicName =>
  name !== undefined && Object.hasOwn(topics, name);

/** Values that some topic pages need. */
export interface TopicContext {
  /** Global flags and their environment variables. */
  readonly flags: readonly Readonly<Record<'flags' | 'variable' | 'help', string>>[];
  readonly errorId: string | undefined;
}

/** Loads a topic on demand. Throws E-USAGE for an unknown error id. */
export async function loadTopic(name: TopicName, { flags, errorId }: TopicContext): Promise<Topic> {
  if (name === 'errors') return (await import('./topic-pages.js')).errorsTopic(errorId);
  const { topicPages, parseTopic } = await import('./topic-pages.js');
  if (name !== 'environment') return parseTopic(topicPages[name]);
  const rows = flags.map(({ flags: flag, variable, help }) => `${variable}  ${help} (${flag})`);
  return parseTopic(topicPages.environment.replace('{flags}', () => rows.join('\n')));
}
