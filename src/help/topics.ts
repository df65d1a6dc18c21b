import type { Example } from './examples.js';

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

/** What `engagectl help <topic>` prints, and a manual page says; wrapped when it is shown. */
export interface Topic {
  /** Runnable command lines, which every help opens with. */
  readonly examples: readonly Example[];
  readonly parts: readonly TopicPart[];
}

/** A paragraph, or rows of a term and what it means under a heading. */
export type TopicPart =
  | string
  | {
      readonly heading: string;
      readonly rows: readonly (readonly [term: string, meaning: string])[];
    };

/** What the pages of some topics depend on. */
export interface Asked {
  readonly flags: readonly EnvironmentFlag[];
  readonly errorId: string | undefined;
}

/** A global flag and the variable that stands in for it. */
export interface EnvironmentFlag {
  readonly flags: string;
  readonly variable: string;
  readonly help: string;
}

/** Loads the topics when one is asked for. Throws E-USAGE for an error id that does not exist. */
export async function loadTopic(name: TopicName, asked: Asked): Promise<Topic> {
  const { topicPages } = await import('./topic-pages.js');
  const page = topicPages[name];
  return typeof page === 'function' ? page(asked) : page;
}
