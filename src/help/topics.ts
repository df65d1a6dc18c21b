import type { Topic } from './topic.js';
import type { EnvironmentFlag } from './topic-environment.js';

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

interface Asked {
  /** The flags that a variable can stand in for. */
  readonly flags: readonly EnvironmentFlag[];
  readonly errorId: string | undefined;
}

const loaders = {
  environment: async ({ flags }) =>
    (await import('./topic-environment.js')).environmentTopic(flags),
  'exit-codes': async () => (await import('./topic-exit-codes.js')).exitCodesTopic,
  errors: async ({ errorId }) => (await import('./topic-errors.js')).errorsTopic(errorId),
  formats: async () => (await import('./topic-formats.js')).formatsTopic,
  resume: async () => (await import('./topic-resume.js')).resumeTopic,
  security: async () => (await import('./topic-security.js')).securityTopic,
} as const satisfies Record<TopicName, (asked: Asked) => Promise<Topic>>;

/** Loads a topic when it is asked for. Throws E-USAGE for an error id that does not exist. */
export const loadTopic = async (name: TopicName, asked: Asked): Promise<Topic> =>
  loaders[name](asked);
