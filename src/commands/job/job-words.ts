import type { Words } from '../../jobs/world.js';

/** How errors and notes of jobs call what a person types. */
export const jobWords: Words = {
  option: (name, value) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? flag : `${flag} ${value}`;
  },
  goOn: (run) => `engagectl runs resume ${run}`,
  correct: (_, file) => `correct ${file}, and give it to the same command`,
  stateFolder: 'ENGAGECTL_STATE_DIR',
};

/** The same of one command line; `again` makes it that of another input. */
export const jobWordsOf = (again?: (file: string) => string): Words => ({
  ...jobWords,
  correct: (job, file) =>
    again ? `correct ${file}, then: ${again(file)}` : jobWords.correct(job, file),
});
