import type { Example } from './examples.js';

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
