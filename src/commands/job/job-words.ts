import type { Words } from '../../jobs/job-context.js';

/** How errors and notes of jobs call what a person types. */
export const jobWords: Words = {
  option: (name, value) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? flag : `${flag} ${value}`;
  },
  goOn: (run) => `engagectl runs resume ${run}`,
  correct: (_, file) => `correct ${file}, and give it to the same command`,
  lookUp: (file) => `look them up in ${file}`,
  stateFolder: 'ENGAGECTL_STATE_DIR',
};

/** What a command line is for the rejects of its run. */
export interface RejectCommands {
  /** The same for another input. */
  readonly again?: ((file: string) => string) | undefined;
  /** What looks up the records of unknown outcome; undefined where nothing can. */
  readonly settle?: ((file: string) => string | undefined) | undefined;
}

/** The same of one command line. */
export const jobWordsOf = ({ again, settle }: RejectCommands): Words => ({
  ...jobWords,
  correct: (job, file) =>
    again ? `correct ${file}, then: ${again(file)}` : jobWords.correct(job, file),
  lookUp: (file) => {
    const command = settle?.(file);
    return command ? `${command} tells which have arrived` : jobWords.lookUp(file);
  },
});
