import type { Topic } from './topic-pages.js';

/** Topics of `engagectl help <topic>` and what each is about. */
export const topics = {
  environment: 'environment variables and the configuration they stand in for',
  'exit-codes': 'what each exit code means',
  errors: 'ids of errors; help errors <id> explains one',
  formats: 'formats of input and output, columns and types',
  resume: 'how an interrupted run goes on',
  security: 'passcodes, files, and what the tool talks to',
} as const;
export type TopicName = keyof typeof topics;
export const topicNames = Object.keys(topics) as TopicName[];

export const isTopic = (name: string | undefined): name is TopicName =>
  name !== undefined && Object.hasOwn(topics, name);

/** What the pages of some topics depend on. */
export interface Asked {
  /** Global flags, and the variables that stand in for them. */
  readonly flags: readonly Readonly<Record<'flags' | 'variable' | 'help', string>>[];
  readonly errorId: string | undefined;
}

/** Loads the topics when one is asked for. Throws E-USAGE for an error id that does not exist. */
export async function loadTopic(name: TopicName, { flags, errorId }: Asked): Promise<Topic> {
  if (name === 'errors') return (await import('./topic-pages.js')).errorsTopic(errorId);
  const [{ topicPages }, { topicIn }] = await Promise.all([
    import('./topic-pages.js'),
    import('./topic-pages.js'),
  ]);
  if (name !== 'environment') return topicIn(topicPages[name]);
  const rows = flags.map(({ flags: flag, variable, help }) => `${variable}  ${help} (${flag})`);
  return topicIn(topicPages.environment(rows.join('\n')));
}
